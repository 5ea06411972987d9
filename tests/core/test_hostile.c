// Tests of reader.c with files whose checksums are right and everything else is wrong.
// link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
#define _GNU_SOURCE
#include "memory.h"

#include <unistd.h>

#include "check.h"
#include "files.h"
#include "temp.h"

// ---- reading what may say anything --------------------------------------------------------

// Takes whatever the file gives, up to `most` bytes, in the way the number says.
static enum status take(struct reader *r, bool build, unsigned char *out, size_t most,
                        size_t *len) {
  size_t at = 0;
  enum status st = OK;
  for (unsigned turn = 0; st == OK && at < most; turn++) {
    void *to = out + at;
    const struct string_array *a = NULL;
    size_t n = most - at < 50 ? most - at : turn % 3 ? 50 : most - at;
    if (build && turn % 2) {
      while ((st = reader_strings(r, SIZE_MAX, &a)) == AGAIN) {}
      if (st) break;
      if (a) {
        n = strings_stream_len(a);
        if (n > most - at) return ERR_CORRUPT;
        strings_to_stream(a, to);
        at += n;
        continue;
      }
    }
    size_t left = n;
    while ((st = build && turn % 3 == 0 ? reader_numbers(r, &to, &left)
                                        : reader_get(r, &to, &left)) == AGAIN) {}
    at += n - left;
  }
  *len = at;
  if (st) return st;
  while ((st = reader_finish(r)) == AGAIN) {}
  return st;
}

// Reads a whole file of `most` bytes of stream. *len is how many came out.
static enum status read_any(const struct bytes *file, const struct reader_opts *how,
                            unsigned char *out, size_t most, size_t *len, struct error *e) {
  struct reader r = {0};
  struct source source;
  unsigned char *exact = make_copy(file->p, file->len);
  source_memory(&source, exact, file->len);
  *len = 0;
  enum status st = reader_open(&r, &source, how);
  if (st == OK)
    while ((st = reader_start(&r)) == AGAIN) {}
  if (st == OK) st = take(&r, how->build, out, most, len);
  *e = r.err;
  reader_close(&r);
  source_close(&source);
  free(exact);
  return st;
}

static bool is_refusal(enum status st) {
  return st == ERR_CORRUPT || st == ERR_TRUNCATED || st == ERR_VERSION || st == ERR_FORMAT;
}

enum { ROOM = 1 << 20 };

// Any outcome but one: both modes read it, and differently. Returns the first mode's.
static enum status read_both(const struct bytes *file, size_t most, uint64_t detail) {
  static unsigned char a[ROOM], b[ROOM];
  struct error e;
  size_t len_a = 0, len_b = 0;
  enum status first = OK;
  for (unsigned threads = 1; threads <= 2; threads++) {
    for (int verify = 0; verify < 2; verify++) {
      const struct reader_opts bytes_mode = {.n_threads = threads, .verify_all = verify};
      const struct reader_opts build_mode = {
          .n_threads = threads, .verify_all = verify, .build = true};
      const enum status st_a = read_any(file, &bytes_mode, a, most, &len_a, &e);
      const enum status st_b = read_any(file, &build_mode, b, most, &len_b, &e);
      check(st_a == OK || is_refusal(st_a), "a known status", st_a);
      check(st_b == OK || is_refusal(st_b), "a known status in mode build", st_b);
      if (st_a == OK && st_b == OK)
        check(len_a == len_b && same_bytes(a, b, len_a), "both modes read the same", detail);
      if (threads == 1 && !verify) first = st_a;
    }
  }
  return first;
}

// ---- fields -------------------------------------------------------------------------------

static void script_small(struct script *s) {
  script_open(s);
  script_bytes(s, 90, 9);
  script_numbers(s, PART_LENT, NUMBER_F64, 40, NARROW);
  script_strings(s, 30, 5, 9);
  script_numbers(s, PART_LENT, NUMBER_I32, 70, RAMP);
  script_strings(s, 20, 20, 9);
  script_bytes(s, 300, 3);
}

