#include "filter_numbers.h"

#include <stdbool.h>
#include <string.h>

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

enum status numbers_decode(uint8_t filter, uint8_t param, enum number_type type,
                           const unsigned char *in, size_t len, size_t count, void *out,
                           void *scratch) {
  const size_t size = number_size(type);
  (void) scratch;
  if (type == NUMBER_U8) return ERR_VERSION;
  switch (filter) {
    case FILTER_CONSTANT:
      return param ? ERR_VERSION : decode_constant(in, len, count, size, out);
    case FILTER_SHUFFLE:
      return param ? ERR_VERSION : decode_shuffle(in, len, count, size, out);
    case FILTER_DICTIONARY:
      return dictionary_decode(param, in, len, count, size, out);
    case FILTER_RANGE:
    case FILTER_RANGE_NA:
    case FILTER_DELTA:
    case FILTER_DELTA_NA:
      return type == NUMBER_I32 ? integers_decode(filter, param, in, len, count, out) : ERR_VERSION;
    case FILTER_SCALED:
    case FILTER_SCALED_DELTA:
      if (type != NUMBER_F64) return ERR_VERSION;
      return doubles_decode(filter == FILTER_SCALED_DELTA, param, in, len, count, out);
  }
  return ERR_VERSION;
}
