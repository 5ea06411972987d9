// filter_dictionary.h - FILTER_DICTIONARY: few distinct values of 4 or 8 bytes, told by their bits.
// bits.
#ifndef RIFFLE_FILTER_DICTIONARY_H
#define RIFFLE_FILTER_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter_numbers.h"

size_t dictionary_bound(size_t n, size_t size);
size_t dictionary_scratch(size_t n);

// Does a sample suggest a dictionary whose codes are clearly narrower than `width` bits?
bool dictionary_promising(const unsigned char *in, size_t n, size_t size, unsigned width);

// False, and nothing in *result, if the block has too many values to take fewer than `bits`.
bool dictionary_encode(const unsigned char *in, size_t n, size_t size, uint64_t bits,
                       unsigned char *out, void *scratch, struct packed *result);

enum status dictionary_decode(uint8_t coding, const unsigned char *in, size_t len, size_t n,
                              size_t size, unsigned char *out);

#endif
