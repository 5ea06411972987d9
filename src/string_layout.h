// string_layout.h - chooses how the characters of a block's strings are laid out.
#ifndef RIFFLE_STRING_LAYOUT_H
#define RIFFLE_STRING_LAYOUT_H

#include <stddef.h>

#include "filter_strings.h"

enum { LAYOUT_SAMPLE_LEN = 16384 };  // characters looked at, and bytes of scratch

// A width, or FRONT_CODED; `total` is the number of characters in all items.
size_t layout_choose(const struct string_item *items, size_t n, size_t total,
                     unsigned char *scratch);

#endif
