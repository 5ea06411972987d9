// filter_strings.c - see filter_strings.h.
//
// Layouts. Integers are little-endian. For a `column` see column.h.
//
// filter 0, raw: the stream's items: per string i32 flags, i32 length, characters.
// filter 1, items: one `items` for all strings, in order.
// filter 2, dictionary:
//   u32 number of items | items | column of i32: the item of each string, counted from 0
//
// items, k of them:
//   column of i32: the lengths; -1 for NA
//   u8 number of distinct flags words f, in order of appearance; 0: more than 255
//     f > 0: f times u32 flags word; if f > 1, a column of u8: the word of each item
//     f = 0: a column of i32: the flags words
//   the characters, as the block's filter parameter w says:
//     w < 255: for each position j < w, byte j of every item longer than j, in order of the
//       items; then the bytes from position w on of every item, one item after the other
//     w = 255: column of u8: how many bytes each item shares with the start of the one before it,
//       0 for the first; then the other bytes of every item, one item after the other
//
// So w = 0 leaves the characters as they are, for text; and where the positions mean something
// (ids, UUIDs, dates, a prefix that all share), each position becomes a column of its own, as
// byte shuffling does for numbers: a codec finds a prefix free and sees digits next to digits.
// 255 is for sorted strings.
#include "filter_strings.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "column.h"
#include "le.h"
#include "string_chars.h"
#include "string_layout.h"

enum {
  STRINGS_ITEMS = 1,
  STRINGS_DICTIONARY = 2,
  TYPE_CHAR = 9,        // low byte of a CHARSXP's flags
  ITEM_HEAD = 8,        // flags and length in the stream
  MAX_WORDS = 255       // distinct flags words
};

static inline size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static inline size_t align16(size_t n) { return (n + 15) & ~(size_t) 15; }

static inline const struct string_item *item_at(const struct string_array *a, size_t i) {
  return &a->items[a->codes ? a->codes[i] : i];
}

size_t strings_stream_len(const struct string_array *a) {
  size_t len = ITEM_HEAD * a->n;
  for (size_t i = 0; i < a->n; i++) len += char_count(item_at(a, i)->len);
  return len;
}

void strings_to_stream(const struct string_array *a, unsigned char *out) {
  for (size_t i = 0; i < a->n; i++) {
    const struct string_item *item = item_at(a, i);
    le_store32(out, item->flags);
    le_store32(out + 4, (uint32_t) item->len);
    out += ITEM_HEAD;
    if (item->len <= 0) continue;
    memcpy(out, item->chars, (size_t) item->len);
    out += item->len;
  }
}

static bool head_ok(uint32_t flags, int32_t len) {
  return (flags & 0xFF) == TYPE_CHAR && len >= -1;
}

static enum status from_stream(const unsigned char *in, size_t len, size_t count, size_t raw_len,
                               struct string_item *items) {
  const unsigned char *end = in + len;
  if (len != raw_len) return ERR_CORRUPT;
  for (size_t i = 0; i < count; i++) {
    if (end - in < ITEM_HEAD) return ERR_CORRUPT;
    uint32_t flags = le_load32(in);
    int32_t n = (int32_t) le_load32(in + 4);
    in += ITEM_HEAD;
    if (!head_ok(flags, n) || char_count(n) > (size_t) (end - in)) return ERR_CORRUPT;
    items[i] = (struct string_item){(const char *) in, n, flags};
    in += char_count(n);
  }
  return in == end ? OK : ERR_CORRUPT;
}

// The parts of the caller's scratch.
struct work {
  void *column;         // 4 bytes an item
  void *numbers;        // for filter_numbers and the sample
  unsigned char *room;  // for a decoder's characters
};

static size_t numbers_room(size_t n) {
  size_t need = max_size(numbers_scratch(NUMBER_I32, n), numbers_scratch(NUMBER_U8, n));
  return align16(max_size(need, LAYOUT_SAMPLE_LEN));
}

