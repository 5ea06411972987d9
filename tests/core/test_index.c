// Tests of index.c and directory.c: there and back, every byte and cut of a small index, numbers
// that cannot be, and how large it is.
// one thread
// link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
#include "index.h"

#include <zstd.h>

#include "indexes.h"
#include "memory.h"

enum { MAX_RAW = 1 << 19 };

struct bytes {
  unsigned char *p;
  size_t len;
};

static struct bytes encoded(const struct index *x) {
  struct buffer out = {0};
  struct error e = {0};
  size_t len = 0;
  check(index_encode(x, &out, &len, &e) == OK && e.code == OK, "an index encodes", x->n_blocks);
  struct bytes b = {make_copy(out.p, len), len};
  buffer_close(&out);
  return b;
}

// Decodes an exact copy; what comes out must hold, and after a failure be nothing.
static enum status decode_within(struct index *x, const struct bytes *b, uint64_t end_at,
                                 uint64_t stream_len, uint32_t max_raw) {
  static const struct index nothing;
  struct error e = {0};
  unsigned char *exact = make_copy(b->p, b->len);
  *x = nothing;
  const enum status st = index_decode(x, exact, b->len, end_at, stream_len, max_raw, &e);
  check(st == e.code, "the error says what the status says", st);
  if (st == OK) {
    const struct sample s = {*x, end_at, stream_len};
    check(sample_holds(&s, max_raw), "what is decoded holds", b->len);
  } else {
    check(same_bytes(x, &nothing, sizeof(nothing)), "nothing is left of what is corrupt", st);
  }
  free(exact);
  return st;
}

static enum status decode(struct index *x, const struct bytes *b, uint64_t end_at,
                          uint64_t stream_len) {
  return decode_within(x, b, end_at, stream_len, MAX_RAW);
}

// ---- there and back -----------------------------------------------------------------------

static void check_find(const struct sample *s) {
  for (int i = 0; s->stream_len && i < 30; i++) {
    const uint64_t at = random_u64() % s->stream_len;
    size_t want = 0;
    while (index_block(&s->x, want)->stream_at + index_block(&s->x, want)->raw_len <= at) want++;
    check(index_find(&s->x, at) == want, "the block of a byte", at);
  }
  for (size_t i = 0; i < s->x.n_blocks; i += 1 + i / 10) {
    const struct index_block *b = index_block(&s->x, i);
    check(index_find(&s->x, b->stream_at) == i, "its first byte", i);
    check(index_find(&s->x, b->stream_at + b->raw_len - 1) == i, "its last byte", i);
  }
}

static void round_trip(size_t n_blocks, int n_parts, size_t meta_len) {
  struct sample s = sample_of(n_blocks, n_parts, meta_len, MAX_RAW);
  check(sample_holds(&s, MAX_RAW), "a sample holds", n_blocks);
  struct bytes b = encoded(&s.x);
  struct index back;
  check(decode(&back, &b, s.end_at, s.stream_len) == OK, "an index decodes", n_blocks);
  check(same_index(&back, &s.x), "and is the same", n_blocks);
  check_find(&s);
  index_close(&back);
  index_close(&back);
  check(decode(&back, &b, s.end_at + 1, s.stream_len) == ERR_CORRUPT, "another place", 0);
  check(decode(&back, &b, s.end_at, s.stream_len + 1) == ERR_CORRUPT, "a longer stream", 0);
  if (s.stream_len)
    check(decode(&back, &b, s.end_at, s.stream_len - 1) == ERR_CORRUPT, "a shorter stream", 0);
  free(b.p);
  index_close(&s.x);
}

