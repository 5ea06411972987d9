// bitpack.h - unsigned integers <-> a stream of fields of one width.
//
// Value i is in bits i * width to (i + 1) * width - 1, where bit b is bit b % 8 (from the lowest)
// of byte b / 8; unused bits of the last byte are 0. What is packed is value - bias, so that a
// frame of reference costs no pass of its own. Eight values fill `width` bytes: a stream may be
// packed or unpacked in pieces of a multiple of eight values.
//
// Arrays are in host order and may be unaligned. Reads and writes are exact.
#ifndef RIFFLE_BITPACK_H
#define RIFFLE_BITPACK_H

#include <stddef.h>
#include <stdint.h>

// Bytes that n values take; n at most 2^32.
static inline size_t bitpack_len(size_t n, unsigned width) {
  return n / 8 * width + (n % 8 * width + 7) / 8;
}

// The number of bits that v needs: 0 for 0, 64 for UINT64_MAX.
static inline unsigned bit_width(uint64_t v) { return v ? 64 - (unsigned) __builtin_clzll(v) : 0; }

// Widths 0 to 32 and 0 to 64. Every value - bias must fit the width.
void bitpack32(const void *in, size_t n, unsigned width, uint32_t bias, unsigned char *out);
void bitpack64(const void *in, size_t n, unsigned width, uint64_t bias, unsigned char *out);

// Reads bitpack_len(n, width) bytes.
void bitunpack32(const unsigned char *in, size_t n, unsigned width, uint32_t bias, void *out);
void bitunpack64(const unsigned char *in, size_t n, unsigned width, uint64_t bias, void *out);

#endif
