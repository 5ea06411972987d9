// The qs2 container, both ways, against what the format's description says.
#include "container.h"
#include "files.h"

enum { HEADER = 24, VARIANTS = 3 };

static struct reader_opts reading(unsigned i) {
  return (struct reader_opts){.container = &qs2_in, .n_threads = 1 + i % 3, .build = i & 1};
}

static struct writer_opts writing(unsigned i) {
  struct writer_opts opts = opts_of(CODEC_ZSTD, 1 + (int) i % 3, 1 + i % 3);
  opts.container = &qs2_out;
  opts.block.filter = i % 2 == 0;
  return opts;
}

static uint64_t stored_hash(const struct bytes *file) {
  uint64_t hash;
  memcpy(&hash, file->p + 16, 8);
  return hash;
}

static void set_hash(struct bytes *file, uint64_t hash) { memcpy(file->p + 16, &hash, 8); }

// Lengths lead from block to block to the end; all but the last decode to 1 MiB.
static void check_layout(const struct bytes *file, const struct script *s, bool shuffle) {
  static const unsigned char magic[] = {0x0b, 0x0e, 0x0a, 0xc1, 1, 1, 2};
  check(file->len > HEADER && same_bytes(file->p, magic, sizeof(magic)), "the header", file->len);
  check(file->p[7] == shuffle, "whether blocks may be shuffled", file->p[7]);
  check(stored_hash(file) == XXH3_64bits(file->p + HEADER, file->len - HEADER), "the hash", 0);
  size_t at = HEADER, n = 0;
  while (at + 4 <= file->len) {
    const uint32_t word = load_u32(file->p + at);
    check(shuffle || !(word >> 31), "no block is shuffled", n);
    at += 4 + (word & 0x7fffffff);
    n++;
  }
  check(at == file->len, "blocks fill the file", at);
  check(n == (s->stream.len + (1 << 20) - 1) >> 20, "each but the last holds a MiB", n);
}

static void test_round_trips(void) {
  static const size_t lens[] = {1, 7, 100, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3500003};
  for (unsigned i = 0; i < 2 * sizeof(lens) / sizeof(*lens); i++) {
    struct script s;
    script_open(&s);
    script_bytes(&s, lens[i / 2], i % 3 ? 256 : 4);
    if (i % 2) script_numbers(&s, i % 4 == 1 ? PART_LENT : PART_NUMBERS, NUMBER_F64, 100000, RAMP);
    if (i % 2) script_strings(&s, 3000, 50, 12);
    const struct writer_opts opts = writing(i);
    struct bytes file = file_of(&s, &opts);
    check_layout(&file, &s, opts.block.filter);
    for (unsigned k = 0; k < VARIANTS; k++) {
      struct error e;
      const struct reader_opts how = reading(k);
      check(read_back(&s, file.p, file.len, &how, &e) == OK, "comes back", i);
    }
    bytes_free(&file);
    script_close(&s);
  }
}

// Any thread count gives the same bytes.
static void test_threads(void) {
  struct script s;
  script_open(&s);
  script_numbers(&s, PART_LENT, NUMBER_I32, 2000000, NARROW);
  struct writer_opts opts = writing(0);
  struct bytes one = file_of(&s, &opts);
  opts.n_threads = 4;
  struct bytes four = file_of(&s, &opts);
  check(one.len == four.len && same_bytes(one.p, four.p, one.len), "the same bytes", one.len);
  bytes_free(&one);
  bytes_free(&four);
  script_close(&s);
}

static void test_damage(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 300, 40);
  const struct writer_opts opts = writing(0);
  struct bytes file = file_of(&s, &opts);
  const struct reader_opts how = reading(0);
  struct error e;
  for (size_t at = 0; at < file.len; at++) {
    if (at >= 7 && at < 16) continue;  // says nothing of what is in the file
    for (unsigned bit = 0; bit < 8; bit++) {
      unsigned char *copy = make_copy(file.p, file.len);
      copy[at] ^= (unsigned char) (1 << bit);
      check(read_back(&s, copy, file.len, &how, &e) != OK, "a changed bit is found", at);
      free(copy);
    }
  }
  for (size_t n = 0; n < file.len; n++) {
    unsigned char *copy = make_copy(file.p, n);
    check(read_back(&s, copy, n, &how, &e) != OK, "a cut is found", n);
    free(copy);
  }
  bytes_free(&file);
  script_close(&s);
}

// Without a hash whatever decodes is read; what does not is an error, and stays within its bounds.
static void test_without_hash(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 300, 40);
  const struct writer_opts opts = writing(0);
  struct bytes file = file_of(&s, &opts);
  struct error e;
  set_hash(&file, 0);
  const struct reader_opts how = reading(1);
  check(read_back(&s, file.p, file.len, &how, &e) == OK, "no hash is no error", 0);
  for (size_t n = 0; n < file.len; n++) {
    unsigned char *copy = make_copy(file.p, n);
    check(read_back(&s, copy, n, &how, &e) != OK, "a cut is found by its length", n);
    free(copy);
  }
  bytes_free(&file);
  script_close(&s);
}

static void test_lengths_that_lie(void) {
  static const uint32_t words[] = {0, 1, 0x7fffffff, 0xffffffff, (1 << 20) + (1 << 14)};
  struct script s;
  script_open(&s);
  script_bytes(&s, 300, 40);
  const struct writer_opts opts = writing(0);
  struct bytes file = file_of(&s, &opts);
  set_hash(&file, 0);
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
    struct error e;
    const struct reader_opts how = reading(0);
    store_u32(file.p + HEADER, words[i]);
    const enum status st = read_back(&s, file.p, file.len, &how, &e);
    check(st == ERR_CORRUPT || st == ERR_TRUNCATED, "a length that lies", i);
  }
  bytes_free(&file);
  script_close(&s);
}

static enum status write_nothing(struct sink *s, const void *p, size_t n, struct error *e) {
  (void) s, (void) p, (void) n, (void) e;
  return OK;
}

static void test_needs_patch(void) {
  struct sink sink = {.write = write_nothing};
  struct writer w;
  const struct writer_opts opts = writing(0);
  check(writer_open(&w, &sink, &opts) == ERR_IO, "a sink that only goes forward is refused", 0);
  writer_close(&w);
}

int main(void) {
  test_round_trips();
  test_threads();
  test_damage();
  test_without_hash();
  test_lengths_that_lie();
  test_needs_patch();
  return checks_end();
}
