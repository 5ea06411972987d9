#include "double_split.h"

#include <string.h>

#include "bitpack.h"
#include "double_fit.h"
#include "entropy.h"
#include "filter_layout.h"
#include "le.h"
#include "sample.h"

// A top is what is above the mantissa's field: sign, exponent and up to EXTRA bits of mantissa.
enum { HEAD = 2, WIDEST = 52, EXTRA = 3, TOPS = 1 << (12 + EXTRA) };
// Of fewer doubles only sign and exponent: the table of the others takes longer than they do.
enum { EXTRA_FROM = 1 << 14 };
enum { MAX_WHOLE = 7, MAX_TOPS = 256 - MAX_WHOLE, SAMPLE = 2048, STEP = 1024 };

size_t split_bound(size_t n) {
  return HEAD + 8 * MAX_WHOLE + 2 * MAX_TOPS + n + bitpack_len(n, WIDEST);
}

// ---- what there is

// Doubles by code: the tops that there are from 0 up, in order, and the first few specials, which
// need no mantissa, from 255 down.
struct split {
  uint8_t code_of[TOPS];
  uint16_t tops[MAX_TOPS];
  uint64_t whole[MAX_WHOLE];
  unsigned n_tops, n_whole, width;
};

typedef uint8_t sixteen __attribute__((vector_size(16)));

static void find_tops(const unsigned char *in, size_t n, unsigned width, uint8_t *seen) {
  memset(seen, 0, (size_t) 1 << (64 - width));
  for (size_t i = 0; i < n; i++) seen[double_bits(load_double(in + 8 * i)) >> width] = 1;
}

// Halves the number of tops that may be.
static void drop_bit(uint8_t seen[TOPS], size_t n) {
  for (size_t i = 0; i < n / 2; i++) seen[i] = seen[2 * i] | seen[2 * i + 1];
}

static size_t count_tops(const uint8_t seen[TOPS], size_t n) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += seen[i];
  return sum;
}

// The more bits of mantissa the better the codec fares, which takes codes that repeat by chance for
// something worth a reference. False if even the exponents are too many.
static bool choose_width(struct split *s, const unsigned char *in, size_t n) {
  const unsigned extra = n < EXTRA_FROM ? 0 : EXTRA;
  size_t tops = (size_t) 1 << (12 + extra);
  const size_t most = n / 64 + 16 < MAX_TOPS ? n / 64 + 16 : MAX_TOPS;
  s->width = WIDEST - extra;
  find_tops(in, n, s->width, s->code_of);
  while (count_tops(s->code_of, tops) > (s->width < WIDEST ? most : MAX_TOPS)) {
    if (s->width == WIDEST) return false;
    drop_bit(s->code_of, tops);
    tops /= 2, s->width++;
  }
  s->n_tops = 0;
  for (size_t top = 0; top < tops; top++) {
    if (s->code_of[top] == 0) continue;
    s->code_of[top] = (uint8_t) s->n_tops;
    s->tops[s->n_tops++] = (uint16_t) top;
  }
  return true;
}

// The code of a special, or of its top if there is no room for more.
static unsigned char special_code(struct split *s, uint64_t bits) {
  unsigned j = 0;
  while (j < s->n_whole && s->whole[j] != bits) j++;
  if (j == MAX_WHOLE) return s->code_of[bits >> s->width];
  if (j == s->n_whole) s->whole[s->n_whole++] = bits;
  return (unsigned char) (255 - j);
}

// Are there specials, as far as the tops tell?
static bool any_special(const struct split *s) {
  const unsigned extra = WIDEST - s->width;
  for (unsigned j = 0; j < s->n_tops; j++)
    if ((s->tops[j] >> extra & 0x7FF) % 0x7FF == 0) return true;
  return false;
}

