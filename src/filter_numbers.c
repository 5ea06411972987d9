// The layouts. Elements are host order, as they are in the stream; all else is little-endian.
// `codes` is a section of codes.h, in the coding that the block's filter parameter names; it goes
// to the end of the block and must fill it exactly. Integer arithmetic is modulo 2^32 or 2^64.
//
// 1 CONSTANT: the element; all are the same. Parameter 0.
//
// 2 RANGE, 3 RANGE_NA (32-bit): u32 base, codes.
//   An element is base + code; with RANGE_NA code 0 is NA, INT_MIN.
//
// 4 DELTA, 5 DELTA_NA (32-bit): u32 start, u32 base, codes.
//   An element is the one before, at first start, + base + code. With DELTA_NA code 0 is NA, and
//   the next element goes on from the one before it.
//
// 6 DICTIONARY: u16 number of values - 1, the values (elements, host order), codes.
//   An element is the value at its code.
//
// 7 SHUFFLE (of 8-byte elements by this encoder): plane b, from 0, is byte b of each element,
//   counted from the lowest. Parameter 0.
//
// 8 SCALED, 9 SCALED_DELTA (doubles):
//     u8 op           0 multiply, 1 divide, 2 bits
//     u8 shift        op 2: 0 to 63; else 0
//     u16 s           number of specials, at most 7
//     u32 p           number of patches
//     f64 factor      op 0 and 1, else 0
//     u64 base
//     u64 start       SCALED_DELTA alone
//     u64 specials[s]
//     u32 place[p], u64 value[p]
//     codes
//   Code c < s is the double whose bits are specials[c]. Any other is the integer m = base + c, or
//   with SCALED_DELTA the integer before (at first start; specials make none) + base + c. For op 0
//   and 1 it is, as a signed number, within -2^51 to 2^51, and the double is m * factor or
//   m / factor, rounded once to nearest even. For op 2 it is the double whose bits, turned left by
//   one (so that the sign is the lowest), are m << shift. Last, value[j] are the bits at place[j].
//
// 10 SPLIT (doubles). The parameter is w, 49 to 52: the bits of mantissa kept apart.
//     u8 h            number of whole doubles, at most 7
//     u8 t            number of tops, at most 249
//     u64 whole[h]
//     u16 top[t]      each below 2^(64 - w)
//     u8 code[n]
//     fields of w bits, as in bitpack.h, to the end: the mantissas, in order
//   Code c < t is a double of the bits top[c] << w and, below, the next mantissa. Code 255 - j, for
//   j < h, is the double whose bits are whole[j], and has no mantissa. There are no other codes.
//   The mantissas are the packed bytes' tail: as good as random, and stored without the codec.
#include "filter_numbers.h"

#include <stdbool.h>
#include <string.h>

#include "double_split.h"
#include "filter_dictionary.h"
#include "filter_doubles.h"
#include "filter_integers.h"
#include "filter_layout.h"
#include "planes.h"

// A block of fewer is left to the codec.
enum { FEWEST = 16 };

size_t numbers_bound(enum number_type type, size_t count) {
  if (type == NUMBER_U8) return count;
  return type == NUMBER_F64 ? doubles_bound(count) : integers_bound(count);
}

size_t numbers_scratch(enum number_type type, size_t count) {
  if (type == NUMBER_U8) return 0;
  return type == NUMBER_F64 ? doubles_scratch(count) : integers_scratch(count);
}

// Whether all elements have the first one's bits.
static bool is_constant(const unsigned char *in, size_t count, size_t size) {
  return memcmp(in, in + size, (count - 1) * size) == 0;
}

void numbers_encode(enum number_type type, const void *in, size_t count, unsigned char *out,
                    void *scratch, struct packed *result) {
  const size_t size = number_size(type);
  *result = (struct packed){.filter = FILTER_NONE, .hint = PACKED_COMPRESS};
  if (type == NUMBER_U8 || count < FEWEST) return;
  if (is_constant(in, count, size)) {
    memcpy(out, in, size);
    *result = (struct packed){.filter = FILTER_CONSTANT, .hint = PACKED_DENSE, .len = size};
  } else if (type == NUMBER_F64) {
    doubles_encode(in, count, out, scratch, result);
  } else {
    integers_encode(in, count, out, scratch, result);
  }
}

static enum status decode_constant(const unsigned char *in, size_t len, size_t count, size_t size,
                                   unsigned char *out) {
  if (len != size) return ERR_CORRUPT;
  if (size == 8)
    for (size_t i = 0; i < count; i++) memcpy(out + 8 * i, in, 8);
  else
    for (size_t i = 0; i < count; i++) memcpy(out + 4 * i, in, 4);
  return OK;
}

static enum status decode_shuffle(const unsigned char *in, size_t len, size_t count, size_t size,
                                  unsigned char *out) {
  if (len / size != count || len % size != 0) return ERR_CORRUPT;
  planes_join(in, count, (unsigned) size, count, size, 0, out);
  return OK;
}

enum status numbers_decode_part(uint8_t filter, uint8_t param, enum number_type type,
                                const unsigned char *in, size_t len, size_t count,
                                struct window w, void *out, void *scratch) {
  const size_t size = number_size(type);
  (void) scratch;
  if (type == NUMBER_U8) return ERR_VERSION;
  switch (filter) {
  case FILTER_CONSTANT: return param ? ERR_VERSION : decode_constant(in, len, count, size, out);
  case FILTER_SHUFFLE: return param ? ERR_VERSION : decode_shuffle(in, len, count, size, out);
  case FILTER_DICTIONARY: return dictionary_decode(param, in, len, count, w, size, out);
  case FILTER_RANGE:
  case FILTER_RANGE_NA:
  case FILTER_DELTA:
  case FILTER_DELTA_NA:
    return type == NUMBER_I32 ? integers_decode(filter, param, in, len, count, w, out) : ERR_VERSION;
  case FILTER_SCALED:
  case FILTER_SCALED_DELTA:
    if (type != NUMBER_F64) return ERR_VERSION;
    return doubles_decode(filter == FILTER_SCALED_DELTA, param, in, len, count, w, out);
  case FILTER_SPLIT:
    return type == NUMBER_F64 ? split_decode(param, in, len, count, w, out) : ERR_VERSION;
  }
  return ERR_VERSION;
}
