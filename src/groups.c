#include "groups.h"

#include <string.h>

#include "bitpack.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

uint32_t groups_states(uint32_t r, unsigned k) {
  uint64_t states = 1;
  for (; k > 0; k--)
    if ((states *= r) > (uint64_t) 1 << 31) return 0;
  return (uint32_t) states;
}

unsigned groups_best(uint64_t r) {
  if (r < 3 || r > GROUPS_MAX_R) return 1;
  unsigned best = 1, best_bits = bit_width(r - 1);
  uint32_t states;
  for (unsigned k = 2; (states = groups_states((uint32_t) r, k)) != 0; k++) {
    const unsigned bits = bit_width(states - 1);
    if (bits * best * 50 < best_bits * k * 49) best = k, best_bits = bits;
  }
  return best;
}

ALWAYS_INLINE uint32_t get_low(const unsigned char *in, size_t i, size_t size) {
  uint64_t wide;
  uint32_t narrow;
  if (size == 8) return memcpy(&wide, in + 8 * i, 8), (uint32_t) wide;
  return memcpy(&narrow, in + 4 * i, 4), narrow;
}

ALWAYS_INLINE void put(unsigned char *out, size_t i, size_t size, uint64_t v) {
  const uint32_t narrow = (uint32_t) v;
  if (size == 8)
    memcpy(out + 8 * i, &v, 8);
  else
    memcpy(out + 4 * i, &narrow, 4);
}

// A group as a fraction of r^k, in 32 bits: a digit is what r times that carries out, the rest is
// the fraction of the digits that follow. Rounded up, by less than the 2^-31 that r^k leaves.
static uint32_t fraction_of(uint32_t group, uint64_t unit) {
  return (uint32_t) ((group * unit) >> 32) + 1;
}

static uint64_t unit_of(uint32_t r, unsigned k) { return UINT64_MAX / groups_states(r, k) + 1; }

#ifdef __SSE2__
// Four groups at a time, as two pairs of 64-bit lanes.
ALWAYS_INLINE __m128i load(const void *p) { return _mm_loadu_si128((const __m128i *) p); }
ALWAYS_INLINE void store(void *p, __m128i v) { _mm_storeu_si128((__m128i *) p, v); }

// Elements i to i + 3 as 64-bit lanes, less the bias.
ALWAYS_INLINE void load_codes(const unsigned char *in, size_t i, size_t size, uint64_t bias,
                              __m128i codes[2]) {
  if (size == 8) {
    const __m128i less = _mm_set1_epi64x((long long) bias);
    codes[0] = _mm_sub_epi64(load(in + 8 * i), less);
    codes[1] = _mm_sub_epi64(load(in + 8 * i + 16), less);
  } else {
    const __m128i four = _mm_sub_epi32(load(in + 4 * i), _mm_set1_epi32((int) (uint32_t) bias));
    codes[0] = _mm_unpacklo_epi32(four, _mm_setzero_si128());
    codes[1] = _mm_unpackhi_epi32(four, _mm_setzero_si128());
  }
}

// The upper halves of four products, plus the bias.
ALWAYS_INLINE void store_codes(__m128i a, __m128i b, unsigned char *out, size_t i, size_t size,
                               uint64_t bias) {
  if (size == 8) {
    const __m128i more = _mm_set1_epi64x((long long) bias);
    store(out + 8 * i, _mm_add_epi64(_mm_srli_epi64(a, 32), more));
    store(out + 8 * i + 16, _mm_add_epi64(_mm_srli_epi64(b, 32), more));
  } else {
    const __m128i more = _mm_set1_epi32((int) (uint32_t) bias);
    const __m128 upper = _mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0xDD);
    store(out + 4 * i, _mm_add_epi32(_mm_castps_si128(upper), more));
  }
}