static size_t work_len(size_t n) { return align16(4 * n) + numbers_room(n); }

static struct work work_parts(void *scratch, size_t n) {
  unsigned char *p = scratch;
  return (struct work){p, p + align16(4 * n), p + work_len(n)};
}

static size_t items_bound(size_t n, size_t total) {
  size_t words = max_size(4 * MAX_WORDS + column_bound(NUMBER_U8, n), column_bound(NUMBER_I32, n));
  return column_bound(NUMBER_I32, n) + 1 + words + column_bound(NUMBER_U8, n) + total;
}

static size_t put_lengths(const struct string_item *items, size_t n, unsigned char *out,
                          struct work work, size_t *dense) {
  int32_t *lens = work.column;
  for (size_t i = 0; i < n; i++) lens[i] = items[i].len;
  return column_put(NUMBER_I32, lens, n, out, work.numbers, dense);
}

// Finds the distinct flags words and each item's; returns their number, 0 if they are too many.
static size_t list_words(const struct string_item *items, size_t n, uint32_t words[MAX_WORDS],
                         uint8_t *which) {
  size_t n_words = 0;
  for (size_t i = 0; i < n; i++) {
    size_t w = 0;
    while (w < n_words && words[w] != items[i].flags) w++;
    if (w == MAX_WORDS) return 0;
    if (w == n_words) words[n_words++] = items[i].flags;
    which[i] = (uint8_t) w;
  }
  return n_words;
}

static size_t put_flags(const struct string_item *items, size_t n, unsigned char *out,
                        struct work work, size_t *dense) {
  uint32_t words[MAX_WORDS];
  size_t n_words = list_words(items, n, words, work.column);
  unsigned char *start = out;
  *out++ = (unsigned char) n_words;
  for (size_t w = 0; w < n_words; w++, out += 4) le_store32(out, words[w]);
  if (n_words > 1) {
    out += column_put(NUMBER_U8, work.column, n, out, work.numbers, dense);
  } else if (n_words == 0) {
    uint32_t *flags = work.column;
    for (size_t i = 0; i < n; i++) flags[i] = items[i].flags;
    out += column_put(NUMBER_I32, flags, n, out, work.numbers, dense);
  }
  return (size_t) (out - start);
}

static size_t put_layout(const struct string_item *items, size_t n, size_t total, size_t layout,
                         unsigned char *out, struct work work, size_t *dense) {
  if (layout != FRONT_CODED) {
    chars_put(items, n, layout, out);
    return total;
  }
  size_t shared = fronts_find(items, n, work.column);
  size_t len = column_put(NUMBER_U8, work.column, n, out, work.numbers, dense);
  backs_put(items, n, work.column, out + len);
  return len + total - shared;
}

static size_t put_items(const struct string_item *items, size_t n, size_t total, size_t layout,
                        unsigned char *out, struct work work, size_t *dense) {
  unsigned char *start = out;
  out += put_lengths(items, n, out, work, dense);
  out += put_flags(items, n, out, work, dense);
  out += put_layout(items, n, total, layout, out, work, dense);
  return (size_t) (out - start);
}

// Sets the items' lengths; false if one is below -1 or the characters are more than max_chars.
static bool set_lengths(const int32_t *lens, struct string_item *items, size_t n, size_t max_chars,
                        size_t *total) {
  uint64_t sum = 0;
  int32_t least = 0;
  for (size_t i = 0; i < n; i++) {
    items[i].len = lens[i];
    sum += char_count(lens[i]);
    if (lens[i] < least) least = lens[i];
  }
  *total = (size_t) sum;
  return least >= -1 && sum <= max_chars;
}

static enum status set_flags(struct string_item *items, size_t n, const unsigned char *words,
                             size_t n_words, const uint8_t *which) {
  for (size_t i = 0; i < n; i++) {
    if (which[i] >= n_words) return ERR_CORRUPT;
    items[i].flags = le_load32(words + 4 * (size_t) which[i]);
  }
  return OK;
}