static struct bytes small_file(size_t *stream_len) {
  struct script s;
  script_small(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  *stream_len = s.stream.len;
  script_close(&s);
  return file;
}

// Each field of each block header set to each of a few values, the checksums made right.
static void test_fields(void) {
  static const uint32_t values[] = {0,          1,
                                    7,          8,
                                    100,        1 << 16,
                                    1 << 20,    (1 << 20) + 1,
                                    1 << 24,    (1 << 24) + 1,
                                    1 << 30,    0x7FFFFFFF,
                                    0x80000000, UINT32_MAX};
  size_t stream_len;
  struct bytes file = small_file(&stream_len);
  const size_t n = block_count(&file);
  for (size_t i = 0; i <= n; i++) {
    const size_t at = block_at(&file, i);
    for (size_t field = 8; field < BLOCK_HEADER_LEN; field += 4) {
      for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
        struct bytes bad = {make_copy(file.p, file.len), file.len};
        store_u32(bad.p + at + field, values[v]);
        const bool same = same_bytes(bad.p, file.p, file.len);
        if (field != 24) reseal(&bad, RESEAL_END);
        const enum status st = read_both(&bad, stream_len, field << 32 | v);
        check(same || field < 12 || (field == 28 && i < n) || i == n || st != OK, "a lie is found",
              i << 40 | (uint64_t) field << 32 | values[v]);
        bytes_free(&bad);
      }
    }
  }
  bytes_free(&file);
}

// Every byte of the file set to something else, the checksums made right.
static void test_bytes(void) {
  size_t stream_len;
  struct bytes file = small_file(&stream_len);
  for (size_t at = 8; at < file.len; at++) {
    for (int k = 0; k < 2; k++) {
      struct bytes bad = {make_copy(file.p, file.len), file.len};
      bad.p[at] ^= (unsigned char) (k ? 1 + random_below(255) : 1u << random_below(8));
      reseal(&bad, RESEAL_END | RESEAL_SEQ);
      read_both(&bad, stream_len, at);
      bytes_free(&bad);
    }
  }
  for (int round = 0; round < 500; round++) {
    struct bytes bad = {make_copy(file.p, file.len), file.len};
    for (uint32_t k = 1 + random_below(6); k > 0; k--)
      bad.p[32 + random_below((uint32_t) file.len - 32)] = (unsigned char) random_u32();
    reseal(&bad, RESEAL_END | RESEAL_SEQ);
    read_both(&bad, stream_len + random_below(100), (uint64_t) round);
    bytes_free(&bad);
  }
  bytes_free(&file);
}

// ---- files by hand ------------------------------------------------------------------------

struct forge {
  struct bytes file;
  size_t cap;
  size_t index_at;  // 0: no index
};

static void forge_open(struct forge *f, uint32_t max_raw) {
  const struct file_header h = {
      .big_endian = host_is_big_endian(), .stream_version = 3, .max_raw = max_raw};
  f->cap = 1 << 22;
  f->index_at = 0;
  f->file = (struct bytes){make(f->cap), FILE_HEADER_LEN};
  file_header_encode(&h, f->file.p);
}

static void forge_add(struct forge *f, struct block_header h, const void *payload) {
  unsigned char *b = f->file.p + f->file.len;
  if (f->file.len + BLOCK_HEADER_LEN + h.stored_len > f->cap) abort();
  memset(b + BLOCK_HEADER_LEN, 0, h.stored_len);
  if (payload) memcpy(b + BLOCK_HEADER_LEN, payload, h.stored_len);
  block_header_encode(&h, b);
  f->file.len += BLOCK_HEADER_LEN + h.stored_len;
}

