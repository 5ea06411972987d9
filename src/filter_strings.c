// filter_strings.c - see filter_strings.h.
//
// Layouts. Integers are little-endian. A `column` of k numbers is
//   u8 filter | u8 parameter | u32 length | `length` bytes
// as numbers_encode() packs them; with filter 0 the bytes are the numbers themselves.
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

#include "le.h"

enum {
  STRINGS_ITEMS = 1,
  STRINGS_DICTIONARY = 2,
  TYPE_CHAR = 9,        // low byte of a CHARSXP's flags
  ITEM_HEAD = 8,        // flags and length in the stream
  COLUMN_HEAD = 6,
  MAX_WORDS = 255,      // distinct flags words
  MAX_WIDTH = 254,      // character positions
  FRONT_CODED = 255,    // in place of a width
  MAX_FRONT = 255,      // bytes shared with the item before
  TILE = 32,            // items laid out together, so that a position's cache line fills at once
  SAMPLE_LEN = 16384,   // characters looked at to choose a width
  SAMPLE_MIN = 1024,    // fewer characters are not worth a look
  CODEC_BLOCK = 131072  // what a codec models with one table of symbols
};

static inline size_t char_count(int32_t len) { return len > 0 ? (size_t) len : 0; }

// How many of the first `max` bytes are the same.
static size_t same_bytes(const unsigned char *a, const unsigned char *b, size_t max) {
  size_t n = 0;
  for (; n + 8 <= max; n += 8) {
    uint64_t differ = le_load64(a + n) ^ le_load64(b + n);
    if (differ) return n + (size_t) __builtin_ctzll(differ) / 8;
  }
  while (n < max && a[n] == b[n]) n++;
  return n;
}

static size_t shared_front(const struct string_item *a, const struct string_item *b, size_t max) {
  size_t a_len = char_count(a->len), b_len = char_count(b->len);
  if (a_len < max) max = a_len;
  if (b_len < max) max = b_len;
  return same_bytes((const unsigned char *) a->chars, (const unsigned char *) b->chars, max);
}

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

static size_t column_bound(enum number_type type, size_t n) {
  return COLUMN_HEAD + max_size(numbers_bound(type, n), number_size(type) * n);
}

static void put_numbers(enum number_type type, const void *values, size_t n, unsigned char *out) {
  if (type == NUMBER_U8) {
    memcpy(out, values, n);
    return;
  }
  const uint32_t *words = values;
  for (size_t i = 0; i < n; i++) le_store32(out + 4 * i, words[i]);
}

static void get_numbers(enum number_type type, const unsigned char *in, size_t n, void *values) {
  if (type == NUMBER_U8) {
    memcpy(values, in, n);
    return;
  }
  uint32_t *words = values;
  for (size_t i = 0; i < n; i++) words[i] = le_load32(in + 4 * i);
}

// Returns the bytes written; adds to *dense those that a codec cannot make smaller.
static size_t put_column(enum number_type type, const void *values, size_t n, unsigned char *out,
                         void *scratch, size_t *dense) {
  struct packed p = {0};
  if (n) numbers_encode(type, values, n, out + COLUMN_HEAD, scratch, &p);
  if (p.filter == FILTER_NONE) {
    p.len = number_size(type) * n;
    if (n) put_numbers(type, values, n, out + COLUMN_HEAD);
  }
  out[0] = p.filter;
  out[1] = p.param;
  le_store32(out + 2, (uint32_t) p.len);
  if (p.hint == PACKED_DENSE) *dense += p.len;
  return COLUMN_HEAD + p.len;
}

// What is left of a block to be read.
struct input {
  const unsigned char *at;
  size_t left;
};

static const unsigned char *take(struct input *in, size_t n) {
  if (n > in->left) return NULL;
  const unsigned char *p = in->at;
  in->at += n;
  in->left -= n;
  return p;
}

static enum status get_column(struct input *in, enum number_type type, size_t n, void *values,
                              void *scratch) {
  const unsigned char *head = take(in, COLUMN_HEAD);
  if (!head) return ERR_CORRUPT;
  size_t len = le_load32(head + 2);
  const unsigned char *body = take(in, len);
  if (!body) return ERR_CORRUPT;
  if (head[0] != FILTER_NONE && n)
    return numbers_decode(head[0], head[1], type, body, len, n, values, scratch);
  if (head[0] != FILTER_NONE || len != number_size(type) * n) return ERR_CORRUPT;
  if (n) get_numbers(type, body, n, values);
  return OK;
}