static void test_round_trips(void) {
  static const size_t n_blocks[] = {0, 1, 2, 15, 16, 17, 1000, 65535, 65536, 65537, 200000};
  for (size_t i = 0; i < sizeof(n_blocks) / sizeof(*n_blocks); i++)
    for (int n_parts = -1; n_parts < 1000; n_parts = n_parts < 3 ? n_parts + 1 : 10 * n_parts)
      round_trip(n_blocks[i], n_parts, n_parts % 2 ? random_below(5000) : 0);
  for (int i = 0; i < 500; i++)
    round_trip(random_below(100), (int) random_below(60) - 1, random_below(20));
  round_trip(70000, 150000, INDEX_META_MAX);
}

static void test_limits(void) {
  struct sample s = sample_of(5, 3, 1, MAX_RAW);
  struct buffer out = {0};
  struct error e = {0};
  size_t len;
  s.x.meta_len = INDEX_META_MAX + 1;
  check(index_encode(&s.x, &out, &len, &e) == ERR_LIMIT && e.code == ERR_LIMIT, "meta", 0);
  s.x.meta_len = 1;
  const struct part p = {.type = 19};
  while (s.x.directory.n_elements <= DIRECTORY_MAX_PARTS)
    need(directory_add(&s.x.directory, &p, false));
  struct bytes b = encoded(&s.x);
  struct index back;
  check(decode(&back, &b, s.end_at, s.stream_len) == OK && !back.directory.known, "parts", 0);
  index_close(&back);
  index_close(&s.x);
  buffer_close(&out);
  free(b.p);
}

static void test_classes(void) {
  struct directory d = {0};
  char name[20];
  uint32_t number;
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = 1; i < DIRECTORY_MAX_CLASSES + 20; i++) {
      const int len = snprintf(name, sizeof(name), "class%u", i);
      check(directory_class(&d, name, (size_t) len, &number), "a class", i);
      check(number == (i <= DIRECTORY_MAX_CLASSES ? i : 0), "its number", number);
    }
  }
  check(directory_class(&d, "class1", 5, &number) && number == 0, "less than a name", number);
  check(d.classes.n == DIRECTORY_MAX_CLASSES, "each once", d.classes.n);
  directory_close(&d);
  directory_close(&d);
}

// ---- by the specification -----------------------------------------------------------------

// An index with three blocks and five parts as FORMAT.md has it, with columns of filter 0.
enum { HAND_BLOCKS = 3, HAND_PARTS = 5 };

struct hand {
  uint64_t n_blocks;
  uint32_t blocks[4][HAND_BLOCKS];
  uint32_t n_head, meta_len, known, flags, n_elements, n_attributes;
  uint32_t parts[10][HAND_PARTS];
  uint32_t n_classes, class_len, n_symbols, symbol_len;
};

enum { FLAGS, KIND, LENGTH, LENGTH_HIGH, GAP, GAP_HIGH, PAYLOAD, PAYLOAD_HIGH, REFS, TAG };

static const struct hand good = {
    .n_blocks = HAND_BLOCKS,
    .blocks = {{1 | 2 << 8, 2 | 1 << 8 | 4 << 16, 3 | 2 << 8 | 2 << 16},  // kind, codec, filter
               {100, 4000, 600},
               {90, 2000, 601},
               {0, 1000, 30}},
    .n_head = 23,
    .meta_len = 5,
    .known = 1,
    .flags = 787,
    .n_elements = 3,
    .n_attributes = 2,
    // list(<1000 integers>, NULL, <30 strings of 270 bytes>), two attributes, and 10 bytes behind
    .parts = {{13, 254, 16, 16, 13},
              {13 | 1 << 8, 0, 16, 16, 13 | 2 << 8},
              {1000, 0, 30, 3, 1},
              {0},
              {92, 0, 0, 8, 12},
              {0},
              {1, 0, 31, 4, 0},
              {0},
              {0, 0, 0, 0, 1},
              {0, 0, 0, 1, 2}},
    .n_classes = 2,
    .class_len = 7,
    .n_symbols = 2,
    .symbol_len = 5};

static const uint64_t HAND_END = 32 + 3 * 32 + 90 + 2000 + 601, HAND_STREAM = 4700;