static void forge_end(struct forge *f) {
  const struct end_record r = {.index_offset = f->index_at};
  end_block_encode(&r, r.n_blocks, f->file.p + f->file.len);
  f->file.len += END_BLOCK_LEN;
  check(reseal(&f->file, RESEAL_END | RESEAL_SEQ) == f->file.len, "a forged file is sealed", 0);
}

static struct block_header stored(enum block_kind kind, uint32_t len, uint32_t count) {
  return (struct block_header){
      .kind = (uint8_t) kind, .raw_len = len, .packed_len = len, .stored_len = len, .count = count};
}

static enum status read_forged(struct forge *f, size_t stream_len, const char *what) {
  const enum status st = read_both(&f->file, stream_len, stream_len);
  check(st == OK || is_refusal(st), what, st);
  bytes_free(&f->file);
  return st;
}

static void test_forged(void) {
  struct forge f;
  forge_open(&f, 1 << 20);
  forge_add(&f, stored(BLOCK_BYTES, 100, 0), NULL);
  forge_add(&f, stored(BLOCK_NUMBERS, 80, 10), NULL);
  forge_end(&f);
  check(read_forged(&f, 180, "by hand") == OK, "an honest file made by hand", 0);

  forge_open(&f, 1 << 20);
  forge_end(&f);
  check(read_forged(&f, 0, "no block") == OK, "a file without a block is an empty stream", 0);

  forge_open(&f, 1 << 20);
  for (int i = 0; i < 300; i++) {
    forge_add(&f, stored(BLOCK_BYTES + i % 3, 0, 0), NULL);
    struct block_header h = stored(BLOCK_BYTES + i % 3, 0, 0);
    h.codec = CODEC_ZSTD;
    forge_add(&f, h, NULL);
  }
  forge_add(&f, stored(BLOCK_BYTES, 10, 0), NULL);
  forge_end(&f);
  read_forged(&f, 10, "empty blocks");

  for (int kind = BLOCK_BYTES; kind <= BLOCK_STRINGS; kind++) {
    for (unsigned filter = 0; filter < 12; filter++) {
      for (unsigned codec = 0; codec < 4; codec++) {
        forge_open(&f, 1 << 20);
        struct block_header h = stored((enum block_kind) kind, 0, 0);
        h.filter = (uint8_t) filter;
        h.codec = (uint8_t) codec;
        forge_add(&f, h, NULL);
        forge_end(&f);
        read_forged(&f, 0, "an empty block with a filter");
        forge_open(&f, 1 << 20);
        h.packed_len = h.stored_len = 24;
        forge_add(&f, h, NULL);
        forge_end(&f);
        read_forged(&f, 0, "nothing out of something");
      }
    }
  }
}

// What was never asked for, and what the file header forbids.
static void test_limits(void) {
  struct forge f;
  forge_open(&f, 100);
  forge_add(&f, stored(BLOCK_BYTES, 100, 0), NULL);
  forge_end(&f);
  check(read_forged(&f, 100, "at its limit") == OK, "a block at the file's limit", 0);
  forge_open(&f, 100);
  forge_add(&f, stored(BLOCK_BYTES, 101, 0), NULL);
  forge_end(&f);
  check(read_forged(&f, 101, "above") == ERR_CORRUPT, "a block above the file's limit", 0);
  forge_open(&f, 0);
  for (int i = 0; i < 200; i++) forge_add(&f, stored(BLOCK_BYTES, 0, 0), NULL);
  forge_end(&f);
  check(read_forged(&f, 0, "no byte") == ERR_CORRUPT, "a file that may hold no byte", 0);
}

// Whether the reader of the n bytes of stream finds the index damaged.
static bool told_of_index(const struct bytes *file, size_t n) {
  unsigned char out[128];
  void *to = out;
  struct source source;
  struct reader r;
  const struct reader_opts opts = {.n_threads = 1};
  source_memory(&source, file->p, file->len);
  const bool read = reader_open(&r, &source, &opts) == OK && reader_start(&r) == OK &&
                    reader_get(&r, &to, &n) == OK && reader_finish(&r) == OK;
  check(read, "the whole is read", 0);
  const bool told = r.index_damaged;
  reader_close(&r);
  source_close(&source);
  return told;
}