// Where the next byte of each character position goes to or comes from; starts[width] is where
// the rest of the items begins.
struct positions {
  size_t width;
  size_t at[MAX_WIDTH + 1];
};

static void positions_start(struct positions *p, const struct string_item *items, size_t n,
                            size_t width) {
  size_t ending[MAX_WIDTH + 1] = {0};  // items of this length; the last: or longer
  for (size_t i = 0; i < n; i++) {
    size_t len = char_count(items[i].len);
    ending[len < width ? len : width]++;
  }
  p->width = width;
  p->at[0] = 0;
  for (size_t j = 0, longer = n; j < width; j++) {
    longer -= ending[j];
    p->at[j + 1] = p->at[j] + longer;
  }
}

static inline size_t width_of(const struct positions *p, const struct string_item *item) {
  size_t len = char_count(item->len);
  return len < p->width ? len : p->width;
}

// The positions that all items of a tile have, if they are at least eight.
static size_t shared_width(const struct positions *p, const struct string_item *items) {
  size_t shared = p->width;
  for (size_t k = 0; k < TILE; k++) {
    size_t w = width_of(p, &items[k]);
    if (w < shared) shared = w;
  }
  return shared < 8 ? 0 : shared;
}

// Swaps the bits of b under the mask with those of a that are `shift` places higher.
static inline void swap_bits(uint64_t *a, uint64_t *b, int shift, uint64_t mask) {
  uint64_t t = (*a >> shift ^ *b) & mask;
  *b ^= t;
  *a ^= t << shift;
}

struct square {
  uint64_t a, b, c, d, e, f, g, h;
};

// Byte k of row i becomes byte i of row k. Written out, so that the rows stay in registers.
static inline struct square transpose(struct square s) {
  swap_bits(&s.a, &s.e, 32, 0x00000000FFFFFFFF);
  swap_bits(&s.b, &s.f, 32, 0x00000000FFFFFFFF);
  swap_bits(&s.c, &s.g, 32, 0x00000000FFFFFFFF);
  swap_bits(&s.d, &s.h, 32, 0x00000000FFFFFFFF);
  swap_bits(&s.a, &s.c, 16, 0x0000FFFF0000FFFF);
  swap_bits(&s.b, &s.d, 16, 0x0000FFFF0000FFFF);
  swap_bits(&s.e, &s.g, 16, 0x0000FFFF0000FFFF);
  swap_bits(&s.f, &s.h, 16, 0x0000FFFF0000FFFF);
  swap_bits(&s.a, &s.b, 8, 0x00FF00FF00FF00FF);
  swap_bits(&s.c, &s.d, 8, 0x00FF00FF00FF00FF);
  swap_bits(&s.e, &s.f, 8, 0x00FF00FF00FF00FF);
  swap_bits(&s.g, &s.h, 8, 0x00FF00FF00FF00FF);
  return s;
}

static inline uint64_t load_chars(const struct string_item *item, size_t j) {
  return le_load64((const unsigned char *) item->chars + j);
}

// Positions j to j + 7 of a tile, eight items at a time.
static void put_squares(const struct string_item *items, size_t j, const struct positions *p,
                        unsigned char *out) {
  const size_t *at = p->at + j;
  for (const struct string_item *end = items + TILE; items < end; items += 8, out += 8) {
    struct square s = {load_chars(items, j),     load_chars(items + 1, j),
                       load_chars(items + 2, j), load_chars(items + 3, j),
                       load_chars(items + 4, j), load_chars(items + 5, j),
                       load_chars(items + 6, j), load_chars(items + 7, j)};
    s = transpose(s);
    le_store64(out + at[0], s.a);
    le_store64(out + at[1], s.b);
    le_store64(out + at[2], s.c);
    le_store64(out + at[3], s.d);
    le_store64(out + at[4], s.e);
    le_store64(out + at[5], s.f);
    le_store64(out + at[6], s.g);
    le_store64(out + at[7], s.h);
  }
}

static void get_squares(const unsigned char *in, const struct positions *p, size_t j,
                        unsigned char *const chars[TILE]) {
  const size_t *at = p->at + j;
  for (size_t i = 0; i < TILE; i += 8, in += 8) {
    struct square s = {le_load64(in + at[0]), le_load64(in + at[1]), le_load64(in + at[2]),
                       le_load64(in + at[3]), le_load64(in + at[4]), le_load64(in + at[5]),
                       le_load64(in + at[6]), le_load64(in + at[7])};
    s = transpose(s);
    le_store64(chars[i] + j, s.a);
    le_store64(chars[i + 1] + j, s.b);
    le_store64(chars[i + 2] + j, s.c);
    le_store64(chars[i + 3] + j, s.d);
    le_store64(chars[i + 4] + j, s.e);
    le_store64(chars[i + 5] + j, s.f);
    le_store64(chars[i + 6] + j, s.g);
    le_store64(chars[i + 7] + j, s.h);
  }
}

