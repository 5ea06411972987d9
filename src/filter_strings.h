// filter_strings.h - character vectors <-> packed bytes. Pure functions: no state, no I/O.
//
// A strings block holds whole CHARSXP items of R's stream: i32 flags, i32 length (-1 for NA),
// then the characters. An item is told by all three, so one text in two encodings is two items.
// Layouts: inst/FORMAT.md.
#ifndef RIFFLE_FILTER_STRINGS_H
#define RIFFLE_FILTER_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "filter_numbers.h"

struct string_item {
  const char *chars;  // not NUL-terminated; lent for the call
  int32_t len;        // bytes; -1 for NA
  uint32_t flags;     // the flags word of the item in the stream
};

// n strings: string i is items[codes[i]], or items[i] where codes is NULL (then n == n_items).
// Every item is some string's, so n_items <= n.
struct string_array {
  const struct string_item *items;
  size_t n_items;
  const uint32_t *codes;
  size_t n;
};

// Bytes of R's stream that the strings take: 8 each, and their characters.
size_t strings_stream_len(const struct string_array *a);
// Writes them: exactly strings_stream_len() bytes.
void strings_to_stream(const struct string_array *a, unsigned char *out);

// The most that strings_encode() writes.
size_t strings_bound(const struct string_array *a);
size_t strings_encode_scratch(const struct string_array *a);

void strings_encode(const struct string_array *a, unsigned char *out, void *scratch,
                    struct packed *result);

// Unpacks `count` strings. `items` has room for `count` items and `codes` for `count` codes;
// the items' chars point into `in`, or into `scratch` where the layout needs it. On return
// a->codes is `codes` or NULL. Checks everything: lengths within `in`, codes below n_items,
// the stream length equal to raw_len, no length below -1; else ERR_CORRUPT. Unknown: ERR_VERSION.
enum status strings_decode(uint8_t filter, uint8_t param, const unsigned char *in, size_t len,
                           size_t count, size_t raw_len, struct string_item *items,
                           uint32_t *codes, void *scratch, struct string_array *a);
size_t strings_decode_scratch(size_t count, size_t raw_len);

#endif