static void test_index_blocks(void) {
  struct forge f;
  static const unsigned char payload[50] = "an index to come";
  struct block_header h = stored(BLOCK_INDEX, 50, 0);
  h.raw_len = 0;
  forge_open(&f, 1 << 20);
  forge_add(&f, stored(BLOCK_BYTES, 100, 0), NULL);
  f.index_at = f.file.len;
  forge_add(&f, h, payload);
  forge_end(&f);
  struct bytes bad = {make_copy(f.file.p, f.file.len), f.file.len};
  const size_t index_at = f.index_at, end_at = bad.len - END_BLOCK_LEN;
  check(read_forged(&f, 100, "index") == OK, "an index block is passed over", 0);
  check(!told_of_index(&bad, 100), "and nothing is wrong with it", 0);
  for (size_t at = index_at; at < bad.len; at++) {
    bad.p[at] ^= 4;
    check((read_both(&bad, 100, at) == OK) == (at < end_at), "a changed byte costs the index alone",
          at);
    if (at < end_at) check(told_of_index(&bad, 100), "and is told", at);
    bad.p[at] ^= 4;
  }
  bytes_free(&bad);
}

static void test_kinds(void) {
  for (unsigned kind = 0; kind < 256; kind++) {
    if (kind >= BLOCK_BYTES && kind <= BLOCK_END) continue;
    struct forge f;
    forge_open(&f, 1 << 20);
    forge_add(&f, stored(BLOCK_BYTES, 10, 0), NULL);
    forge_add(&f, stored((enum block_kind) kind, 10, 0), NULL);
    forge_end(&f);
    check(read_forged(&f, 20, "kind") == ERR_VERSION, "an unknown kind is of a newer version",
          kind);
  }
}

// ---- the end block ------------------------------------------------------------------------

static void test_end_lies(void) {
  size_t stream_len;
  struct bytes file = small_file(&stream_len);
  unsigned char *end = file.p + file.len - END_BLOCK_LEN;
  for (size_t field = 0; field < 4; field++) {
    if (field == 2) continue;  // the index's offset, which a reader may ignore
    for (unsigned bit = 0; bit < 64; bit++) {
      end[32 + 8 * field + bit / 8] ^= (unsigned char) (1 << bit % 8);
      reseal_block(end);
      check(read_both(&file, stream_len, bit) == ERR_CORRUPT, "the end block lies",
            field * 64 + bit);
      end[32 + 8 * field + bit / 8] ^= (unsigned char) (1 << bit % 8);
    }
  }
  reseal_block(end);
  check(read_both(&file, stream_len, 0) == OK, "and is right again", 0);
  check(read_both(&file, stream_len + 1, 0) == ERR_CORRUPT, "more than the stream", 0);
  check(read_both(&file, stream_len - 1, 0) == ERR_CORRUPT, "less than the stream", 0);
  bytes_free(&file);
}

// ---- memory -------------------------------------------------------------------------------