// Squares cover `shared` positions; the last may overlap the one before it.
static inline size_t next_square(size_t j, size_t shared) {
  return j + 16 <= shared || j + 8 == shared ? j + 8 : shared - 8;
}

static void put_rest(const struct string_item *item, size_t from, struct positions *p,
                     unsigned char *out) {
  size_t w = width_of(p, item);
  size_t len = char_count(item->len);
  for (size_t j = from; j < w; j++) out[p->at[j]++] = (unsigned char) item->chars[j];
  if (len <= p->width) return;
  memcpy(out + p->at[p->width], item->chars + p->width, len - p->width);
  p->at[p->width] += len - p->width;
}

static void put_chars(const struct string_item *items, size_t n, size_t width,
                      unsigned char *out) {
  struct positions p;
  positions_start(&p, items, n, width);
  size_t i = 0;
  for (; width >= 8 && i + TILE <= n; i += TILE) {
    size_t shared = shared_width(&p, items + i);
    for (size_t j = 0; j < shared; j = next_square(j, shared)) put_squares(items + i, j, &p, out);
    for (size_t j = 0; j < shared; j++) p.at[j] += TILE;
    for (size_t k = i; k < i + TILE; k++) put_rest(&items[k], shared, &p, out);
  }
  for (; i < n; i++) put_rest(&items[i], 0, &p, out);
}

static void get_rest(const unsigned char *in, struct positions *p, const struct string_item *item,
                     size_t from, unsigned char *chars) {
  size_t w = width_of(p, item);
  size_t len = char_count(item->len);
  for (size_t j = from; j < w; j++) chars[j] = in[p->at[j]++];
  if (len <= p->width) return;
  memcpy(chars + p->width, in + p->at[p->width], len - p->width);
  p->at[p->width] += len - p->width;
}

// Undoes put_chars(): the characters of all items, one after the other.
static void get_chars(const unsigned char *in, size_t width, const struct string_item *items,
                      size_t n, unsigned char *out) {
  struct positions p;
  positions_start(&p, items, n, width);
  size_t i = 0;
  for (; width >= 8 && i + TILE <= n; i += TILE) {
    unsigned char *chars[TILE];
    for (size_t k = 0; k < TILE; k++) {
      chars[k] = out;
      out += char_count(items[i + k].len);
    }
    size_t shared = shared_width(&p, items + i);
    for (size_t j = 0; j < shared; j = next_square(j, shared)) get_squares(in, &p, j, chars);
    for (size_t j = 0; j < shared; j++) p.at[j] += TILE;
    for (size_t k = 0; k < TILE; k++) get_rest(in, &p, &items[i + k], shared, chars[k]);
  }
  for (; i < n; i++) {
    get_rest(in, &p, &items[i], 0, out);
    out += char_count(items[i].len);
  }
}

// Finds what each item shares with the one before it; returns the sum.
static size_t find_fronts(const struct string_item *items, size_t n, uint8_t *fronts) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    size_t front = i ? shared_front(&items[i - 1], &items[i], MAX_FRONT) : 0;
    fronts[i] = (uint8_t) front;
    sum += front;
  }
  return sum;
}

static void put_backs(const struct string_item *items, size_t n, const uint8_t *fronts,
                      unsigned char *out) {
  for (size_t i = 0; i < n; i++) {
    size_t back = char_count(items[i].len) - fronts[i];
    if (back) memcpy(out, items[i].chars + fronts[i], back);
    out += back;
  }
}

// Undoes put_backs(), with fronts that fit.
static void get_backs(const unsigned char *in, const uint8_t *fronts,
                      const struct string_item *items, size_t n, unsigned char *out) {
  const unsigned char *before = out;
  for (size_t i = 0; i < n; i++) {
    size_t len = char_count(items[i].len);
    memcpy(out, before, fronts[i]);
    memcpy(out + fronts[i], in, len - fronts[i]);
    in += len - fronts[i];
    before = out;
    out += len;
  }
}

// False if an item shares more than it or the one before it has.
static bool sum_fronts(const uint8_t *fronts, const struct string_item *items, size_t n,
                       size_t *sum) {
  size_t before = 0;
  *sum = 0;
  for (size_t i = 0; i < n; i++) {
    size_t len = char_count(items[i].len);
    if (fronts[i] > before || fronts[i] > len) return false;
    *sum += fronts[i];
    before = len;
  }
  return true;
}