static void add(struct bytes *b, const void *p, size_t n) {
  need((b->p = realloc(b->p, b->len + n + 1)) != NULL);
  memcpy(b->p + b->len, p, n);
  b->len += n;
}

static void add_u32(struct bytes *b, uint32_t v) {
  unsigned char p[4];
  store_u32(p, v);
  add(b, p, 4);
}

static void add_column(struct bytes *b, const uint32_t *values, uint32_t n) {
  add(b, "\0", 2);
  add_u32(b, 4 * n);
  add(b, values, 4 * n);
}

static void add_items(struct bytes *b, uint32_t n, uint32_t len) {
  add_u32(b, n);
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t head[] = {9, len};
    add(b, head, 8);
    add(b, "abcdefghij", len < 10 ? len : 10);
  }
}

static struct bytes hand_bytes(const struct hand *h) {
  struct bytes b = {0};
  unsigned char p[16];
  const unsigned char n_head = (unsigned char) h->n_head, known = (unsigned char) h->known;
  store_u64(p, 0x1122334455667788);
  store_u64(p + 8, h->n_blocks);
  add(&b, p, 16);
  for (int i = 0; i < 4; i++) add_column(&b, h->blocks[i], HAND_BLOCKS);
  add(&b, &n_head, 1);
  add(&b, "head of the stream of R", 23);
  add_u32(&b, h->meta_len);
  add(&b, "metas", 5);
  add(&b, &known, 1);
  add_u32(&b, h->flags);
  add_u32(&b, h->n_elements);
  add_u32(&b, h->n_attributes);
  for (int i = 0; i < 10; i++) add_column(&b, h->parts[i], HAND_PARTS);
  add_items(&b, h->n_classes, h->class_len);
  add_items(&b, h->n_symbols, h->symbol_len);
  return b;
}

static void test_hand(void) {
  struct bytes b = hand_bytes(&good), same;
  struct index x;
  check(decode(&x, &b, HAND_END, HAND_STREAM) == OK, "made by hand", 0);
  if (x.n_blocks != HAND_BLOCKS) return;
  const struct index_block last = {2186, 4100, 600, 601, 30, 3, 2, 2};
  check(same_block(index_block(&x, 2), &last), "its last block", index_block(&x, 2)->at);
  const struct part parts[] = {{13, 13, 1000, 92, 4000, 0, 0, 1},
                               {254, 0, 0, 4100, 0, 0, 0, 0},
                               {16, 16, 30, 4104, 270, 0, 0, 0},
                               {16, 16, 3, 4390, 27, 0, 1, 0},
                               {13, 13, 1, 4437, 0, 1, 2, 2}};
  for (size_t i = 0; i < HAND_PARTS; i++)
    check(same_part(directory_part(&x.directory, i), &parts[i]), "its parts", i);
  check(x.chain == 0x1122334455667788 && x.n_head == 23 && x.meta_len == 5 &&
            same_bytes(x.meta.p, "metas", 5) && x.directory.flags == 787 &&
            x.directory.n_elements == 3 && x.directory.n_attributes == 2 &&
            x.directory.classes.n == 2 && x.directory.symbols.n == 2,
        "and the rest", 0);
  same = encoded(&x);  // so few numbers are left as they are
  check(same.len == b.len && same_bytes(same.p, b.p, b.len), "encodes to the same", same.len);
  free(same.p);
  free(b.p);
  index_close(&x);
}

// ---- numbers that cannot be ---------------------------------------------------------------

// `h` with another number in one place.
static void expect(struct hand *h, uint32_t *place, uint32_t v, enum status want,
                   const char *what) {
  const uint32_t was = *place;
  struct index x;
  *place = v;
  struct bytes b = hand_bytes(h);
  const enum status st = decode(&x, &b, HAND_END, HAND_STREAM);
  check(st == want, what, v);
  index_close(&x);
  free(b.p);
  *place = was;
}