// Small files that claim as much as the format lets them.
static void test_claims(void) {
  static const uint32_t counts[] = {0, 1, 1 << 21, 1 << 22, 1 << 24};
  static const enum codec codecs[] = {CODEC_STORED, CODEC_LZ4, CODEC_ZSTD};
  static unsigned char out[ROOM];
  long worst = 0;
  for (int kind = BLOCK_BYTES; kind <= BLOCK_STRINGS; kind++) {
    for (size_t c = 0; c < 5 * 3; c++) {
      for (unsigned filter = 0; filter < 10; filter++) {
        struct forge f;
        struct block_header h = {.kind = (uint8_t) kind,
                                 .codec = codecs[c % 3],
                                 .filter = (uint8_t) filter,
                                 .raw_len = MAX_RAW_LEN,
                                 .stored_len = 40,
                                 .count = counts[c / 3]};
        h.packed_len = h.codec ? (uint32_t) max_packed_len(MAX_RAW_LEN) : 40;
        forge_open(&f, MAX_RAW_LEN);
        for (int i = 0; i < 6; i++) forge_add(&f, h, NULL);
        forge_end(&f);
        for (int build = 0; build < 2; build++) {
          const struct reader_opts how = {.n_threads = 1, .build = build};
          struct error e;
          size_t len;
          memory_count();
          read_any(&f.file, &how, out, sizeof(out), &len, &e);
          if (memory.peak > worst) worst = memory.peak;
        }
        bytes_free(&f.file);
      }
    }
  }
  printf("a small file's claims cost at most %.1f MB\n", (double) worst / (1 << 20));
  check(worst < 400L << 20, "what a small file can make us allocate is bounded", (uint64_t) worst);
}

static void test_huge_claims(void) {
  static unsigned char out[ROOM];
  for (int field = 16; field <= 28; field += 4) {
    size_t stream_len, len;
    struct bytes file = small_file(&stream_len);
    store_u32(file.p + block_at(&file, 0) + field, UINT32_MAX);
    if (field != 24) reseal(&file, 0);
    const struct reader_opts how = {.n_threads = 1};
    struct error e;
    memory_count();
    check(read_any(&file, &how, out, stream_len, &len, &e) == ERR_CORRUPT, "4 GiB claimed", 0);
    check(e.block == 0, "the block's number", e.block);
    check(memory.peak < 1 << 17, "nothing was allocated for it", (uint64_t) memory.peak);
    bytes_free(&file);
  }
}

// ---- files that change --------------------------------------------------------------------

static void write_file(const char *path, const struct bytes *b, size_t len) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(b->p, 1, len, f) != len || fclose(f)) abort();
}

// The file grows, or shrinks, between opening and reading: at each length.
static void test_changing_file(void) {
  const char *path = temp_path("hostile");
  struct forge f;
  unsigned char end[END_BLOCK_LEN], payload[400] = {0};
  const struct end_record r = {0};
  end_block_encode(&r, r.n_blocks, end);
  for (size_t at = 0; at + END_BLOCK_LEN <= sizeof(payload); at++) {
    // What is there when it is opened ends in an end block, which is inside a block later.
    memset(payload, 0, sizeof(payload));
    memcpy(payload + at, end, END_BLOCK_LEN);
    forge_open(&f, 1 << 20);
    forge_add(&f, stored(BLOCK_BYTES, sizeof(payload), 0), payload);
    forge_add(&f, stored(BLOCK_BYTES, 200, 0), NULL);
    forge_end(&f);
    const size_t early = FILE_HEADER_LEN + BLOCK_HEADER_LEN + at + END_BLOCK_LEN;
    unsigned char *out = make(600);
    for (int shrink = 0; shrink < 2; shrink++) {
      struct source source;
      struct reader reader = {0};
      struct error e = {0};
      const struct reader_opts how = {.n_threads = 1};
      write_file(path, &f.file, shrink ? f.file.len : early);
      check(source_file(&source, path, &e) == OK, "opens", at);
      enum status st = reader_open(&reader, &source, &how);
      if (!shrink) write_file(path, &f.file, f.file.len);
      if (st == OK) st = reader_start(&reader);
      if (shrink && truncate(path, (off_t) early)) abort();
      size_t len = 0;
      if (st == OK) st = take(&reader, false, out, 600, &len);
      check(st == OK || is_refusal(st), "a file that changes", st);
      reader_close(&reader);
      source_close(&source);
    }
    free(out);
    bytes_free(&f.file);
  }
  unlink(path);
}

int main(void) {
  test_fields();
  test_bytes();
  test_forged();
  test_limits();
  test_index_blocks();
  test_kinds();
  test_end_lies();
  test_claims();
  test_huge_claims();
  test_changing_file();
  return checks_end();
}
