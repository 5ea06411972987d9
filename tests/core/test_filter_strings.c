// Tests of filter_strings.c: round trips by every layout, and packed bytes that were tampered with.
// one thread
#include "check.h"
#include "filter_strings.h"

enum { ASCII = 0x00040009, UTF8 = 0x00008009, LATIN1 = 0x00004009, NA_FLAGS = 9 };

// Strings under construction.
struct strings {
  struct string_item *items;
  uint32_t *codes;
  char *chars;
  size_t n_items, n, used;
};

static struct strings strings_new(size_t n_items, size_t n, size_t max_chars) {
  return (struct strings){make(n_items * sizeof(struct string_item)), n ? make(4 * n) : NULL,
                          make(max_chars), 0, n, 0};
}

static void strings_free(struct strings *s) {
  free(s->items);
  free(s->codes);
  free(s->chars);
}

static void add(struct strings *s, const char *chars, int32_t len, uint32_t flags) {
  char *at = s->chars + s->used;
  if (len > 0) {
    memcpy(at, chars, (size_t) len);
    s->used += (size_t) len;
  }
  s->items[s->n_items++] = (struct string_item){at, len, flags};
}

static void add_text(struct strings *s, const char *text) {
  add(s, text, (int32_t) strlen(text), ASCII);
}

static struct string_array array_of(const struct strings *s) {
  if (!s->codes) return (struct string_array){s->items, s->n_items, NULL, s->n_items};
  return (struct string_array){s->items, s->n_items, s->codes, s->n};
}

// A packed block in memory of exactly its size.
struct block {
  unsigned char *bytes;
  struct packed packed;
  size_t count, raw_len;
};

static struct block encode(const struct string_array *a) {
  struct block b = {.count = a->n, .raw_len = strings_stream_len(a)};
  size_t bound = strings_bound(a);
  unsigned char *out = make(bound);
  void *scratch = make(strings_encode_scratch(a));
  strings_encode(a, out, scratch, &b.packed);
  check(b.packed.len <= bound, "strings_bound() is enough", b.packed.len);
  b.bytes = make_copy(out, b.packed.len);
  free(out);
  free(scratch);
  return b;
}

// Decodes into exact memory; with OK, *stream is the stream of what was decoded.
static enum status decode(const struct block *b, unsigned char **stream) {
  struct string_item *items = make(b->count * sizeof *items);
  uint32_t *codes = make(b->count * 4);
  void *scratch = make(strings_decode_scratch(b->count, b->raw_len));
  struct string_array a;
  enum status st = strings_decode(b->packed.filter, b->packed.param, b->bytes, b->packed.len,
                                  b->count, b->raw_len, items, codes, scratch, &a);
  if (st == OK) {
    size_t len = strings_stream_len(&a);
    check(len == b->raw_len && a.n == b->count, "decoded length is raw_len", len);
    *stream = make(len);
    strings_to_stream(&a, *stream);
  }
  free(items);
  free(codes);
  free(scratch);
  return st;
}

static bool decodes_to(const struct block *b, const unsigned char *stream) {
  unsigned char *got = NULL;
  if (decode(b, &got)) return false;
  bool same = same_bytes(got, stream, b->raw_len);
  free(got);
  return same;
}

// Whatever is decoded of tampered bytes, it must be strings and of the right length.
static void decode_tampered(const struct block *b) {
  unsigned char *got = NULL;
  enum status st = decode(b, &got);
  check(st == OK || st == ERR_CORRUPT || st == ERR_VERSION, "tampered bytes: a known status", st);
  free(got);
}