static void test_hostile_blocks(void) {
  struct hand h = good;
  for (uint32_t kind = 0; kind < 256; kind++)
    expect(&h, &h.blocks[0][0], kind, kind == 1 || kind == 3 ? OK : ERR_CORRUPT, "kind");
  expect(&h, &h.blocks[0][0], 1 | 1 << 24, ERR_CORRUPT, "more than kind, codec and filter");
  expect(&h, &h.blocks[1][0], 101, ERR_CORRUPT, "raw length");
  expect(&h, &h.blocks[1][0], 0xFFFFFFFF, ERR_CORRUPT, "raw length");
  expect(&h, &h.blocks[2][0], 91, ERR_CORRUPT, "stored length");
  expect(&h, &h.blocks[2][2], 600, ERR_CORRUPT, "stored length");
  expect(&h, &h.blocks[2][2], 0xFFFFFFFF, ERR_CORRUPT, "stored length");
  expect(&h, &h.blocks[3][0], 100, OK, "count");
  expect(&h, &h.blocks[3][0], 101, ERR_CORRUPT, "count");
  static const uint32_t counts[] = {0, 1, 250, 499, 500, 501, 1000, 2000, 4000, 0x80000000};
  for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
    const uint32_t n = counts[i];
    const bool fits = n == 500 || n == 1000 || n == 4000;
    expect(&h, &h.blocks[3][1], n, fits ? OK : ERR_CORRUPT, "count of numbers");
  }
  static const uint64_t numbers[] = {0, 2, 4, 87, 88, 1 << 20, (uint64_t) 1 << 59, UINT64_MAX};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
    h.n_blocks = numbers[i];
    expect(&h, &h.flags, 787, ERR_CORRUPT, "number of blocks");
  }
}

static void test_hostile_rest(void) {
  struct hand h = good;
  expect(&h, &h.n_head, 22, ERR_CORRUPT, "head");
  expect(&h, &h.n_head, 129, ERR_CORRUPT, "head");
  expect(&h, &h.n_head, 255, ERR_CORRUPT, "head");
  expect(&h, &h.meta_len, 4, ERR_CORRUPT, "meta");
  expect(&h, &h.meta_len, 0xFFFFFFFF, ERR_CORRUPT, "meta");
  expect(&h, &h.known, 0, ERR_CORRUPT, "what is left over");
  expect(&h, &h.known, 2, ERR_CORRUPT, "known");
  expect(&h, &h.n_elements, 2, ERR_CORRUPT, "elements");
  expect(&h, &h.n_elements, 0xFFFFFFFF, ERR_CORRUPT, "elements");
  expect(&h, &h.n_attributes, 0xFFFFFFFF, ERR_CORRUPT, "attributes");
  expect(&h, &h.n_classes, 1, ERR_CORRUPT, "classes");
  expect(&h, &h.n_classes, 65, ERR_CORRUPT, "classes");
  expect(&h, &h.class_len, 6, OK, "a shorter class");
  expect(&h, &h.class_len, 1000, ERR_CORRUPT, "a longer class");
  expect(&h, &h.n_symbols, 3, ERR_CORRUPT, "symbols");
  expect(&h, &h.n_symbols, 0xFFFFFFFF, ERR_CORRUPT, "symbols");
  expect(&h, &h.symbol_len, 0xFFFFFFFF, ERR_CORRUPT, "a symbol's length");
  expect(&h, &h.symbol_len, 0, OK, "no symbol");
}

// Type, length and payload of the first part.
static void expect_payload(struct hand *h, uint32_t type, uint32_t payload, enum status want) {
  h->parts[KIND][0] = type;
  expect(h, &h->parts[PAYLOAD][0], payload, want, "payload");
}

