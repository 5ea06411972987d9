// filter_numbers.h - numeric arrays <-> packed bytes. Pure functions: no state, no I/O, no locks.
//
// A filter makes a block's numbers smaller or easier to compress without looking at any other
// block. numbers_encode() picks one from cheap statistics of the array itself (never by trying
// every one) and numbers_decode() gives back every bit: NA, NaN payloads, -0, subnormals.
// The layouts are specified in inst/FORMAT.md; all multi-byte fields are little-endian.
#ifndef RIFFLE_FILTER_NUMBERS_H
#define RIFFLE_FILTER_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum number_type { NUMBER_I32, NUMBER_F64, NUMBER_U8 };  // complex travels as pairs of F64

static inline size_t number_size(enum number_type t) {
  return t == NUMBER_F64 ? 8 : t == NUMBER_I32 ? 4 : 1;
}

// What the codec can expect of the packed bytes.
enum packed_hint {
  PACKED_COMPRESS,  // give it to the codec
  PACKED_DENSE      // as good as random bytes: store it, a codec would only cost time
};

struct packed {
  uint8_t filter;  // the block header's filter and parameter
  uint8_t param;
  enum packed_hint hint;
  size_t tail;  // with PACKED_COMPRESS: so many bytes at the end are as good as random,
                // and the codec is spared them
  size_t len;   // bytes written to `out`; 0 with FILTER_NONE: use the input as it is
};

enum { FILTER_NONE = 0 };

// Elements of a block from `first` on, before `end`.
struct window {
  size_t first, end;
};

// The most that numbers_encode() writes and the scratch it needs, for `count` elements.
size_t numbers_bound(enum number_type type, size_t count);
size_t numbers_scratch(enum number_type type, size_t count);

// `in` may be unaligned. `out` has numbers_bound() bytes, `scratch` numbers_scratch() bytes and
// is aligned as malloc's. Never fails: FILTER_NONE is always possible. Same input, same output.
void numbers_encode(enum number_type type, const void *in, size_t count, unsigned char *out,
                    void *scratch, struct packed *result);

// Writes exactly `count` elements to `out` (may be unaligned) or returns ERR_CORRUPT; reads
// nothing past in + len, whatever the bytes are. An unknown filter is ERR_VERSION.
// `scratch` has numbers_scratch() bytes. FILTER_NONE is not for this function.
//
// Of these, elements first..end - 1 of the window are sure to be written, in their places; others may
// be, or not.
enum status numbers_decode_part(uint8_t filter, uint8_t param, enum number_type type,
                                const unsigned char *in, size_t len, size_t count,
                                struct window w, void *out, void *scratch);
static inline enum status numbers_decode(uint8_t filter, uint8_t param, enum number_type type,
                                         const unsigned char *in, size_t len, size_t count,
                                         void *out, void *scratch) {
  return numbers_decode_part(filter, param, type, in, len, count, (struct window){0, count}, out,
                             scratch);
}

#endif
