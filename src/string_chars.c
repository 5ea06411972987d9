#include "string_chars.h"

#include <string.h>

#include "le.h"

enum { TILE = 32 };  // items laid out together, so that a position's cache line fills at once

size_t same_bytes(const unsigned char *a, const unsigned char *b, size_t max) {
  size_t n = 0;
  for (; n + 8 <= max; n += 8) {
    uint64_t differ = le_load64(a + n) ^ le_load64(b + n);
    if (differ) return n + (size_t) __builtin_ctzll(differ) / 8;
  }
  while (n < max && a[n] == b[n]) n++;
  return n;
}

size_t shared_front(const struct string_item *a, const struct string_item *b, size_t max) {
  size_t a_len = char_count(a->len), b_len = char_count(b->len);
  if (a_len < max) max = a_len;
  if (b_len < max) max = b_len;
  return same_bytes((const unsigned char *) a->chars, (const unsigned char *) b->chars, max);
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

void chars_put(const struct string_item *items, size_t n, size_t width,
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

void chars_get(const unsigned char *in, size_t width, const struct string_item *items,
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

size_t fronts_find(const struct string_item *items, size_t n, uint8_t *fronts) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    size_t front = i ? shared_front(&items[i - 1], &items[i], MAX_FRONT) : 0;
    fronts[i] = (uint8_t) front;
    sum += front;
  }
  return sum;
}

void backs_put(const struct string_item *items, size_t n, const uint8_t *fronts,
                      unsigned char *out) {
  for (size_t i = 0; i < n; i++) {
    size_t back = char_count(items[i].len) - fronts[i];
    if (back) memcpy(out, items[i].chars + fronts[i], back);
    out += back;
  }
}

void backs_get(const unsigned char *in, const uint8_t *fronts,
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

bool fronts_sum(const uint8_t *fronts, const struct string_item *items, size_t n,
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
