#include "double_split.h"

#include <string.h>

#include "bitpack.h"
#include "double_fit.h"
#include "filter_layout.h"
#include "le.h"
#include "sample.h"
#include "entropy.h"

enum { HEAD = 2, MANTISSA = 52, TOPS = 1 << 12, MAX_WHOLE = 7, MAX_TOPS = 256 - MAX_WHOLE };
enum { SAMPLE = 2048 };

static const uint64_t MANTISSA_MASK = UINT64_MAX >> (64 - MANTISSA);

size_t split_bound(size_t n) {
  return HEAD + 8 * MAX_WHOLE + 2 * MAX_TOPS + n + bitpack_len(n, MANTISSA);
}

// ---- what there is

// Doubles by code: the first tops, sign and exponent, from 0 up, the first whole ones, specials
// that need no mantissa, from 255 down.
struct split {
  uint16_t code_of[TOPS];  // code + 1, or 0
  uint16_t tops[MAX_TOPS];
  uint64_t whole[MAX_WHOLE];
  unsigned n_tops, n_whole;
};

// The code of a special, or -1 if it is told by its top.
static int whole_code(struct split *s, uint64_t bits) {
  unsigned j = 0;
  while (j < s->n_whole && s->whole[j] != bits) j++;
  if (j == MAX_WHOLE) return -1;
  if (j == s->n_whole) s->whole[s->n_whole++] = bits;
  return 255 - (int) j;
}

// The code + 1 of a top, or 0 if there are too many.
static unsigned top_code(struct split *s, unsigned top) {
  if (s->n_tops == MAX_TOPS) return 0;
  s->tops[s->n_tops++] = (uint16_t) top;
  return s->code_of[top] = (uint16_t) s->n_tops;
}

// Writes the codes, and the mantissas side by side; their number, or n + 1 if tops are too many.
static size_t find_codes(struct split *s, const unsigned char *in, size_t n, unsigned char *codes,
                         uint64_t *mantissas) {
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t bits = double_bits(load_double(in + 8 * i));
    const int whole = is_special(bits) ? whole_code(s, bits) : -1;
    mantissas[k] = bits & MANTISSA_MASK;
    k += whole < 0;
    unsigned code = s->code_of[bits >> MANTISSA];
    if (whole < 0 && code == 0 && (code = top_code(s, (unsigned) (bits >> MANTISSA))) == 0)
      return n + 1;
    codes[i] = (unsigned char) (whole < 0 ? code - 1 : (unsigned) whole);
  }
  return k;
}

uint32_t split_cost(const unsigned char *in, size_t n) {
  uint32_t counts[256] = {0}, taken = 0, mantissas = 0;
  const size_t samples = n < SAMPLE ? n : SAMPLE;
  for (size_t j = 0; j < samples; j++) {
    const uint64_t bits = double_bits(load_double(in + 8 * sample_place(j, samples, n)));
    // Tops that share a count make the cost too low where it is high anyway.
    counts[(bits >> MANTISSA ^ bits >> 56) & 255]++;
    mantissas += !is_special(bits);
    taken++;
  }
  return entropy_256(counts, taken) + (uint32_t) ((uint64_t) mantissas * MANTISSA * 256 / taken);
}

// ---- writing

static size_t put_head(const struct split *s, unsigned char *out) {
  unsigned char *to = out + HEAD;
  out[0] = (uint8_t) s->n_whole;
  out[1] = (uint8_t) s->n_tops;
  for (unsigned j = 0; j < s->n_whole; j++, to += 8) le_store64(to, s->whole[j]);
  for (unsigned j = 0; j < s->n_tops; j++, to += 2) le_store16(to, s->tops[j]);
  return (size_t) (to - out);
}

