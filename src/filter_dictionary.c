#include "filter_dictionary.h"

#include <string.h>

#include "bitpack.h"
#include "codes.h"
#include "filter_layout.h"
#include "le.h"
#include "sample.h"

enum { MAX_VALUES = 4096, SLOT_BITS = 14, SLOTS = 1 << SLOT_BITS, HEAD = 2 };
enum { SAMPLE = 128, SAMPLE_SLOT_BITS = 9 };

struct dictionary {
  uint64_t values[MAX_VALUES];
  uint16_t slots[SLOTS];  // index of a value + 1, 0: empty
  uint32_t codes[];
};

size_t dictionary_bound(size_t n, size_t size) {
  return HEAD + MAX_VALUES * size + codes_bound(n, sizeof(uint32_t));
}

size_t dictionary_scratch(size_t n) { return sizeof(struct dictionary) + n * sizeof(uint32_t); }

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

bool dictionary_promising(const unsigned char *in, size_t n, size_t size, unsigned width) {
  uint64_t seen[1 << SAMPLE_SLOT_BITS];
  bool used[1 << SAMPLE_SLOT_BITS] = {0};
  unsigned kinds = 0;
  if (n < SAMPLE) return false;
  for (size_t j = 0; j < SAMPLE; j++) {
    const uint64_t v = get_bits(in + sample_place(j, SAMPLE, n) * size, size);
    size_t h = hash_bits(v, SAMPLE_SLOT_BITS);
    while (used[h] && seen[h] != v) h = (h + 1) % (1 << SAMPLE_SLOT_BITS);
    kinds += !used[h];
    used[h] = true;
    seen[h] = v;
  }
  // The more of a sample is new, the more there must be that it did not meet. One bit less is not
  // worth the look at every value.
  const unsigned unseen = kinds > SAMPLE / 2 ? 2 : kinds > SAMPLE / 4;
  return kinds < SAMPLE - SAMPLE / 16 && bit_width(kinds - 1) + unseen + 1 < width;
}

// Fills in codes; returns the number of values, or 0 if there are more than `max`.
static inline __attribute__((always_inline)) size_t
find_values(struct dictionary *d, const unsigned char *in, size_t n, size_t size, size_t max) {
  size_t n_values = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t v = get_bits(in + i * size, size);
    size_t h = hash_bits(v, SLOT_BITS);
    while (d->slots[h] != 0 && d->values[d->slots[h] - 1] != v) h = (h + 1) % SLOTS;
    if (d->slots[h] == 0) {
      if (n_values == max) return 0;
      d->values[n_values++] = v;
      d->slots[h] = (uint16_t) n_values;
    }
    d->codes[i] = d->slots[h] - 1u;
  }
  return n_values;
}

// More values than this take `bits` in the dictionary or in their codes alone.
static size_t most_values(size_t n, size_t size, uint64_t bits) {
  const uint64_t values = bits / (8 * size), width = bits / n;
  const size_t most = width < 12 ? (size_t) 1 << width : MAX_VALUES;
  return values < most ? (size_t) values : most;
}

bool dictionary_encode(const unsigned char *in, size_t n, size_t size, uint64_t bits,
                       unsigned char *out, void *scratch, struct packed *result) {
  struct dictionary *d = scratch;
  const size_t max = most_values(n, size, bits);
  memset(d->slots, 0, sizeof d->slots);
  const size_t n_values = size == 8 ? find_values(d, in, n, 8, max) : find_values(d, in, n, 4, max);
  if (n_values == 0 || codes_dense_bits(n, n_values - 1) + n_values * size * 8 >= bits)
    return false;
  le_store16(out, (uint16_t) (n_values - 1));
  for (size_t i = 0; i < n_values; i++) {
    const uint32_t narrow = (uint32_t) d->values[i];
    memcpy(out + HEAD + i * size, size == 8 ? (void *) &d->values[i] : (void *) &narrow, size);
  }
  const size_t head = HEAD + n_values * size;
  const struct codes codes = {d->codes, sizeof *d->codes, n, 0, n_values - 1};
  codes_encode(&codes, out + head, result);
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
                              size_t size, unsigned char *out) {
  if (len < HEAD) return ERR_CORRUPT;
  const size_t n_values = (size_t) le_load16(in) + 1, head = HEAD + n_values * size;
  if (len < head) return ERR_CORRUPT;
  struct code_reader r;
  enum status st = codes_open(&r, coding, in + head, len - head, n, sizeof(uint32_t));
  uint32_t codes[CODES_STEP];
  for (size_t taken; st == OK; out += taken * size) {
    st = codes_next32(&r, 0, codes, &taken);
    if (st != OK || taken == 0) break;
    if (r.max >= n_values && !all_below(codes, taken, n_values)) return ERR_CORRUPT;
    look_up(codes, taken, in + HEAD, size, out);
  }
  return st;
}