static enum status get_flags(struct input *in, struct string_item *items, size_t n,
                             struct work work) {
  const unsigned char *head = input_take(in, 1);
  if (!head) return ERR_CORRUPT;
  size_t n_words = *head;
  const unsigned char *words = input_take(in, 4 * n_words);
  if (!words) return ERR_CORRUPT;
  if (n_words == 1) {
    for (size_t i = 0; i < n; i++) items[i].flags = le_load32(words);
    return OK;
  }
  enum status st = column_get(in, n_words ? NUMBER_U8 : NUMBER_I32, n, work.column, work.numbers);
  if (st) return st;
  if (n_words) return set_flags(items, n, words, n_words, work.column);
  const uint32_t *flags = work.column;
  for (size_t i = 0; i < n; i++) items[i].flags = flags[i];
  return OK;
}

static bool flags_ok(const struct string_item *items, size_t n) {
  uint32_t differ = 0;
  for (size_t i = 0; i < n; i++) differ |= items[i].flags ^ TYPE_CHAR;
  return (differ & 0xFF) == 0;
}

static void point_items(const unsigned char *chars, struct string_item *items, size_t n) {
  for (size_t i = 0; i < n; i++) {
    items[i].chars = (const char *) chars;
    chars += char_count(items[i].len);
  }
}

static enum status get_fronts(struct input *in, const struct string_item *items, size_t n,
                              size_t total, struct work work) {
  size_t shared;
  enum status st = column_get(in, NUMBER_U8, n, work.column, work.numbers);
  if (st) return st;
  if (!fronts_sum(work.column, items, n, &shared)) return ERR_CORRUPT;
  const unsigned char *backs = input_take(in, total - shared);
  if (!backs) return ERR_CORRUPT;
  backs_get(backs, work.column, items, n, work.room);
  return OK;
}

// Reads the characters of all items, `total`, and points the items at them.
static enum status get_layout(struct input *in, size_t layout, struct string_item *items, size_t n,
                              size_t total, struct work work) {
  const unsigned char *chars = work.room;
  if (layout == FRONT_CODED) {
    enum status st = get_fronts(in, items, n, total, work);
    if (st) return st;
  } else {
    const unsigned char *packed = input_take(in, total);
    if (!packed) return ERR_CORRUPT;
    if (layout) chars_get(packed, layout, items, n, work.room);
    else chars = packed;
  }
  point_items(chars, items, n);
  return OK;
}

// Reads n items of at most max_chars characters, of which work.room has as many.
static enum status get_items(struct input *in, size_t layout, struct string_item *items, size_t n,
                             size_t max_chars, struct work work, size_t *total) {
  enum status st = column_get(in, NUMBER_I32, n, work.column, work.numbers);
  if (st) return st;
  if (!set_lengths(work.column, items, n, max_chars, total)) return ERR_CORRUPT;
  st = get_flags(in, items, n, work);
  if (st) return st;
  if (!flags_ok(items, n)) return ERR_CORRUPT;
  return get_layout(in, layout, items, n, *total, work);
}

static size_t items_chars(const struct string_array *a) {
  size_t total = 0;
  for (size_t i = 0; i < a->n_items; i++) total += char_count(a->items[i].len);
  return total;
}

size_t strings_bound(const struct string_array *a) {
  size_t codes = a->codes ? 4 + column_bound(NUMBER_I32, a->n) : 0;
  return items_bound(a->n_items, items_chars(a)) + codes;
}

size_t strings_encode_scratch(const struct string_array *a) {
  return work_len(max_size(a->n, a->n_items));
}

size_t strings_decode_scratch(size_t count, size_t raw_len) { return work_len(count) + raw_len; }

