// column.h - a column of numbers inside a filter's output, packed by the filters for numbers.
//
// Layout: u8 filter | u8 parameter | u32 length | `length` bytes as numbers_encode() packs them;
// with filter 0 the bytes are the numbers themselves, in the byte order of the stream.
#ifndef RIFFLE_COLUMN_H
#define RIFFLE_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "filter_numbers.h"

size_t column_bound(enum number_type type, size_t n);

// Returns the bytes written; adds to *dense those that a codec cannot make smaller. `scratch` has
// numbers_scratch() bytes.
size_t column_put(enum number_type type, const void *values, size_t n, unsigned char *out,
                  void *scratch, size_t *dense);

// What is left of a block to be read.
struct input {
  const unsigned char *at;
  size_t left;
};

// The next n bytes, or NULL if they are not there.
const unsigned char *input_take(struct input *in, size_t n);

// Reads n numbers into `values`, or returns what numbers_decode() does.
enum status column_get(struct input *in, enum number_type type, size_t n, void *values,
                       void *scratch);

#endif
