#include "bitpack.h"

#include <string.h>

#include "le.h"

// One kernel for each width and direction, so that every shift, mask and offset is a constant.
// They work on groups of eight values, which are `w` whole bytes.
#define CONSTANT_WIDTH static inline __attribute__((always_inline)) void

#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define WIDTHS_TO_32(X)                                                                            \
  X(1)                                                                                             \
  X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18)    \
      X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#define WIDTHS_TO_64(X)                                                                            \
  WIDTHS_TO_32(X)                                                                                  \
  X(33)                                                                                            \
  X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49)  \
      X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63) X(64)

static inline uint32_t load32(const unsigned char *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint64_t load64(const unsigned char *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void store32(unsigned char *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static inline void store64(unsigned char *p, uint64_t v) { memcpy(p, &v, sizeof v); }

CONSTANT_WIDTH put_field(uint64_t *words, unsigned i, unsigned w, uint64_t v) {
  unsigned word = i * w / 64, shift = i * w % 64;
  words[word] |= v << shift;
  if (shift + w > 64) words[word + 1] |= v >> (64 - shift);
}

// Word i of the group: a whole one, its first bytes, or nothing.
CONSTANT_WIDTH put_word(unsigned char *out, unsigned i, unsigned w, uint64_t word) {
  if (8 * i >= w) return;
  word = LE64(word);
  memcpy(out + 8 * i, &word, w - 8 * i < 8 ? w - 8 * i : 8);
}

// May read 8 bytes past the group's last.
static inline __attribute__((always_inline)) uint64_t get_field(const unsigned char *in, unsigned i,
                                                                unsigned w) {
  unsigned byte = i * w / 8, shift = i * w % 8;
  uint64_t v = le_load64(in + byte) >> shift;
  if (shift + w > 64) v |= (uint64_t) in[byte + 8] << (64 - shift);
  return v & (UINT64_MAX >> (64 - w));
}

#define PUT_FIELD(i) put_field(words, i, w, (LOAD(in + i * sizeof bias) - bias));
#define PUT_WORD(i) put_word(out, i, w, words[i]);
#define GET_FIELD(i) STORE(out + i * sizeof bias, get_field(in, i, w) + bias);

#define LOAD load32
#define STORE(p, v) store32(p, (uint32_t) (v))
CONSTANT_WIDTH pack_groups32(const unsigned char *in, size_t n, unsigned w, uint32_t bias,
                             unsigned char *out) {
  for (; n > 0; n--, in += 8 * sizeof bias, out += w) {
    uint64_t words[9] = {0};
    EIGHT(PUT_FIELD)
    EIGHT(PUT_WORD)
  }
}

CONSTANT_WIDTH unpack_groups32(const unsigned char *in, size_t n, unsigned w, uint32_t bias,
                               unsigned char *out) {
  for (; n > 0; n--, in += w, out += 8 * sizeof bias) {
    EIGHT(GET_FIELD)
  }
}
#undef LOAD
#undef STORE

#define LOAD load64
#define STORE store64
CONSTANT_WIDTH pack_groups64(const unsigned char *in, size_t n, unsigned w, uint64_t bias,
                             unsigned char *out) {
  for (; n > 0; n--, in += 8 * sizeof bias, out += w) {
    uint64_t words[9] = {0};
    EIGHT(PUT_FIELD)
    EIGHT(PUT_WORD)
  }
}

CONSTANT_WIDTH unpack_groups64(const unsigned char *in, size_t n, unsigned w, uint64_t bias,
                               unsigned char *out) {
  for (; n > 0; n--, in += w, out += 8 * sizeof bias) {
    EIGHT(GET_FIELD)
  }
}
#undef LOAD
#undef STORE

#define KERNELS(bits, W)                                                                           \
  static void pack##bits##_##W(const unsigned char *in, size_t n, uint##bits##_t bias,             \
                               unsigned char *out) {                                               \
    pack_groups##bits(in, n, W, bias, out);                                                        \
  }                                                                                                \
  static void unpack##bits##_##W(const unsigned char *in, size_t n, uint##bits##_t bias,           \
                                 unsigned char *out) {                                             \
    unpack_groups##bits(in, n, W, bias, out);                                                      \
  }
#define KERNELS32(W) KERNELS(32, W)
#define KERNELS64(W) KERNELS(64, W)
WIDTHS_TO_32(KERNELS32)
WIDTHS_TO_64(KERNELS64)

typedef void kernel32(const unsigned char *in, size_t n, uint32_t bias, unsigned char *out);
typedef void kernel64(const unsigned char *in, size_t n, uint64_t bias, unsigned char *out);
#define PACK32(W) pack32_##W,
#define PACK64(W) pack64_##W,
#define UNPACK32(W) unpack32_##W,
#define UNPACK64(W) unpack64_##W,
static kernel32 *const pack32[] = {NULL, WIDTHS_TO_32(PACK32)};
static kernel64 *const pack64[] = {NULL, WIDTHS_TO_64(PACK64)};
static kernel32 *const unpack32[] = {NULL, WIDTHS_TO_32(UNPACK32)};
static kernel64 *const unpack64[] = {NULL, WIDTHS_TO_64(UNPACK64)};

// The kernels take whole groups and read a little past them, so what they must not touch goes
// through a copy: the values after the last group, and the last groups of a stream.
enum { PAST = 8 };

void bitpack32(const void *in, size_t n, unsigned width, uint32_t bias, unsigned char *out) {
  if (width == 0) return;
  size_t groups = n / 8, rest = n % 8;
  pack32[width](in, groups, bias, out);
  if (rest == 0) return;
  uint32_t values[8] = {bias, bias, bias, bias, bias, bias, bias, bias};
  unsigned char bytes[32];
  memcpy(values, (const unsigned char *) in + groups * sizeof values, rest * sizeof *values);
  pack32[width]((const unsigned char *) values, 1, bias, bytes);
  memcpy(out + groups * width, bytes, bitpack_len(rest, width));
}

void bitpack64(const void *in, size_t n, unsigned width, uint64_t bias, unsigned char *out) {
  if (width == 0) return;
  size_t groups = n / 8, rest = n % 8;
  pack64[width](in, groups, bias, out);
  if (rest == 0) return;
  uint64_t values[8] = {bias, bias, bias, bias, bias, bias, bias, bias};
  unsigned char bytes[64];
  memcpy(values, (const unsigned char *) in + groups * sizeof values, rest * sizeof *values);
  pack64[width]((const unsigned char *) values, 1, bias, bytes);
  memcpy(out + groups * width, bytes, bitpack_len(rest, width));
}

// Groups of n values that a kernel can read in place.
static size_t readable_groups(size_t n, unsigned width) {
  size_t len = bitpack_len(n, width);
  size_t groups = len > PAST ? (len - PAST) / width : 0;
  return groups < n / 8 ? groups : n / 8;
}

void bitunpack32(const unsigned char *in, size_t n, unsigned width, uint32_t bias, void *out) {
  unsigned char *to = out;
  for (size_t i = 0; width == 0 && i < n; i++) store32(to + i * sizeof bias, bias);
  if (width == 0) return;
  const size_t groups = readable_groups(n, width);
  unpack32[width](in, groups, bias, to);
  for (size_t i = 8 * groups; i < n; i += 8) {
    size_t values = n - i < 8 ? n - i : 8;
    uint32_t group[8];
    unsigned char bytes[32 + PAST] = {0};
    memcpy(bytes, in + i / 8 * width, bitpack_len(values, width));
    unpack32[width](bytes, 1, bias, (unsigned char *) group);
    memcpy(to + i * sizeof *group, group, values * sizeof *group);
  }
}

void bitunpack64(const unsigned char *in, size_t n, unsigned width, uint64_t bias, void *out) {
  unsigned char *to = out;
  for (size_t i = 0; width == 0 && i < n; i++) store64(to + i * sizeof bias, bias);
  if (width == 0) return;
  const size_t groups = readable_groups(n, width);
  unpack64[width](in, groups, bias, to);
  for (size_t i = 8 * groups; i < n; i += 8) {
    size_t values = n - i < 8 ? n - i : 8;
    uint64_t group[8];
    unsigned char bytes[64 + PAST] = {0};
    memcpy(bytes, in + i / 8 * width, bitpack_len(values, width));
    unpack64[width](bytes, 1, bias, (unsigned char *) group);
    memcpy(to + i * sizeof *group, group, values * sizeof *group);
  }
}
