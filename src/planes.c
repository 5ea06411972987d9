#include "planes.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint64_t get_number(const unsigned char *p, size_t size) {
  uint64_t wide;
  uint32_t narrow;
  if (size == 8) return memcpy(&wide, p, 8), wide;
  return memcpy(&narrow, p, 4), narrow;
}

static inline void put_number(unsigned char *p, size_t size, uint64_t v) {
  const uint32_t narrow = (uint32_t) v;
  if (size == 8)
    memcpy(p, &v, 8);
  else
    memcpy(p, &narrow, 4);
}

#ifdef __SSE2__
// Sixteen numbers at a time are 4 or 8 registers. The address of a byte among them is the number's
// four bits, then the byte's two or three; in planes it is the byte's bits, then the number's. One
// round of interleaving the first half of the registers with the second turns every address left
// by one bit, so four rounds split, and as many rounds as the byte has bits join.
enum { SQUARE = 16 };

#define ALWAYS_INLINE static inline __attribute__((always_inline)) void

ALWAYS_INLINE interleave(__m128i to[2], __m128i a, __m128i b) {
  to[0] = _mm_unpacklo_epi8(a, b);
  to[1] = _mm_unpackhi_epi8(a, b);
}

ALWAYS_INLINE turn4(__m128i v[4]) {
  __m128i t[4];
  interleave(t, v[0], v[2]);
  interleave(t + 2, v[1], v[3]);
  memcpy(v, t, sizeof t);
}

ALWAYS_INLINE turn8(__m128i v[8]) {
  __m128i t[8];
  interleave(t, v[0], v[4]);
  interleave(t + 2, v[1], v[5]);
  interleave(t + 4, v[2], v[6]);
  interleave(t + 6, v[3], v[7]);
  memcpy(v, t, sizeof t);
}

static inline __m128i load(const unsigned char *p) { return _mm_loadu_si128((const __m128i *) p); }
static inline void store(unsigned char *p, __m128i v) { _mm_storeu_si128((__m128i *) p, v); }

#define FOUR(X) X(0) X(1) X(2) X(3)
#define EIGHT(X) FOUR(X) X(4) X(5) X(6) X(7)
#define GET_ROW4(i) v[i] = _mm_sub_epi32(load(in + 16 * i), bias);
#define GET_ROW8(i) v[i] = _mm_sub_epi64(load(in + 16 * i), bias);
#define PUT_ROW4(i) store(out + 16 * i, _mm_add_epi32(v[i], bias));
#define PUT_ROW8(i) store(out + 16 * i, _mm_add_epi64(v[i], bias));
#define GET_PLANE(i) v[i] = i < planes ? load(in + i * stride) : _mm_setzero_si128();
#define PUT_PLANE(i)                                                                               \
  if (i < planes) store(out + i * stride, v[i]);

ALWAYS_INLINE split_square4(const unsigned char *in, unsigned planes, __m128i bias,
                            unsigned char *out, size_t stride) {
  __m128i v[4];
  FOUR(GET_ROW4)
  turn4(v), turn4(v), turn4(v), turn4(v);
  FOUR(PUT_PLANE)
}

ALWAYS_INLINE split_square8(const unsigned char *in, unsigned planes, __m128i bias,
                            unsigned char *out, size_t stride) {
  __m128i v[8];
  EIGHT(GET_ROW8)
  turn8(v), turn8(v), turn8(v), turn8(v);
  EIGHT(PUT_PLANE)
}

ALWAYS_INLINE join_square4(const unsigned char *in, size_t stride, unsigned planes, __m128i bias,
                           unsigned char *out) {
  __m128i v[4];
  FOUR(GET_PLANE)
  turn4(v), turn4(v);
  FOUR(PUT_ROW4)
}

ALWAYS_INLINE join_square8(const unsigned char *in, size_t stride, unsigned planes, __m128i bias,
                           unsigned char *out) {
  __m128i v[8];
  EIGHT(GET_PLANE)
  turn8(v), turn8(v), turn8(v);
  EIGHT(PUT_ROW8)
}

static size_t split_squares(const unsigned char *in, size_t n, size_t size, unsigned planes,
                            uint64_t bias, unsigned char *out, size_t stride) {
  const __m128i bias4 = _mm_set1_epi32((int) (uint32_t) bias);
  const __m128i bias8 = _mm_set1_epi64x((long long) bias);
  size_t i = 0;
  if (size == 4)
    for (; i + SQUARE <= n; i += SQUARE) split_square4(in + 4 * i, planes, bias4, out + i, stride);
  else
    for (; i + SQUARE <= n; i += SQUARE) split_square8(in + 8 * i, planes, bias8, out + i, stride);
  return i;
}

static size_t join_squares(const unsigned char *in, size_t stride, unsigned planes, size_t n,
                           size_t size, uint64_t bias, unsigned char *out) {
  const __m128i bias4 = _mm_set1_epi32((int) (uint32_t) bias);
  const __m128i bias8 = _mm_set1_epi64x((long long) bias);
  size_t i = 0;
  if (size == 4)
    for (; i + SQUARE <= n; i += SQUARE) join_square4(in + i, stride, planes, bias4, out + 4 * i);
  else
    for (; i + SQUARE <= n; i += SQUARE) join_square8(in + i, stride, planes, bias8, out + 8 * i);
  return i;
}
#else
static size_t split_squares(const unsigned char *in, size_t n, size_t size, unsigned planes,
                            uint64_t bias, unsigned char *out, size_t stride) {
  (void) in, (void) n, (void) size, (void) planes, (void) bias, (void) out, (void) stride;
  return 0;
}

static size_t join_squares(const unsigned char *in, size_t stride, unsigned planes, size_t n,
                           size_t size, uint64_t bias, unsigned char *out) {
  (void) in, (void) stride, (void) planes, (void) n, (void) size, (void) bias, (void) out;
  return 0;
}
#endif

void planes_split(const void *in, size_t n, size_t size, unsigned planes, uint64_t bias,
                  unsigned char *out, size_t stride) {
  const unsigned char *from = in;
  for (size_t i = split_squares(from, n, size, planes, bias, out, stride); i < n; i++) {
    const uint64_t v = get_number(from + i * size, size) - bias;
    for (unsigned b = 0; b < planes; b++) out[b * stride + i] = (unsigned char) (v >> (8 * b));
  }
}

void planes_join(const unsigned char *in, size_t stride, unsigned planes, size_t n, size_t size,
                 uint64_t bias, void *out) {
  unsigned char *to = out;
  for (size_t i = join_squares(in, stride, planes, n, size, bias, to); i < n; i++) {
    uint64_t v = 0;
    for (unsigned b = 0; b < planes; b++) v |= (uint64_t) in[b * stride + i] << (8 * b);
    put_number(to + i * size, size, v + bias);
  }
}