ALWAYS_INLINE size_t join_fours(const unsigned char *in, size_t n_groups, size_t size,
                                uint64_t bias, unsigned k, uint32_t r, uint32_t *groups) {
  const __m128i base = _mm_set1_epi64x(r);
  size_t g = 0;
  for (; g + 4 <= n_groups; g += 4) {
    __m128i sum[2], codes[2];
    load_codes(in, g, size, bias, sum);
    for (unsigned j = 1; j < k; j++) {
      load_codes(in, g + j * n_groups, size, bias, codes);
      sum[0] = _mm_add_epi64(_mm_mul_epu32(sum[0], base), codes[0]);
      sum[1] = _mm_add_epi64(_mm_mul_epu32(sum[1], base), codes[1]);
    }
    store(groups + g, _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(sum[0]),
                                                      _mm_castsi128_ps(sum[1]), 0x88)));
  }
  return g;
}

ALWAYS_INLINE size_t split_fours(const uint32_t *groups, size_t n_groups, size_t size,
                                 uint64_t bias, unsigned k, uint32_t r, unsigned char *out) {
  const __m128i base = _mm_set1_epi64x(r);
  const uint64_t unit = unit_of(r, k);
  size_t g = 0;
  for (; g + 4 <= n_groups; g += 4) {
    __m128i a = _mm_set_epi64x(fraction_of(groups[g + 1], unit), fraction_of(groups[g], unit));
    __m128i b = _mm_set_epi64x(fraction_of(groups[g + 3], unit), fraction_of(groups[g + 2], unit));
    for (unsigned j = 0; j < k; j++) {
      a = _mm_mul_epu32(a, base);
      b = _mm_mul_epu32(b, base);
      store_codes(a, b, out, g + j * n_groups, size, bias);
    }
  }
  return g;
}
#else
static size_t join_fours(const unsigned char *in, size_t n_groups, size_t size, uint64_t bias,
                         unsigned k, uint32_t r, uint32_t *groups) {
  (void) in, (void) n_groups, (void) size, (void) bias, (void) k, (void) r, (void) groups;
  return 0;
}

static size_t split_fours(const uint32_t *groups, size_t n_groups, size_t size, uint64_t bias,
                          unsigned k, uint32_t r, unsigned char *out) {
  (void) groups, (void) n_groups, (void) size, (void) bias, (void) k, (void) r, (void) out;
  return 0;
}
#endif

// The fours need every digit: the last piece of a block may lack some.
ALWAYS_INLINE void join_size(const unsigned char *in, size_t n, size_t size, uint64_t bias,
                             unsigned k, uint32_t r, uint32_t *groups) {
  const size_t n_groups = groups_count(n, k);
  size_t g = n == n_groups * k ? join_fours(in, n_groups, size, bias, k, r, groups) : 0;
  for (; g < n_groups; g++) {
    uint32_t group = 0;
    for (size_t i = g; i < n_groups * k; i += n_groups)
      group = group * r + (i < n ? get_low(in, i, size) - (uint32_t) bias : 0);
    groups[g] = group;
  }
}

ALWAYS_INLINE void split_size(const uint32_t *groups, size_t n, size_t size, uint64_t bias,
                              unsigned k, uint32_t r, unsigned char *out) {
  const size_t n_groups = groups_count(n, k);
  const uint64_t unit = unit_of(r, k);
  size_t g = n == n_groups * k ? split_fours(groups, n_groups, size, bias, k, r, out) : 0;
  for (; g < n_groups; g++) {
    uint32_t fraction = fraction_of(groups[g], unit);
    for (size_t i = g; i < n; i += n_groups) {
      const uint64_t product = (uint64_t) fraction * r;
      put(out, i, size, (product >> 32) + bias);
      fraction = (uint32_t) product;
    }
  }
}

void groups_join(const void *in, size_t n, size_t size, uint64_t bias, unsigned k, uint32_t r,
                 uint32_t *groups) {
  if (size == 4)
    join_size(in, n, 4, bias, k, r, groups);
  else
    join_size(in, n, 8, bias, k, r, groups);
}

void groups_split(const uint32_t *groups, size_t n, size_t size, uint64_t bias, unsigned k,
                  uint32_t r, void *out) {
  if (size == 4)
    split_size(groups, n, 4, bias, k, r, out);
  else
    split_size(groups, n, 8, bias, k, r, out);
}
