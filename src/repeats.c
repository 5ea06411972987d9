#include "repeats.h"

#include <string.h>

#include "double_fit.h"
#include "sample.h"

enum { SAMPLE = 2048, SLOT_BITS = 12, SLOTS = 1 << SLOT_BITS, ENOUGH = 16, LONG = 32 };

struct survey {
  uint16_t last[SLOTS];  // sample + 1 that has the value, or 0
  uint32_t taken, repeats, continued, continued_long, runs;
};

static uint64_t get_bits(const unsigned char *in, size_t i, size_t size) {
  uint32_t narrow;
  if (size == 8) return double_bits(load_double(in + 8 * i));
  return memcpy(&narrow, in + 4 * i, 4), narrow;
}

static size_t slot_of(uint64_t v) {
  v ^= v >> 32;
  return (size_t) ((v * 0x9E3779B97F4A7C15) >> (64 - SLOT_BITS));
}

static void take(struct survey *s, const unsigned char *in, size_t n, size_t size, size_t j) {
  const size_t i = sample_place(j, SAMPLE, n - LONG);
  const uint64_t v = get_bits(in, i, size), next = get_bits(in, i + 1, size);
  if (size == 8 && is_special(v)) return;
  s->taken++;
  s->runs += v == next;
  size_t h = slot_of(v), seen = i;
  for (; s->last[h]; h = (h + 1) % SLOTS) {
    seen = sample_place(s->last[h] - 1u, SAMPLE, n - LONG);
    if (get_bits(in, seen, size) == v) break;
  }
  if (s->last[h]) {
    s->repeats++;
    s->continued += get_bits(in, seen + 1, size) == next;
    s->continued_long += get_bits(in, seen + LONG, size) == get_bits(in, i + LONG, size);
  }
  s->last[h] = (uint16_t) (j + 1);
}

enum repeats repeats_of(const unsigned char *in, size_t n, size_t size) {
  struct survey s;
  memset(&s, 0, sizeof s);
  if (n < 2 * SAMPLE) return REPEATS_FEW;
  for (size_t j = 0; j < SAMPLE; j++) take(&s, in, n, size, j);
  // Long runs are for byte planes.
  if (s.runs > s.taken / 4) return s.runs < s.taken / 16 * 15 ? REPEATS_IN_RUNS : REPEATS_FEW;
  if (s.repeats < ENOUGH) return REPEATS_FEW;
  if (s.continued_long > s.repeats / 2) return REPEATS_LONG;
  if (s.continued > s.repeats / 2) return REPEATS_IN_ROW;
  // Of d numbers at random, taken^2 / 2 d pairs of the sample are equal.
  return (uint64_t) s.taken * s.taken / (2 * s.repeats) < n ? REPEATS_LOOSE : REPEATS_FEW;
}