uint32_t split_cost(const unsigned char *in, size_t n) {
  uint32_t counts[256] = {0}, mantissas = 0;
  const uint32_t samples = n < SAMPLE ? (uint32_t) n : SAMPLE;
  for (size_t j = 0; j < samples; j++) {
    const uint64_t bits = double_bits(load_double(in + 8 * sample_place(j, samples, n)));
    // Rare ones may share a count.
    counts[(bits >> 63 << 7 ^ bits >> WIDEST) & 255]++;
    mantissas += !is_special(bits);
  }
  uint32_t tops = 0;
  for (unsigned j = 0; j < 256; j++) tops += counts[j] != 0;
  if (tops > MAX_TOPS) return UINT32_MAX;
  return entropy_256(counts, samples) + (uint32_t) (tops * 16 * 256 / n) +
         (uint32_t) ((uint64_t) mantissas * WIDEST * 256 / samples);
}

// ---- writing

static void put_head(const struct split *s, unsigned char *out) {
  unsigned char *to = out + HEAD;
  out[0] = (uint8_t) s->n_whole;
  out[1] = (uint8_t) s->n_tops;
  for (unsigned j = 0; j < s->n_whole; j++, to += 8) le_store64(to, s->whole[j]);
  for (unsigned j = 0; j < s->n_tops; j++, to += 2) le_store16(to, s->tops[j]);
}

// Writes the codes and the fields of doubles that all have a top. Returns the fields' length.
static size_t put_all(const struct split *s, const unsigned char *in, size_t n,
                      unsigned char *codes) {
  const unsigned width = s->width;
  const uint64_t mask = UINT64_MAX >> (64 - width);
  uint64_t mantissas[STEP];
  for (size_t i = 0; i < n; i += STEP) {
    const size_t step = n - i < STEP ? n - i : STEP;
    for (size_t j = 0; j < step; j++) {
      const uint64_t bits = double_bits(load_double(in + 8 * (i + j)));
      mantissas[j] = bits & mask;
      codes[i + j] = s->code_of[bits >> width];
    }
    bitpack64(mantissas, step, width, 0, codes + n + i / 8 * width);
  }
  return bitpack_len(n, width);
}

// Writes the codes, collects the whole ones, and the mantissas of the others, whose number it
// returns. No branch on the first of the whole ones, which may be any part of all.
static size_t put_some(struct split *s, const unsigned char *in, size_t n, unsigned char *codes,
                       uint64_t *mantissas) {
  const unsigned width = s->width;
  const uint64_t mask = UINT64_MAX >> (64 - width);
  size_t k = 0, i = 0;
  while (i < n && !is_special(double_bits(load_double(in + 8 * i)))) i++;
  const uint64_t first = i < n ? double_bits(load_double(in + 8 * i)) : 0;
  special_code(s, first);
  for (i = 0; i < n; i++) {
    const uint64_t bits = double_bits(load_double(in + 8 * i)), is_first = bits == first;
    unsigned char code = (unsigned char) (s->code_of[bits >> width] | (0 - is_first));
    mantissas[k] = bits & mask;
    if (is_special(bits) & !is_first) code = special_code(s, bits);
    k += code < s->n_tops;
    codes[i] = code;
  }
  return k;
}

bool split_encode(const unsigned char *in, size_t n, unsigned char *out, uint64_t *scratch,
                  struct packed *result) {
  struct split s;
  if (!choose_width(&s, in, n)) return false;
  s.n_whole = 0;
  *result =
      (struct packed){.filter = FILTER_SPLIT, .param = (uint8_t) s.width, .hint = PACKED_COMPRESS};
  size_t head = HEAD + 2 * s.n_tops;
  if (any_special(&s)) {
    // The head's length is known last: the codes wait where there is room for the longest.
    unsigned char *codes = out + head + 8 * MAX_WHOLE;
    const size_t n_mantissas = put_some(&s, in, n, codes, scratch);
    head += 8 * s.n_whole;
    memmove(out + head, codes, n);
    bitpack64(scratch, n_mantissas, s.width, 0, out + head + n);
    result->tail = bitpack_len(n_mantissas, s.width);
  } else {
    result->tail = put_all(&s, in, n, out + head);
  }
  put_head(&s, out);
  result->len = head + n + result->tail;
  return true;
}

// ---- reading

// By code: the bits there are without the mantissa, and those that the mantissa adds.
struct join {
  uint64_t bits[256], mask[256];
  uint8_t took[256];  // bits of mantissa
  const unsigned char *codes, *mantissas;
  size_t len;  // of the mantissas
  uint8_t n_whole, n_tops, width;
};

