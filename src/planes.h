// planes.h - arrays of 4 or 8 byte numbers <-> planes of their bytes.
//
// Plane b is byte b, from the lowest, of each number in turn. Arrays are in host order and may be
// unaligned.
#ifndef RIFFLE_PLANES_H
#define RIFFLE_PLANES_H

#include <stddef.h>
#include <stdint.h>

// Writes the lowest `planes` bytes (1 to `size`, which is 4 or 8) of n numbers - bias; plane b
// begins at out + b * stride.
void planes_split(const void *in, size_t n, size_t size, unsigned planes, uint64_t bias,
                  unsigned char *out, size_t stride);

// Writes n numbers + bias; the bytes without a plane are 0 before bias is added.
void planes_join(const unsigned char *in, size_t stride, unsigned planes, size_t n, size_t size,
                 uint64_t bias, void *out);

#endif
