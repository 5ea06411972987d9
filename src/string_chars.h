// string_chars.h - the characters of many strings, laid out for a codec: by position or front coded.
//
// filter_strings.c specifies the layouts and says when which is used.
#ifndef RIFFLE_STRING_CHARS_H
#define RIFFLE_STRING_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter_strings.h"

enum {
  MAX_WIDTH = 254,    // character positions
  FRONT_CODED = 255,  // in place of a width
  MAX_FRONT = 255     // bytes shared with the item before
};

static inline size_t char_count(int32_t len) { return len > 0 ? (size_t) len : 0; }

// How many of the first `max` bytes are the same.
size_t same_bytes(const unsigned char *a, const unsigned char *b, size_t max);
size_t shared_front(const struct string_item *a, const struct string_item *b, size_t max);

// By position up to `width`: writes all characters of the items.
void chars_put(const struct string_item *items, size_t n, size_t width, unsigned char *out);
// Undoes chars_put(): the characters of all items, one after the other.
void chars_get(const unsigned char *in, size_t width, const struct string_item *items, size_t n,
               unsigned char *out);

// Finds what each item shares with the one before it; returns the sum.
size_t fronts_find(const struct string_item *items, size_t n, uint8_t *fronts);
// False if an item shares more than it or the one before it has.
bool fronts_sum(const uint8_t *fronts, const struct string_item *items, size_t n, size_t *sum);
void backs_put(const struct string_item *items, size_t n, const uint8_t *fronts,
               unsigned char *out);
// Undoes backs_put(), with fronts that fit.
void backs_get(const unsigned char *in, const uint8_t *fronts, const struct string_item *items,
               size_t n, unsigned char *out);

#endif
