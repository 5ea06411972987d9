// codes.h - a block's unsigned codes, 0 to some maximum, <-> bytes.
//
// The layer below the filters for numbers: they turn values into small codes, this stores them.
// The coding, one byte, is the block's filter parameter:
//
//   0 to 64      fields of that many bits, as in bitpack.h
//   0x60 + k     k = 2 to 31: u32 r, then pieces of 1024 / (8 k) * 8 k codes below r, the last
//                piece of what is left: the groups of groups.h, in fields of as many bits as
//                r^k - 1 needs. r is 2 to 2^15, r^k at most 2^31.
//   0x80 + b     b = 1 to 8: b planes of one byte per code, the lowest byte's first
#ifndef RIFFLE_CODES_H
#define RIFFLE_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "filter_numbers.h"

// `size` is 4 or 8 throughout: the array's element is a uint32_t or a uint64_t, in host order and
// maybe unaligned, and the code is element - bias.
struct codes {
  const void *values;
  size_t size;
  size_t n;
  uint64_t bias;
  uint64_t max;  // the largest code
};

// The most that codes_encode() writes for n elements.
static inline size_t codes_bound(size_t n, size_t size) { return n * size + 16; }

// Bits that the codes take where no codec follows: what a filter compares before it decides.
uint64_t codes_dense_bits(size_t n, uint64_t max);

// 256ths of a bit that a codec would leave of each code, by a sample.
uint32_t codes_cost(const struct codes *c);

// The better of this and of what a code takes without a codec, which `cost` must beat clearly.
uint32_t codes_best(const struct codes *c, uint32_t cost);

// What the differences of neighbours cost if left to a codec, as codes_cost(), and what is in the
// middle of them.
struct delta_cost {
  uint32_t codec;
  int64_t middle;
};

// By a sample, without the codes that are `skip`. UINT32_MAX if neighbours are no nearer than any,
// or codes so small that it makes no difference.
struct delta_cost codes_delta_cost(const struct codes *c, uint64_t skip);

// codes_cost(), or a higher one with less work where differences are so cheap that none matters.
uint32_t codes_cost_beside(const struct codes *c, struct delta_cost delta);

// For codes that are differences: moves bias down to where those about the middle share their upper
// bytes, if the codes are for the codec.
void codes_center(struct codes *c, struct delta_cost delta);

// Chooses the coding by codes_cost() and writes the codes. Sets param, hint, and len to the bytes
// written to `out`; leaves the filter alone.
void codes_encode(const struct codes *c, uint32_t cost, unsigned char *out, struct packed *result);

// Reads codes from the first on, in pieces.
struct code_reader {
  const unsigned char *in;  // the next group, or the lowest plane's next code
  size_t n;                 // codes left
  size_t stride;            // planes: from one to the next
  unsigned width, planes;
  unsigned k;  // codes in a group, 1 without groups
  uint32_t r;
  size_t step;   // codes in a piece
  uint64_t max;  // no code is above
};

enum { CODES_STEP = 1024 };  // the most in a piece

// `in` must hold exactly n codes of that coding, for elements of `size`.
enum status codes_open(struct code_reader *r, uint8_t coding, const unsigned char *in, size_t len,
                       size_t n, size_t size);

// Of the codes to come those from `first` on, before `end`, are wanted: passes over whole pieces before
// and leaves out those behind. Returns how many codes are passed over.
size_t codes_narrow(struct code_reader *r, size_t first, size_t end);

// Writes the next piece of codes + bias to `out` and their number, 0 at the end, to *n.
enum status codes_next32(struct code_reader *r, uint32_t bias, void *out, size_t *n);
enum status codes_next64(struct code_reader *r, uint64_t bias, void *out, size_t *n);

#endif