// Choosing a layout: a run of items is laid out in each way that is worth a thought and what a
// codec would make of it is estimated: matches by a greedy search, the rest by its entropy.
// Integers only, so that every machine chooses alike.

// 256 * log2(x), within 0.09 * 256.
static uint32_t log2_256(uint32_t x) {
  uint32_t whole = 31 - (uint32_t) __builtin_clz(x);
  uint32_t fraction = (uint32_t) (((uint64_t) x << 8 >> whole) & 0xFF);
  return whole << 8 | fraction;
}

// Bits that an entropy code takes for these counts, with its table; clears them.
static uint64_t entropy_bits(uint32_t counts[256]) {
  uint32_t total = 0;
  uint64_t sum = 0;
  for (int i = 0; i < 256; i++) {
    if (counts[i] == 0) continue;
    total += counts[i];
    sum += (uint64_t) counts[i] * log2_256(counts[i]);
    counts[i] = 0;
  }
  return total ? ((uint64_t) total * log2_256(total) - sum) >> 8 : 0;
}

// `segment` bytes share a table of symbols.
static uint64_t packed_bits(const unsigned char *in, size_t len, size_t segment) {
  enum { HASH_BITS = 11, MIN_MATCH = 5, MATCH_BITS = 12 };
  uint16_t seen[1 << HASH_BITS] = {0};  // position of such bytes + 1
  uint32_t counts[256] = {0};
  uint64_t bits = 0;
  size_t next = segment;
  for (size_t i = 0; i < len;) {
    size_t match = 0;
    if (i + 8 <= len) {
      uint16_t *slot = &seen[(le_load64(in + i) << 24) * 0x9E3779B97F4A7C15u >> (64 - HASH_BITS)];
      if (*slot) {
        size_t distance = i + 1 - *slot;
        match = same_bytes(in + i - distance, in + i, len - i);
        if (match >= MIN_MATCH) bits += MATCH_BITS + (log2_256((uint32_t) distance) >> 8);
      }
      *slot = (uint16_t) (i + 1);
    }
    if (match < MIN_MATCH) {
      counts[in[i]]++;
      match = 1;
    }
    i += match;
    if (i < next) continue;
    bits += entropy_bits(counts);
    next = i + segment;
  }
  return bits + entropy_bits(counts);
}

struct sample {
  const struct string_item *items;
  size_t n;
  size_t len;      // characters
  size_t longest;
  size_t prefix;   // characters that all start with
};

// Items in a row from the middle, or all if they are few. NA and "" have no say in the prefix.
static struct sample sample_take(const struct string_item *items, size_t n, size_t total) {
  struct sample s = {items + (total > SAMPLE_LEN ? n / 2 : 0), 0, 0, 0, MAX_WIDTH};
  const struct string_item *first = NULL;
  for (const struct string_item *item = s.items; item < items + n; item++) {
    size_t len = char_count(item->len);
    if (s.len + len > SAMPLE_LEN) break;
    s.n++;
    s.len += len;
    if (len > s.longest) s.longest = len;
    if (len == 0) continue;
    if (!first) first = item;
    s.prefix = shared_front(first, item, s.prefix);
  }
  return s;
}

static uint64_t width_bits(const struct sample *s, size_t width, size_t segment,
                           unsigned char *scratch) {
  put_chars(s->items, s->n, width, scratch);
  return packed_bits(scratch, s->len, segment);
}

// Front coding, or UINT64_MAX where neighbours share less than a byte more than all do.
static uint64_t front_bits(const struct sample *s, size_t segment, unsigned char *scratch) {
  if (s->n > s->len) return UINT64_MAX;
  size_t shared = find_fronts(s->items, s->n, scratch);
  if (shared < s->n * (s->prefix + 1)) return UINT64_MAX;
  uint64_t bits = packed_bits(scratch, s->n, segment);
  unsigned char *backs = scratch + s->n;
  put_backs(s->items, s->n, scratch, backs);
  return bits + packed_bits(backs, s->len - shared, segment);
}

