#include "filter_dictionary.h"

#include <string.h>

#include "bitpack.h"
#include "codes.h"
#include "filter_layout.h"
#include "le.h"
#include "sample.h"

enum { MAX_VALUES = 65535, HEAD = 2 };
enum { SAMPLE = 128, SAMPLE_SLOT_BITS = 9 };

// What a block is taken apart into, all in the scratch.
struct dictionary {
  uint64_t *values;
  uint32_t *codes;
  uint16_t *slots;  // index of a value + 1, 0: empty
  unsigned slot_bits;
};

static size_t at_most(size_t n, size_t max) { return n < max ? n : max; }

size_t dictionary_bound(size_t n, size_t size) {
  return HEAD + at_most(n, MAX_VALUES) * size + codes_bound(n, sizeof(uint32_t));
}

size_t dictionary_scratch(size_t n) {
  const size_t values = at_most(n, MAX_VALUES);
  return values * sizeof(uint64_t) + n * sizeof(uint32_t) + 4 * values * sizeof(uint16_t);
}

// At least half of the slots stay empty.
static struct dictionary open_dictionary(void *scratch, size_t n, size_t max) {
  struct dictionary d = {.values = scratch, .slot_bits = bit_width(2 * max - 1)};
  d.codes = (uint32_t *) (d.values + at_most(n, MAX_VALUES));
  d.slots = (uint16_t *) (d.codes + n);
  memset(d.slots, 0, sizeof *d.slots << d.slot_bits);
  return d;
}

static inline uint64_t get_bits(const unsigned char *p, size_t size) {
  uint64_t wide;
  uint32_t narrow;
  if (size == 8) return memcpy(&wide, p, 8), wide;
  return memcpy(&narrow, p, 4), narrow;
}

static inline size_t hash_bits(uint64_t v, unsigned bits) {
  v ^= v >> 32;
  return (size_t) ((v * 0x9E3779B97F4A7C15) >> (64 - bits));
}

unsigned dictionary_kinds(const unsigned char *in, size_t n, size_t size) {
  uint64_t seen[1 << SAMPLE_SLOT_BITS];
  bool used[1 << SAMPLE_SLOT_BITS] = {0};
  unsigned kinds = 0;
  if (n < SAMPLE) return SAMPLE;
  for (size_t j = 0; j < SAMPLE; j++) {
    const uint64_t v = get_bits(in + sample_place(j, SAMPLE, n) * size, size);
    size_t h = hash_bits(v, SAMPLE_SLOT_BITS);
    while (used[h] && seen[h] != v) h = (h + 1) % (1 << SAMPLE_SLOT_BITS);
    kinds += !used[h];
    used[h] = true;
    seen[h] = v;
  }
  return kinds;
}

bool dictionary_narrower(unsigned kinds, unsigned width) {
  // The more of a sample is new, the more there must be that it did not meet. One bit less is not
  // worth the look at every value.
  const unsigned unseen = kinds > SAMPLE / 2 ? 2 : kinds > SAMPLE / 4;
  return kinds < SAMPLE - SAMPLE / 16 && bit_width(kinds - 1) + unseen + 1 < width;
}

bool dictionary_of_bytes(unsigned kinds) { return kinds < SAMPLE / 8 * 5; }

struct dictionary_limits dictionary_bytes(size_t n) {
  return (struct dictionary_limits){at_most(256, n / 128), UINT32_MAX, UINT32_MAX};
}

// Fills in codes; returns the number of values, or 0 if there are more than `max`.
static inline __attribute__((always_inline)) size_t find_values(const struct dictionary *d,
                                                                const unsigned char *in, size_t n,
                                                                size_t size, size_t max) {
  const unsigned slot_bits = d->slot_bits;
  const size_t mask = ((size_t) 1 << slot_bits) - 1;
  uint64_t *const values = d->values;
  uint32_t *const codes = d->codes;
  uint16_t *const slots = d->slots;
  size_t n_values = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t v = get_bits(in + i * size, size);
    size_t h = hash_bits(v, slot_bits);
    while (slots[h] != 0 && values[slots[h] - 1] != v) h = (h + 1) & mask;
    if (slots[h] == 0) {
      if (n_values == max) return 0;
      values[n_values++] = v;
      slots[h] = (uint16_t) n_values;
    }
    codes[i] = slots[h] - 1u;
  }
  return n_values;
}

static size_t put_values(const uint64_t *values, size_t n_values, size_t size, unsigned char *out) {
  le_store16(out, (uint16_t) (n_values - 1));
  for (size_t i = 0; i < n_values; i++) {
    const uint32_t narrow = (uint32_t) values[i];
    memcpy(out + HEAD + i * size, size == 8 ? (const void *) &values[i] : (const void *) &narrow,
           size);
  }
  return HEAD + n_values * size;
}

bool dictionary_encode(const unsigned char *in, size_t n, size_t size,
                       const struct dictionary_limits *limits, unsigned char *out, void *scratch,
                       struct packed *result) {
  const uint64_t most = limits->dense < limits->codec ? limits->dense : limits->codec;
  const size_t in_all = at_most(MAX_VALUES, (size_t) (most * n / (8 * 256 * size)));
  const size_t max = at_most(limits->values, in_all);
  if (max == 0) return false;
  const struct dictionary d = open_dictionary(scratch, n, max);
  const size_t n_values =
      size == 8 ? find_values(&d, in, n, 8, max) : find_values(&d, in, n, 4, max);
  if (n_values == 0) return false;
  const struct codes codes = {d.codes, sizeof *d.codes, n, 0, n_values - 1};
  const uint64_t values = n_values * size * 8 * 256 / n;
  if (codes_dense_bits(n, codes.max) * 256 / n + values >= limits->dense) return false;
  const uint32_t cost = codes_cost(&codes);
  if (codes_best(&codes, cost) + values >= limits->codec) return false;
  const size_t head = put_values(d.values, n_values, size, out);
  codes_encode(&codes, cost, out + head, result);
  result->filter = FILTER_DICTIONARY;
  result->len += head;
  return true;
}

static bool all_below(const uint32_t *codes, size_t n, size_t limit) {
  bool below = true;
  for (size_t i = 0; i < n; i++) below &= codes[i] < limit;
  return below;
}

static void look_up(const uint32_t *codes, size_t n, const unsigned char *values, size_t size,
                    unsigned char *out) {
  if (size == 8)
    for (size_t i = 0; i < n; i++) memcpy(out + 8 * i, values + 8 * (size_t) codes[i], 8);
  else
    for (size_t i = 0; i < n; i++) memcpy(out + 4 * i, values + 4 * (size_t) codes[i], 4);
}

enum status dictionary_decode(uint8_t coding, const unsigned char *in, size_t len, size_t n,
                              struct window w, size_t size, unsigned char *out) {
  if (len < HEAD) return ERR_CORRUPT;
  const size_t n_values = (size_t) le_load16(in) + 1, head = HEAD + n_values * size;
  if (len < head) return ERR_CORRUPT;
  struct code_reader r;
  enum status st = codes_open(&r, coding, in + head, len - head, n, sizeof(uint32_t));
  if (st == OK) out += size * codes_narrow(&r, w.first, w.end);
  uint32_t codes[CODES_STEP];
  for (size_t taken; st == OK; out += taken * size) {
    st = codes_next32(&r, 0, codes, &taken);
    if (st != OK || taken == 0) break;
    if (r.max >= n_values && !all_below(codes, taken, n_values)) return ERR_CORRUPT;
    look_up(codes, taken, in + HEAD, size, out);
  }
  return st;
}