static void test_hostile_payloads(void) {
  static const uint32_t sizes[] = {[10] = 4, [13] = 4, [14] = 8, [15] = 16, [16] = 8, [24] = 1};
  for (uint32_t type = 0; type < 256; type++) {
    struct hand h = good;
    const uint32_t size = type < 25 ? sizes[type] : 0;
    // as many elements as the four thousand bytes take: then another is one too many
    h.parts[LENGTH][0] = size ? 4000 / size : 4000;
    expect_payload(&h, type, 0, type <= 25 ? OK : ERR_CORRUPT);
    expect_payload(&h, type, 1, size ? OK : ERR_CORRUPT);
    expect_payload(&h, type, 2, type == 16 ? OK : ERR_CORRUPT);
    expect_payload(&h, type, 0xFFFFFFFF, ERR_CORRUPT);
    h.parts[LENGTH][0] = 0xFFFFFFFF;
    expect_payload(&h, type, 1, ERR_CORRUPT);
    expect_payload(&h, type, 0, type <= 25 ? OK : ERR_CORRUPT);
    h.parts[LENGTH_HIGH][0] = 1 << 20;
    h.parts[LENGTH][0] = 0;
    expect_payload(&h, type, 0, type <= 25 ? OK : ERR_CORRUPT);
    expect_payload(&h, type, 1, ERR_CORRUPT);
    h.parts[LENGTH][0] = 1;  // more than R has
    expect_payload(&h, type, 0, ERR_CORRUPT);
    h.parts[PAYLOAD_HIGH][0] = h.parts[LENGTH_HIGH][0] = 0xFFFFFFFF;
    expect_payload(&h, type, 0xFFFFFFFF, ERR_CORRUPT);
  }
}

static void test_hostile_parts(void) {
  struct hand h = good;
  // The last part begins at 4437 of 4700, and has four bytes at least.
  expect(&h, &h.parts[GAP][4], 12 + 4696 - 4437, OK, "the last place");
  expect(&h, &h.parts[GAP][4], 12 + 4697 - 4437, ERR_CORRUPT, "a place behind the stream");
  expect(&h, &h.parts[GAP][0], 0xFFFFFFFF, ERR_CORRUPT, "place");
  for (int i = 0; i < HAND_PARTS; i++)
    expect(&h, &h.parts[GAP_HIGH][i], 0xFFFFFFFF, ERR_CORRUPT, "place");
  h.parts[PAYLOAD][4] = 1;
  expect(&h, &h.parts[GAP][4], 12 + 4688 - 4437, OK, "the last place with a payload");
  expect(&h, &h.parts[GAP][4], 12 + 4689 - 4437, ERR_CORRUPT, "a payload behind the stream");
  h = good;
  expect(&h, &h.parts[PAYLOAD_HIGH][3], 0xFFFFFFFF, ERR_CORRUPT, "payload");
  expect(&h, &h.parts[PAYLOAD][3], 4 + 200, OK, "characters");
  expect(&h, &h.parts[PAYLOAD][3], 4 + 260, ERR_CORRUPT, "characters behind the stream");
  expect(&h, &h.parts[REFS][4], 2, OK, "references");
  expect(&h, &h.parts[REFS][4], 3, ERR_CORRUPT, "references that are not there");
  expect(&h, &h.parts[REFS][2], 1, ERR_CORRUPT, "fewer references than before");
  expect(&h, &h.parts[TAG][0], 1, ERR_CORRUPT, "an element's tag");
  expect(&h, &h.parts[TAG][3], 0, ERR_CORRUPT, "an attribute without a tag");
  expect(&h, &h.parts[TAG][4], 3, ERR_CORRUPT, "a tag that is no symbol");
  expect(&h, &h.parts[KIND][0], 13 | 2 << 8, OK, "class");
  expect(&h, &h.parts[KIND][0], 13 | 3 << 8, ERR_CORRUPT, "a class that is not there");
  expect(&h, &h.parts[KIND][0], 13 | 0xFFFFFFu << 8, ERR_CORRUPT, "a class that is not there");
}

