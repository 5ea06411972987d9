// filter_doubles.h - FILTER_SCALED, FILTER_SCALED_DELTA: doubles that are integers in disguise.
#ifndef RIFFLE_FILTER_DOUBLES_H
#define RIFFLE_FILTER_DOUBLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter_numbers.h"

size_t doubles_bound(size_t n);
size_t doubles_scratch(size_t n);

// Any doubles, not all the same; a dictionary or byte planes if that is better, or FILTER_NONE.
void doubles_encode(const unsigned char *in, size_t n, unsigned char *out, void *scratch,
                    struct packed *result);

// The scaled filters alone.
enum status doubles_decode(bool delta, uint8_t coding, const unsigned char *in, size_t len,
                           size_t n, struct window w, unsigned char *out);

#endif