static void tamper(struct block b) {
  unsigned char *bytes = b.bytes;
  size_t len = b.packed.len;
  int rounds = b.count > 500 ? 8 : 40;
  for (int round = 0; round < rounds; round++) {
    b.packed.len = round % 4 == 3 ? random_below((uint32_t) len + 1) : len;
    b.bytes = make_copy(bytes, b.packed.len);
    for (uint32_t i = random_below(4); i < 4 && b.packed.len; i++) {
      size_t near = random_below(2) ? b.packed.len : b.packed.len < 64 ? b.packed.len : 64;
      b.bytes[random_below((uint32_t) near)] ^= (unsigned char) (1u << random_below(8));
    }
    decode_tampered(&b);
    free(b.bytes);
  }
  b.bytes = bytes;
  b.packed.len = len;
  for (int round = 0; round < rounds; round++) {
    b.packed.param = (uint8_t) random_below(256);
    decode_tampered(&b);
  }
}

static void round_trip(const struct strings *s, const char *what) {
  struct string_array a = array_of(s);
  struct block b = encode(&a);
  unsigned char *stream = make(b.raw_len);
  strings_to_stream(&a, stream);
  check(decodes_to(&b, stream), what, a.n);

  struct block again = encode(&a);
  check(again.packed.len == b.packed.len && again.packed.param == b.packed.param &&
          same_bytes(again.bytes, b.bytes, b.packed.len),
        "the same input gives the same bytes", a.n);
  free(again.bytes);

  struct block raw = {stream, {.len = b.raw_len}, b.count, b.raw_len};
  check(decodes_to(&raw, stream), "the raw stream decodes", a.n);
  tamper(raw);

  unsigned char *got = NULL;
  b.raw_len++;
  check(decode(&b, &got) == ERR_CORRUPT, "a raw_len too large is corrupt", a.n);
  b.raw_len -= 2;
  if (a.n) check(decode(&b, &got) == ERR_CORRUPT, "a raw_len too small is corrupt", a.n);
  b.raw_len++;
  tamper(b);
  free(stream);
  free(b.bytes);
}

// The kinds of text whose best layouts differ.
static int make_text(int kind, size_t i, char *text) {
  static const char *const words[] = {"red",   "green", "blue", "a",
                                      "quick", "brown", "fox",  "jumps"};
  switch (kind) {
    case 0: return sprintf(text, "id_%07u", random_below(10000000));
    case 1: return sprintf(text, "user_%zu", i);
    case 2: return sprintf(text, "%08x%08x", random_below(1u << 31), random_below(1u << 31));
    case 3:
      return sprintf(text, "%s %s %s, %s", words[random_below(8)], words[random_below(8)],
                     words[random_below(8)], words[random_below(8)]);
    case 4:
      return sprintf(text, "https://www.example.com/%s/%s?%u", words[random_below(8)],
                     words[random_below(8)], random_below(1000));
    case 5: return sprintf(text, "%0*u", (int) random_below(300) + 1, random_below(1000));
    case 6: return sprintf(text, "%0300u", random_below(1u << 31));
    default: return sprintf(text, "%c", 'a' + (int) random_below(26));
  }
}

static void test_texts(void) {
  static const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 300, 3000};
  char text[400];
  for (int kind = 0; kind < 8; kind++) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      struct strings s = strings_new(counts[c], 0, counts[c] * 400);
      for (size_t i = 0; i < counts[c]; i++) add(&s, text, make_text(kind, i, text), ASCII);
      round_trip(&s, "texts of one kind");
      strings_free(&s);
    }
  }
}

static int compare_items(const void *a, const void *b) {
  const struct string_item *x = a, *y = b;
  int order = memcmp(x->chars, y->chars, (size_t) (x->len < y->len ? x->len : y->len));
  return order ? order : x->len - y->len;
}

static void test_sorted(void) {
  char text[400];
  struct strings s = strings_new(5001, 0, 5000 * 400);
  for (size_t i = 0; i < 5000; i++) {
    int len = sprintf(text, "/home/%u/mail/", random_below(30));
    len += make_text(i % 2 ? 3 : 4, i, text + len);
    add(&s, text, len, ASCII);
  }
  qsort(s.items, s.n_items, sizeof *s.items, compare_items);
  add(&s, NULL, -1, NA_FLAGS);
  struct string_array a = array_of(&s);
  struct block b = encode(&a);
  check(b.packed.param == 255, "sorted paths are front coded", b.packed.param);
  free(b.bytes);
  round_trip(&s, "sorted strings");
  for (size_t i = 0; i < 5000; i += 7) s.items[i].len = i % 2 ? 0 : -1;
  round_trip(&s, "sorted strings with gaps");
  for (size_t i = 1; i < 5000; i++) s.items[i] = s.items[i / 10 * 10 + 1];
  round_trip(&s, "runs of equal strings");
  strings_free(&s);
}

