// filter_integers.h - FILTER_RANGE to FILTER_DELTA_NA: 32-bit integers; INT_MIN is NA.
#ifndef RIFFLE_FILTER_INTEGERS_H
#define RIFFLE_FILTER_INTEGERS_H

#include <stddef.h>
#include <stdint.h>

#include "filter_numbers.h"

size_t integers_bound(size_t n);
size_t integers_scratch(size_t n);

// Any integers, not all the same; a dictionary if that is smaller, or FILTER_NONE.
void integers_encode(const unsigned char *in, size_t n, unsigned char *out, void *scratch,
                     struct packed *result);

// These four filters alone.
enum status integers_decode(uint8_t filter, uint8_t coding, const unsigned char *in, size_t len,
                            size_t n, struct window w, unsigned char *out);

#endif