static enum status open_join(struct join *s, uint8_t width, const unsigned char *in, size_t len,
                             size_t n) {
  if (width < WIDEST - EXTRA || width > WIDEST) return ERR_VERSION;
  if (len < HEAD) return ERR_CORRUPT;
  const size_t n_whole = in[0], n_tops = in[1], head = HEAD + 8 * n_whole + 2 * n_tops;
  if (n_whole > MAX_WHOLE || n_tops > MAX_TOPS || len < head || len - head < n) return ERR_CORRUPT;
  const unsigned char *p = in + HEAD;
  memset(s, 0, sizeof *s);
  s->n_whole = in[0], s->n_tops = in[1], s->width = width;
  for (size_t j = 0; j < n_whole; j++, p += 8) s->bits[255 - j] = le_load64(p);
  for (size_t j = 0; j < n_tops; j++, p += 2) {
    if (le_load16(p) >> (64 - width)) return ERR_CORRUPT;
    s->bits[j] = (uint64_t) le_load16(p) << width;
    s->mask[j] = UINT64_MAX >> (64 - width);
    s->took[j] = width;
  }
  s->codes = p;
  s->mantissas = p + n;
  s->len = len - head - n;
  return OK;
}

// Are all codes those of a top or of a whole one?
static bool codes_known(const struct join *s, size_t n) {
  const uint8_t from = s->n_tops, unknown = (uint8_t) (256 - s->n_tops - s->n_whole);
  sixteen wrong = {0};
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    sixteen c;
    memcpy(&c, s->codes + i, sizeof c);
    wrong |= (sixteen) (c - from < unknown);
  }
  uint64_t halves[2];
  memcpy(halves, &wrong, sizeof wrong);
  for (; i < n; i++) halves[0] |= (uint8_t) (s->codes[i] - from) < unknown;
  return (halves[0] | halves[1]) == 0;
}

// A mantissa for each.
static enum status join_all(const struct join *s, size_t n, struct window w, unsigned char *out) {
  uint64_t mantissas[STEP];
  if (s->len != bitpack_len(n, s->width)) return ERR_CORRUPT;
  for (size_t i = w.first / STEP * STEP; i < w.end; i += STEP) {
    const size_t step = n - i < STEP ? n - i : STEP;
    bitunpack64(s->mantissas + i / 8 * s->width, step, s->width, 0, mantissas);
    for (size_t j = 0; j < step; j++) {
      const uint64_t bits = s->bits[s->codes[i + j]] | mantissas[j];
      memcpy(out + 8 * (i + j), &bits, sizeof bits);
    }
  }
  return OK;
}

// Joins element i with the mantissa at `bit` of `bytes`; returns the bits that took.
static inline unsigned join_one(const struct join *s, size_t i, const unsigned char *bytes,
                                size_t bit, unsigned char *out) {
  const unsigned char c = s->codes[i];
  const uint64_t bits = s->bits[c] | (le_load64(bytes + bit / 8) >> bit % 8 & s->mask[c]);
  memcpy(out + 8 * i, &bits, sizeof bits);
  return s->took[c];
}

// Mantissas for some. The last few are read through a copy that eight bytes can be read from.
static enum status join_some(const struct join *s, size_t n, unsigned char *out) {
  size_t i = 0, bit = 0;
  for (; i < n && bit / 8 + 8 <= s->len; i++) bit += join_one(s, i, s->mantissas, bit, out);
  unsigned char rest[24] = {0};
  const size_t from = bit / 8, left = s->len - from;
  if (i < n) memcpy(rest, s->mantissas + from, left);
  for (bit -= 8 * from; i < n && bit <= 8 * left; i++) bit += join_one(s, i, rest, bit, out);
  return i == n && s->len == from + (bit + 7) / 8 ? OK : ERR_CORRUPT;
}

enum status split_decode(uint8_t width, const unsigned char *in, size_t len, size_t n,
                         struct window w, unsigned char *out) {
  struct join s;
  const enum status st = open_join(&s, width, in, len, n);
  if (st) return st;
  if (!codes_known(&s, n)) return ERR_CORRUPT;
  return s.n_whole ? join_some(&s, n, out) : join_all(&s, n, w, out);
}
