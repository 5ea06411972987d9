// filter_structure.h - pieces of R's stream that are not one long vector <-> columns of like parts.
//
// A list of many small things is flags words, length words, numbers and characters by turns. This
// filter tells them apart, as a reader of the stream would, and lays each kind out as a column of
// its own, packed as a numbers block's would be. It is a guess that costs nothing when wrong: any
// bytes at all come back as they were. Pure functions. Layout: filter_structure.c.
#ifndef RIFFLE_FILTER_STRUCTURE_H
#define RIFFLE_FILTER_STRUCTURE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "filter_numbers.h"

// For both directions. `scratch` is aligned as malloc's.
size_t structure_scratch(size_t raw_len);
size_t structure_bound(size_t raw_len);

// FILTER_NONE if the bytes do not look like structure.
void structure_encode(const unsigned char *in, size_t len, unsigned char *out, void *scratch,
                      struct packed *result);

// Writes exactly raw_len bytes, or returns ERR_CORRUPT, or ERR_VERSION for an unknown filter.
enum status structure_decode(uint8_t filter, uint8_t param, const unsigned char *in, size_t len,
                             size_t raw_len, unsigned char *out, void *scratch);

#endif