// What an index of one block, with `h`'s lengths, and no more comes to.
static enum status with_block(struct block_header h, uint32_t max_raw) {
  struct index x = {0}, back;
  need(index_add_block(&x, &h));
  struct bytes b = encoded(&x);
  const enum status st =
      decode_within(&back, &b, FILE_HEADER_LEN + 32 + h.stored_len, h.raw_len, max_raw);
  index_close(&back);
  index_close(&x);
  free(b.p);
  return st;
}

static void test_bounds(void) {
  struct block_header h = {.kind = BLOCK_BYTES, .raw_len = 4000};
  check(with_block(h, 4000) == OK, "a raw block as large as may be", 0);
  check(with_block(h, 3999) == ERR_CORRUPT, "a larger one", 0);
  h.stored_len = (uint32_t) max_packed_len(4000);
  check(with_block(h, 4000) == OK, "a stored block as large as may be", 0);
  h.stored_len++;
  check(with_block(h, 4000) == ERR_CORRUPT, "a larger one", 0);
  h = (struct block_header){.kind = BLOCK_STRINGS};
  check(with_block(h, 4000) == OK, "strings of no bytes", 0);
  h.kind = BLOCK_NUMBERS;
  check(with_block(h, 4000) == ERR_CORRUPT, "no numbers", 0);

  struct sample s = sample_of(0, -1, 0, MAX_RAW);
  struct index back;
  s.x.n_head = 1;
  struct bytes b = encoded(&s.x);
  check(decode(&back, &b, FILE_HEADER_LEN, 0) == ERR_CORRUPT, "a head of no stream", 0);
  free(b.p);
  s.x.n_head = 0;
  b = encoded(&s.x);
  for (uint32_t n = INDEX_META_MAX; n <= INDEX_META_MAX + 1; n++) {
    struct bytes with_meta = {calloc(1, b.len + n), b.len + n};
    memcpy(with_meta.p, b.p, 17);
    store_u32(with_meta.p + 17, n);
    check(decode(&back, &with_meta, FILE_HEADER_LEN, 0) == (n > INDEX_META_MAX ? ERR_CORRUPT : OK),
          "metadata", n);
    index_close(&back);
    free(with_meta.p);
  }
  free(b.p);
  s.x.directory.known = true;
  sample_items(&s.x.directory.classes, 65);
  b = encoded(&s.x);
  check(decode(&back, &b, FILE_HEADER_LEN, 0) == ERR_CORRUPT, "too many classes", 0);
  free(b.p);
  index_close(&s.x);
}

// A few bytes that claim much: columns of one number.
static void test_claims(void) {
  struct bytes b = {0};
  struct index x;
  unsigned char p[16];
  store_u64(p, 1);
  store_u64(p + 8, (uint64_t) 1 << 40);
  add(&b, p, 16);
  memory_count();
  check(decode(&x, &b, 1 << 20, 1 << 20) == ERR_CORRUPT, "blocks that do not fit", 0);
  check(memory.peak < 1 << 12, "cost nothing", (uint64_t) memory.peak);
  free(b.p);
  struct hand h = good;
  h.n_elements = 1 << 19;
  b = hand_bytes(&h);
  memory_count();
  check(decode(&x, &b, HAND_END, HAND_STREAM) == ERR_CORRUPT, "parts that do not fit", 0);
  check(memory.peak < 1 << 14, "cost nothing", (uint64_t) memory.peak);
  free(b.p);
}

// ---- damage -------------------------------------------------------------------------------