static void test_all_lengths(void) {
  char text[301];
  struct strings s = strings_new(8 * 301, 0, 8 * 301 * 301);
  for (int round = 0; round < 8; round++) {
    for (int len = 0; len <= 300; len++) {
      for (int j = 0; j < len; j++) text[j] = (char) random_below(round < 4 ? 4 : 256);
      add(&s, text, round % 2 ? len : 300 - len, ASCII);
    }
  }
  round_trip(&s, "all lengths from 0 to 300");
  strings_free(&s);
}

static void test_one_length(void) {
  char text[301];
  for (int len = 0; len <= 300; len++) {
    struct strings s = strings_new(37, 0, 37 * 301);
    for (int i = 0; i < 37; i++) {
      for (int j = 0; j < len; j++)
        text[j] = (char) ('0' + (j < len / 2 ? j % 10 : (int) random_below(10)));
      add(&s, text, len, ASCII);
    }
    round_trip(&s, "strings of one length");
    strings_free(&s);
  }
}

static void test_flags(void) {
  struct strings s = strings_new(4000, 0, 4000 * 8);
  for (int i = 0; i < 1000; i++) {
    add_text(&s, "text");
    add(&s, "text", 4, i % 3 ? UTF8 : LATIN1);
    add(&s, NULL, -1, NA_FLAGS);
    add(&s, "", 0, ASCII);
  }
  round_trip(&s, "several encodings, NA and empty strings");
  s.n_items = s.used = 0;
  for (uint32_t i = 0; i < 255; i++) add(&s, "ab", 2, i << 8 | 9);
  round_trip(&s, "255 flags words");
  for (uint32_t i = 255; i < 4000; i++) add(&s, "ab", 2, i << 20 | 9);
  round_trip(&s, "more than 255 flags words");
  s.n_items = s.used = 0;
  for (uint32_t i = 0; i < 100; i++) add(&s, NULL, -1, NA_FLAGS);
  round_trip(&s, "all NA");
  for (uint32_t i = 0; i < 100; i++) add(&s, NULL, -1, 0xABCDEF09);
  round_trip(&s, "NA with other flags");
  s.n_items = s.used = 0;
  for (uint32_t i = 0; i < 3000; i++) add_text(&s, "same");
  round_trip(&s, "all equal");
  s.n_items = s.used = 0;
  for (uint32_t i = 0; i < 3000; i++) add(&s, "", 0, ASCII);
  round_trip(&s, "all empty");
  strings_free(&s);
}

static void test_dictionary(size_t n_items, size_t n, int kind) {
  char text[32];
  struct strings s = strings_new(n_items, n, n_items * 32);
  for (size_t i = 0; i < n_items; i++) {
    if (i == 1) add(&s, NULL, -1, NA_FLAGS);
    else add(&s, text, sprintf(text, "item %zu", i * i), i % 5 ? ASCII : UTF8);
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t any = random_below((uint32_t) n_items);
    uint32_t skewed = random_below(10) ? 0 : any;
    s.codes[i] = i < n_items ? (uint32_t) i : kind == 0 ? any : kind == 1 ? skewed : s.codes[i - 1];
  }
  round_trip(&s, "a dictionary");
  strings_free(&s);
}

static void test_dictionaries(void) {
  for (int kind = 0; kind < 3; kind++) {
    for (size_t n_items = 1; n_items <= 2048; n_items *= 2) {
      test_dictionary(n_items, n_items, kind);
      test_dictionary(n_items, n_items + 1000, kind);
      if (n_items > 2) test_dictionary(n_items - 1, n_items * 2, kind);
      test_dictionary(n_items + 1, n_items * 2, kind);
    }
  }
  for (size_t n_items = 4096; n_items <= 65536; n_items *= 2)
    test_dictionary(n_items + 1, n_items + 1000, 0);
}

