// double_split.h - FILTER_SPLIT: doubles' signs and exponents as codes of a byte, apart from their
// mantissas, which are as good as random.
#ifndef RIFFLE_DOUBLE_SPLIT_H
#define RIFFLE_DOUBLE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "filter_numbers.h"

// The most that split_encode() writes; its scratch is n uint64_t.
size_t split_bound(size_t n);

// By a sample, 256ths of a bit that a double takes once the codec has packed the codes; UINT32_MAX
// if there are too many signs and exponents for a byte.
uint32_t split_cost(const unsigned char *in, size_t n);

// False, and nothing in *result, if there are too many.
bool split_encode(const unsigned char *in, size_t n, unsigned char *out, uint64_t *scratch,
                  struct packed *result);

// `width` is the block's parameter.
enum status split_decode(uint8_t width, const unsigned char *in, size_t len, size_t n,
                         struct window w, unsigned char *out);

#endif