static void test_damage(void) {
  for (uint32_t round = 0; round < 6; round++) {
    struct sample s = sample_of(round * 10, (int) round * 8 - 1, round % 2 * 5, MAX_RAW);
    struct bytes b = encoded(&s.x);
    struct index x;
    for (size_t i = 0; i < 8 * b.len; i++) {
      b.p[i / 8] ^= (unsigned char) (1 << i % 8);
      const enum status st = decode(&x, &b, s.end_at, s.stream_len);
      check(st == OK || st == ERR_CORRUPT, "a flipped bit", i);
      index_close(&x);
      b.p[i / 8] ^= (unsigned char) (1 << i % 8);
    }
    for (size_t i = 0; i < b.len; i++) {
      const unsigned char was = b.p[i];
      b.p[i] = (unsigned char) random_u32();
      const enum status st = decode(&x, &b, s.end_at, s.stream_len);
      check(st == OK || st == ERR_CORRUPT, "another byte", i);
      index_close(&x);
      b.p[i] = was;
      struct bytes cut = {b.p, i};
      check(decode(&x, &cut, s.end_at, s.stream_len) == ERR_CORRUPT, "a cut", i);
    }
    add(&b, "", 1);
    check(decode(&x, &b, s.end_at, s.stream_len) == ERR_CORRUPT, "a byte left over", round);
    free(b.p);
    index_close(&s.x);
  }
}

// ---- memory that runs out -----------------------------------------------------------------

static enum status there_and_back(const struct sample *s) {
  struct buffer out = {0};
  struct error e = {0};
  struct index x = {0};
  size_t len;
  enum status st = index_encode(&s->x, &out, &len, &e);
  if (st == OK) st = index_decode(&x, out.p, len, s->end_at, s->stream_len, MAX_RAW, &e);
  check(st == e.code, "the error says what the status says", st);
  if (st == OK) check(same_index(&x, &s->x), "there and back", 0);
  index_close(&x);
  buffer_close(&out);
  return st;
}

static bool build(struct index *x) {
  struct directory *d = &x->directory;
  const struct block_header h = {.kind = BLOCK_BYTES};
  const struct part p = {.type = 19};
  uint32_t number;
  return index_add_block(x, &h) && directory_add(d, &p, false) &&
         directory_class(d, "a", 1, &number) && item_list_add(&d->symbols, 9, "b", 1);
}

static void test_memory(void) {
  struct sample s = sample_of(100, 20, 10, MAX_RAW);
  enum status st = ERR_NOMEM;
  long nth;
  for (nth = 1; st == ERR_NOMEM && nth < 100; nth++) {
    memory_fail(nth, nth % 2);
    st = there_and_back(&s);
    check(st == (memory.n_refused ? ERR_NOMEM : OK), "memory runs out", (uint64_t) nth);
    memory_fail(0, false);
  }
  check(st == OK && nth > 10, "there is enough in the end", (uint64_t) nth);
  bool built = false;
  for (nth = 1; !built && nth < 20; nth++) {
    struct index x = {0};
    memory_fail(nth, true);
    built = build(&x);
    check(built == !memory.n_refused, "memory runs out while it is built", (uint64_t) nth);
    memory_fail(0, false);
    index_close(&x);
  }
  check(nth == 6, "each step asks once", (uint64_t) nth);
  index_close(&s.x);
}

// ---- size ---------------------------------------------------------------------------------

static size_t size_after_zstd(const struct bytes *b) {
  const size_t cap = ZSTD_compressBound(b->len);
  unsigned char *z = make(cap);
  const size_t n = ZSTD_compress(z, cap, b->p, b->len, 3);
  free(z);
  return n;
}

static void add_numbers(struct sample *s, size_t n, uint32_t size, bool mixed) {
  for (size_t i = 0; i < n; i++) {
    const struct block_header h = {.kind = BLOCK_NUMBERS,
                                   .codec = mixed && i % 2 ? CODEC_STORED : CODEC_ZSTD,
                                   .filter = size == 8 ? 8 : 2,
                                   .raw_len = MAX_RAW,
                                   .count = MAX_RAW / size,
                                   .stored_len = 100000 + random_below(50000)};
    need(index_add_block(&s->x, &h));
    s->end_at += BLOCK_HEADER_LEN + h.stored_len;
    s->stream_len += h.raw_len;
  }
}