// The parameter that promises the least. A codec finds more matches in the whole than in the
// sample, which makes text look worse than it is: the layout by position must win clearly. Front
// coding is slow to undo, which must be worth some bits of every item.
static size_t choose_layout(const struct string_item *items, size_t n, size_t total,
                            unsigned char *scratch) {
  if (total < SAMPLE_MIN) return 0;
  struct sample s = sample_take(items, n, total);
  if (s.len < SAMPLE_MIN) return 0;
  size_t segment = (size_t) ((uint64_t) CODEC_BLOCK * s.len / total);
  size_t longest = s.longest < MAX_WIDTH ? s.longest : MAX_WIDTH;
  size_t layouts[4] = {0, s.prefix, longest, FRONT_CODED};
  uint64_t bits[4] = {width_bits(&s, 0, segment, scratch), UINT64_MAX,
                      width_bits(&s, longest, segment, scratch),
                      front_bits(&s, segment, scratch)};
  if (s.prefix) bits[1] = width_bits(&s, s.prefix, segment, scratch);
  if (longest > s.prefix) bits[2] += bits[2] / 8;
  if (bits[3] < UINT64_MAX) bits[3] += 3 * s.n;
  int best = 0;
  for (int i = 1; i < 4; i++) best = bits[i] < bits[best] ? i : best;
  return layouts[best];
}

// The parts of the caller's scratch.
struct work {
  void *column;         // 4 bytes an item
  void *numbers;        // for filter_numbers and the sample
  unsigned char *room;  // for a decoder's characters
};

static size_t numbers_room(size_t n) {
  size_t need = max_size(numbers_scratch(NUMBER_I32, n), numbers_scratch(NUMBER_U8, n));
  return align16(max_size(need, SAMPLE_LEN));
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
  return put_column(NUMBER_I32, lens, n, out, work.numbers, dense);
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
    out += put_column(NUMBER_U8, work.column, n, out, work.numbers, dense);
  } else if (n_words == 0) {
    uint32_t *flags = work.column;
    for (size_t i = 0; i < n; i++) flags[i] = items[i].flags;
    out += put_column(NUMBER_I32, flags, n, out, work.numbers, dense);
  }
  return (size_t) (out - start);
}

static size_t put_layout(const struct string_item *items, size_t n, size_t total, size_t layout,
                         unsigned char *out, struct work work, size_t *dense) {
  if (layout != FRONT_CODED) {
    put_chars(items, n, layout, out);
    return total;
  }
  size_t shared = find_fronts(items, n, work.column);
  size_t len = put_column(NUMBER_U8, work.column, n, out, work.numbers, dense);
  put_backs(items, n, work.column, out + len);
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
  const unsigned char *head = take(in, 1);
  if (!head) return ERR_CORRUPT;
  size_t n_words = *head;
  const unsigned char *words = take(in, 4 * n_words);
  if (!words) return ERR_CORRUPT;
  if (n_words == 1) {
    for (size_t i = 0; i < n; i++) items[i].flags = le_load32(words);
    return OK;
  }
  enum status st = get_column(in, n_words ? NUMBER_U8 : NUMBER_I32, n, work.column, work.numbers);
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
  enum status st = get_column(in, NUMBER_U8, n, work.column, work.numbers);
  if (st) return st;
  if (!sum_fronts(work.column, items, n, &shared)) return ERR_CORRUPT;
  const unsigned char *backs = take(in, total - shared);
  if (!backs) return ERR_CORRUPT;
  get_backs(backs, work.column, items, n, work.room);
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
    const unsigned char *packed = take(in, total);
    if (!packed) return ERR_CORRUPT;
    if (layout) get_chars(packed, layout, items, n, work.room);
    else chars = packed;
  }
  point_items(chars, items, n);
  return OK;
}

// Reads n items of at most max_chars characters, of which work.room has as many.
static enum status get_items(struct input *in, size_t layout, struct string_item *items, size_t n,
                             size_t max_chars, struct work work, size_t *total) {
  enum status st = get_column(in, NUMBER_I32, n, work.column, work.numbers);
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
  size_t layout = choose_layout(a->items, a->n_items, total, work.numbers);
  size_t dense = 0;
  unsigned char *at = out;
  if (a->codes) {
    le_store32(at, (uint32_t) a->n_items);
    at += 4;
  }
  at += put_items(a->items, a->n_items, total, layout, at, work, &dense);
  if (a->codes) at += put_column(NUMBER_I32, a->codes, a->n, at, work.numbers, &dense);
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
  const unsigned char *head = take(in, 4);
  if (!head || heads > raw_len) return ERR_CORRUPT;
  a->codes = codes;
  a->n_items = le_load32(head);
  if (a->n_items > a->n) return ERR_CORRUPT;
  enum status st = get_items(in, layout, items, a->n_items, raw_len - heads, work, &total);
  if (st) return st;
  st = get_column(in, NUMBER_I32, a->n, codes, work.numbers);
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
