// filter_dictionary.h - FILTER_DICTIONARY: few distinct values of 4 or 8 bytes, told by their bits.
#ifndef RIFFLE_FILTER_DICTIONARY_H
#define RIFFLE_FILTER_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter_numbers.h"

size_t dictionary_bound(size_t n, size_t size);
size_t dictionary_scratch(size_t n);

// How many values are distinct in a sample of 128; of fewer, 128.
unsigned dictionary_kinds(const unsigned char *in, size_t n, size_t size);

// Do so many kinds suggest a dictionary whose codes are clearly narrower than `width` bits?
bool dictionary_narrower(unsigned kinds, unsigned width);

// Do they suggest that codes may be bytes, or not far from it?
bool dictionary_of_bytes(unsigned kinds);

enum { DICTIONARY_SMALL = 4096, DICTIONARY_LARGE = 65535 };

// What a dictionary must not exceed: values, and 256ths of a bit an element, without a codec and
// with it.
struct dictionary_limits {
  size_t values;
  uint32_t dense, codec;
};

// Those of codes that are bytes, with values that are next to nothing for n elements.
struct dictionary_limits dictionary_bytes(size_t n);

// False, and nothing in *result, if a limit is reached.
bool dictionary_encode(const unsigned char *in, size_t n, size_t size,
                       const struct dictionary_limits *limits, unsigned char *out, void *scratch,
                       struct packed *result);

enum status dictionary_decode(uint8_t coding, const unsigned char *in, size_t len, size_t n,
                              struct window w, size_t size, unsigned char *out);

#endif