static void check_size(const struct sample *s, const char *what, size_t most, size_t most_packed) {
  struct bytes b = encoded(&s->x);
  struct index x;
  const size_t z = size_after_zstd(&b);
  printf("%s: %zu blocks, %zu parts: %zu bytes, compressed %zu\n", what, s->x.n_blocks,
         s->x.directory.n_elements + s->x.directory.n_attributes, b.len, z);
  check(b.len <= most, what, b.len);
  check(z <= most_packed, what, z);
  check(decode(&x, &b, s->end_at, s->stream_len) == OK, "and it decodes", 0);
  index_close(&x);
  free(b.p);
}

static void add_attributes(struct directory *d, uint64_t at, bool is_frame) {
  struct part p = {16, 16, 8, at, 100, is_frame ? 0 : 3, 1, 0};
  need(item_list_add(&d->symbols, 9, "names", 5));
  need(directory_add(d, &p, true));
  if (!is_frame) return;
  need(item_list_add(&d->symbols, 9, "class", 5) && item_list_add(&d->symbols, 9, "row.names", 9));
  p = (struct part){16, 16, 1, at + 200, 18, 1, 2, 0};
  need(directory_add(d, &p, true));
  p = (struct part){13, 13, 2, at + 300, 8, 2, 3, 0};
  need(directory_add(d, &p, true));
}

// A frame of eight long columns; `mixed`: of different types and codecs.
static void test_frame_size(bool mixed, size_t most, size_t most_packed) {
  struct sample s = {.end_at = FILE_HEADER_LEN};
  uint64_t at = 31;
  s.x.directory = (struct directory){.known = true, .flags = 787};
  s.x.n_head = 23;
  for (uint32_t i = 0; i < 8; i++) {
    const uint8_t type = mixed && i % 2 ? 13 : 14;
    struct part p = {type, type, 500 * MAX_RAW / 8, at, 0, 0, 0, 0};
    p.payload_len = (uint64_t) 500 * MAX_RAW * (type == 13 ? 4 : 8) / 8;
    add_numbers(&s, 500, type == 13 ? 4 : 8, mixed);
    need(directory_add(&s.x.directory, &p, false));
    at += 8 + p.payload_len;
  }
  add_numbers(&s, 1, 8, mixed);  // room for what is no payload
  add_attributes(&s.x.directory, at, true);
  check_size(&s, mixed ? "a mixed frame" : "a frame", most, most_packed);
  index_close(&s.x);
}

// A list of 1000 frames of about 100 KB.
static void test_list_size(void) {
  struct sample s = {.end_at = FILE_HEADER_LEN};
  uint64_t at = 31;
  uint32_t number;
  s.x.directory = (struct directory){.known = true, .flags = 531};
  add_numbers(&s, 220, 8, true);
  need(directory_class(&s.x.directory, "data.frame", 10, &number));
  for (uint32_t i = 0; i < 1000; i++) {
    const struct part p = {787, 19, 8, at, 0, i ? 3 : 0, 0, 1};
    need(directory_add(&s.x.directory, &p, false));
    at += 100000 + random_below(10000);
  }
  add_attributes(&s.x.directory, at, false);
  need(item_list_add(&s.x.directory.symbols, 9, "class", 5));
  need(item_list_add(&s.x.directory.symbols, 9, "row.names", 9));
  check_size(&s, "a list", 10000, 3000);
  index_close(&s.x);
}

int main(void) {
  test_round_trips();
  test_limits();
  test_classes();
  test_hand();
  test_hostile_blocks();
  test_hostile_rest();
  test_hostile_payloads();
  test_hostile_parts();
  test_bounds();
  test_claims();
  test_damage();
  test_memory();
  test_frame_size(false, 20000, 10000);
  test_frame_size(true, 40000, 10000);
  test_list_size();
  return checks_end();
}