bool split_encode(const unsigned char *in, size_t n, unsigned char *out, uint64_t *scratch,
                  struct packed *result) {
  struct split s;
  memset(&s, 0, sizeof s);
  // The head's length is known last: the codes wait where there is room for the longest.
  unsigned char *codes = out + HEAD + 8 * MAX_WHOLE + 2 * MAX_TOPS;
  const size_t n_mantissas = find_codes(&s, in, n, codes, scratch);
  if (n_mantissas > n) return false;
  const size_t head = put_head(&s, out), tail = bitpack_len(n_mantissas, MANTISSA);
  memmove(out + head, codes, n);
  bitpack64(scratch, n_mantissas, MANTISSA, 0, out + head + n);
  *result = (struct packed){
      .filter = FILTER_SPLIT, .hint = PACKED_COMPRESS, .tail = tail, .len = head + n + tail};
  return true;
}

// ---- reading

// By code: the bits there are without the mantissa, and those that the mantissa adds.
struct join {
  uint64_t bits[256], mask[256];
  const unsigned char *codes, *mantissas;
  size_t len;  // of the mantissas
  bool whole;  // are there codes without a mantissa?
};

static enum status open_split(struct join *s, const unsigned char *in, size_t len, size_t n) {
  if (len < HEAD) return ERR_CORRUPT;
  const size_t n_whole = in[0], n_tops = in[1], head = HEAD + 8 * n_whole + 2 * n_tops;
  if (n_whole > MAX_WHOLE || n_tops > MAX_TOPS || len < head || len - head < n) return ERR_CORRUPT;
  const unsigned char *p = in + HEAD;
  for (size_t j = 0; j < n_whole; j++, p += 8) s->bits[255 - j] = le_load64(p), s->mask[255 - j] = 0;
  for (size_t j = 0; j < n_tops; j++, p += 2) {
    s->bits[j] = (uint64_t) le_load16(p) << MANTISSA, s->mask[j] = MANTISSA_MASK;
    if (le_load16(p) >= TOPS) return ERR_CORRUPT;
  }
  s->codes = p;
  s->mantissas = p + n;
  s->len = len - head - n;
  s->whole = n_whole > 0;
  bool unknown = false;
  size_t n_mantissas = 0;
  for (size_t i = 0; i < n; i++) {
    unknown |= (p[i] >= n_tops) & (p[i] < 256 - n_whole);
    n_mantissas += p[i] < n_tops;
  }
  return unknown || s->len != bitpack_len(n_mantissas, MANTISSA) ? ERR_CORRUPT : OK;
}

static inline size_t mantissa_place(size_t k) { return k * 13 / 2; }

// Mantissa k, from `bytes` that hold its place on; above it are bits of the next.
static inline uint64_t get_mantissa(const unsigned char *bytes, size_t k) {
  return le_load64(bytes) >> (k % 2 * 4);
}

// Elements while eight bytes can be read for each; their number, and that of their mantissas.
static inline __attribute__((always_inline)) size_t join_most(const struct join *s, size_t n,
                                                              bool whole, unsigned char *out,
                                                              size_t *n_mantissas) {
  size_t k = 0, i = 0;
  for (; i < n && mantissa_place(k) + 8 <= s->len; i++) {
    const unsigned char c = s->codes[i];
    const uint64_t m = get_mantissa(s->mantissas + mantissa_place(k), k);
    const uint64_t mask = whole ? s->mask[c] : MANTISSA_MASK, bits = s->bits[c] | (m & mask);
    memcpy(out + 8 * i, &bits, sizeof bits);
    k += whole ? mask != 0 : 1;
  }
  *n_mantissas = k;
  return i;
}

enum status split_decode(const unsigned char *in, size_t len, size_t n, unsigned char *out) {
  struct join s;
  const enum status st = open_split(&s, in, len, n);
  if (st) return st;
  size_t k;
  size_t i = s.whole ? join_most(&s, n, true, out, &k) : join_most(&s, n, false, out, &k);
  // The few mantissas that are left, and any number of wholes.
  unsigned char rest[16] = {0};
  const size_t from = mantissa_place(k) & ~(size_t) 0;
  memcpy(rest, s.mantissas + from, s.len - from);
  for (; i < n; i++) {
    const unsigned char c = s.codes[i];
    const uint64_t m = get_mantissa(rest + (mantissa_place(k) - from), k);
    const uint64_t bits = s.bits[c] | (m & s.mask[c]);
    memcpy(out + 8 * i, &bits, sizeof bits);
    k += s.mask[c] != 0;
  }
  return OK;
}