static enum status decode_bytes(uint8_t filter, const void *bytes, size_t len, size_t count,
                                size_t raw_len) {
  struct block b = {make_copy(bytes, len), {.filter = filter, .len = len}, count, raw_len};
  unsigned char *got = NULL;
  enum status st = decode(&b, &got);
  free(b.bytes);
  free(got);
  return st;
}

static void test_corrupt(void) {
  static const unsigned char plain[] = {0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255,
                                        1, 9, 0, 4, 0, 'x'};
  unsigned char b[sizeof plain];
  check(decode_bytes(1, plain, sizeof plain, 2, 17) == OK, "a block by hand", 0);
  check(decode_bytes(9, plain, sizeof plain, 2, 17) == ERR_VERSION, "an unknown filter", 0);
  for (size_t len = 0; len < sizeof plain; len++)
    check(decode_bytes(1, plain, len, 2, 17) == ERR_CORRUPT, "cut", len);
  memcpy(b, plain, sizeof b);
  b[10] = 254;
  check(decode_bytes(1, b, sizeof b, 2, 17) == ERR_CORRUPT, "a length of -2", 0);
  memcpy(b, plain, sizeof b);
  b[15] = 10;
  check(decode_bytes(1, b, sizeof b, 2, 17) == ERR_CORRUPT, "flags of another type", 0);
  memcpy(b, plain, sizeof b);
  b[6] = 2;
  check(decode_bytes(1, b, sizeof b, 2, 18) == ERR_CORRUPT, "more characters than there are", 0);
  b[9] = 127;
  check(decode_bytes(1, b, sizeof b, 2, 17) == ERR_CORRUPT, "a huge length", 0);
  check(decode_bytes(1, plain, sizeof plain, 2, 10) == ERR_CORRUPT, "raw_len below the heads", 0);

  static const unsigned char codes[] = {1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 9, 0, 4, 0,
                                        'x', 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  unsigned char c[sizeof codes];
  check(decode_bytes(2, codes, sizeof codes, 2, 18) == OK, "a dictionary by hand", 0);
  memcpy(c, codes, sizeof c);
  c[30] = 1;
  check(decode_bytes(2, c, sizeof c, 2, 18) == ERR_CORRUPT, "a code too large", 0);
  c[33] = 255;
  check(decode_bytes(2, c, sizeof c, 2, 18) == ERR_CORRUPT, "a negative code", 0);
  memcpy(c, codes, sizeof c);
  c[0] = 3;
  check(decode_bytes(2, c, sizeof c, 2, 18) == ERR_CORRUPT, "more items than strings", 0);
}

// What the layouts are for: ids of one width shrink to their digits' columns.
static void test_choice(void) {
  char text[400];
  struct strings s = strings_new(8000, 0, 8000 * 60);
  for (size_t i = 0; i < 8000; i++) add(&s, text, make_text(0, i, text), ASCII);
  struct string_array a = array_of(&s);
  struct block b = encode(&a);
  check(b.packed.param >= 3, "the prefix of ids is laid out by position", b.packed.param);
  check(b.packed.len < 8000 * 10 + 100, "lengths and flags of ids cost nothing", b.packed.len);
  free(b.bytes);
  s.n_items = s.used = 0;
  for (size_t i = 0; i < 8000; i++) add(&s, text, make_text(3, i, text), ASCII);
  a = array_of(&s);
  b = encode(&a);
  check(b.packed.param == 0, "text stays as it is", b.packed.param);
  free(b.bytes);
  strings_free(&s);
}

int main(void) {
  test_texts();
  test_sorted();
  test_all_lengths();
  test_one_length();
  test_flags();
  test_dictionaries();
  test_corrupt();
  test_choice();
  return checks_end();
}