void strings_encode(const struct string_array *a, unsigned char *out, void *scratch,
                    struct packed *result) {
  assert(a->codes ? a->n_items <= a->n : a->n_items == a->n);
  struct work work = work_parts(scratch, max_size(a->n, a->n_items));
  size_t total = items_chars(a);
  size_t layout = layout_choose(a->items, a->n_items, total, work.numbers);
  size_t dense = 0;
  unsigned char *at = out;
  if (a->codes) {
    le_store32(at, (uint32_t) a->n_items);
    at += 4;
  }
  at += put_items(a->items, a->n_items, total, layout, at, work, &dense);
  if (a->codes) at += column_put(NUMBER_I32, a->codes, a->n, at, work.numbers, &dense);
  size_t len = (size_t) (at - out);
  result->filter = a->codes ? STRINGS_DICTIONARY : STRINGS_ITEMS;
  result->param = (uint8_t) layout;
  result->hint = dense >= len - len / 16 ? PACKED_DENSE : PACKED_COMPRESS;
  result->len = len;
}

static enum status decode_items(struct input *in, size_t layout, size_t raw_len, struct work work,
                                struct string_item *items, struct string_array *a) {
  size_t total;
  size_t heads = ITEM_HEAD * a->n;
  if (heads > raw_len) return ERR_CORRUPT;
  a->n_items = a->n;
  enum status st = get_items(in, layout, items, a->n, raw_len - heads, work, &total);
  if (st) return st;
  return total == raw_len - heads ? OK : ERR_CORRUPT;
}

// True if all codes are below n_items and the strings take `chars` characters. Four codes at a
// time: this loop is a good part of the decoding of a dictionary.
static bool codes_ok(const uint32_t *codes, size_t n, const uint32_t *lens, size_t n_items,
                     size_t chars) {
  uint64_t sum = 0;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    uint32_t a = codes[i], b = codes[i + 1], c = codes[i + 2], d = codes[i + 3];
    if ((a >= n_items) | (b >= n_items) | (c >= n_items) | (d >= n_items)) return false;
    sum += ((uint64_t) lens[a] + lens[b]) + ((uint64_t) lens[c] + lens[d]);
  }
  for (; i < n; i++) {
    if (codes[i] >= n_items) return false;
    sum += lens[codes[i]];
  }
  return sum == chars;
}

static enum status decode_dictionary(struct input *in, size_t layout, size_t raw_len,
                                     struct work work, struct string_item *items, uint32_t *codes,
                                     struct string_array *a) {
  size_t total;
  size_t heads = ITEM_HEAD * a->n;
  const unsigned char *head = input_take(in, 4);
  if (!head || heads > raw_len) return ERR_CORRUPT;
  a->codes = codes;
  a->n_items = le_load32(head);
  if (a->n_items > a->n) return ERR_CORRUPT;
  enum status st = get_items(in, layout, items, a->n_items, raw_len - heads, work, &total);
  if (st) return st;
  st = column_get(in, NUMBER_I32, a->n, codes, work.numbers);
  if (st) return st;
  uint32_t *lens = work.column;
  for (size_t i = 0; i < a->n_items; i++) lens[i] = (uint32_t) char_count(items[i].len);
  return codes_ok(codes, a->n, lens, a->n_items, raw_len - heads) ? OK : ERR_CORRUPT;
}

enum status strings_decode(uint8_t filter, uint8_t param, const unsigned char *in, size_t len,
                           size_t count, size_t raw_len, struct string_item *items,
                           uint32_t *codes, void *scratch, struct string_array *a) {
  struct input input = {in, len};
  struct work work = work_parts(scratch, count);
  *a = (struct string_array){.items = items, .n_items = count, .n = count};
  enum status st = ERR_VERSION;
  if (filter == FILTER_NONE)
    st = from_stream(in, len, count, raw_len, items);
  else if (filter == STRINGS_ITEMS)
    st = decode_items(&input, param, raw_len, work, items, a);
  else if (filter == STRINGS_DICTIONARY)
    st = decode_dictionary(&input, param, raw_len, work, items, codes, a);
  if (st || filter == FILTER_NONE) return st;
  return input.left == 0 ? OK : ERR_CORRUPT;
}
