// Tests of writer.c and reader.c together: what is saved is read, and what is damaged is not.
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "files.h"
#include "temp.h"

enum { VARIANTS = 8 };

// Reader options by number: threads 1 to 3, both modes, with and without verify_all.
static struct reader_opts reading(unsigned i) {
  return (struct reader_opts){.n_threads = 1 + i / 4 % 3, .verify_all = i & 1, .build = i & 2};
}

// ---- there and back -----------------------------------------------------------------------

static void check_blocks(const struct bytes *file, const struct script *s) {
  size_t total = 0;
  const size_t n = block_count(file);
  for (size_t i = 0; i < n; i++) {
    const unsigned char *b = file->p + block_at(file, i);
    total += load_u32(b + 16);
    check(load_u32(b + 16) <= BATCH_MAX_STREAM && load_u32(b + 16) > 0, "a block's length", i);
    check(b[8] != BLOCK_BYTES || load_u32(b + 28) == 0, "a bytes block has no count", i);
  }
  check(total == s->stream.len, "the blocks are the stream", total);
  const unsigned char *end = file->p + file->len - END_BLOCK_LEN;
  check(load_u64(end + 32) == s->stream.len && load_u64(end + 40) == n, "the end block says so", n);
}

static void round_trip(const struct script *s, const struct writer_opts *opts, const char *what) {
  struct bytes file = file_of(s, opts);
  check_blocks(&file, s);
  struct error e;
  for (unsigned i = 0; i < VARIANTS; i++) {
    const struct reader_opts how = reading(i);
    check(read_back(s, file.p, file.len, &how, &e) == OK, what, i);
  }
  bytes_free(&file);
}

static void all_codecs(const struct script *s, const char *what) {
  for (enum codec codec = UNDER_TSAN ? CODEC_ZSTD : CODEC_STORED; codec <= CODEC_ZSTD; codec++) {
    struct writer_opts opts = opts_of(codec, 1, 1 + random_below(3));
    opts.block.filter = codec != CODEC_LZ4;
    round_trip(s, &opts, what);
  }
}

static void test_sizes(void) {
  static const size_t at[] = {0,      1, 100, NUMBERS_MIN_LEN, 1 << 13, BLOCK_LEN, BYTES_BLOCK_LEN,
                              3000000};
  for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
    for (int d = UNDER_TSAN ? 1 : -1; d <= 1; d++) {
      if (at[i] < 2 && d < 0) continue;
      const size_t n = at[i] + (size_t) d;
      struct script s;
      script_open(&s);
      script_bytes(&s, n, i % 2 ? 256 : 3);
      all_codecs(&s, "bytes of all sizes");
      script_numbers(&s, PART_NUMBERS, NUMBER_U8, n, RANDOM_BITS);
      script_numbers(&s, PART_NUMBERS, NUMBER_I32, n / 4, NARROW);
      script_numbers(&s, PART_LENT, NUMBER_I32, n / 4, RAMP);
      script_bytes(&s, 3, 5);
      script_numbers(&s, PART_LENT, NUMBER_F64, n / 8, NARROW);
      script_numbers(&s, PART_NUMBERS, NUMBER_F64, n / 8, RANDOM_BITS);
      all_codecs(&s, "numbers of all sizes");
      script_close(&s);
    }
  }
}

static void test_batches(void) {
  static const size_t at[] = {1, STRINGS_MIN, 1024, BATCH_MAX_STRINGS, 3 * BATCH_MAX_STRINGS};
  for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
    for (int d = UNDER_TSAN ? 1 : -1; d <= 1; d++) {
      const size_t n = at[i] + (size_t) d;
      struct script s;
      script_open(&s);
      script_bytes(&s, 20, 5);
      if (n) script_strings(&s, n, n, 12);
      script_bytes(&s, 20, 5);
      if (n) script_strings(&s, n, n / 20 + 1, 30);
      if (n) script_strings(&s, n, 3, 0);
      all_codecs(&s, "strings in all numbers");
      script_close(&s);
    }
  }
  struct script s;
  script_open(&s);
  script_strings(&s, 60, 60, BATCH_MAX_CHARS);
  script_bytes(&s, 1, 5);
  script_strings(&s, 400, 7, BATCH_MAX_CHARS);
  all_codecs(&s, "long strings");
  script_close(&s);
}

// What is called numbers is a guess of the serializer's listener: a wrong one costs no byte.
static void test_odd_numbers(void) {
  struct script s;
  script_open(&s);
  for (size_t odd = 1; odd < 8; odd++) {
    for (enum number_type type = NUMBER_I32; type <= NUMBER_F64; type++) {
      struct script_part *p = script_add(&s, PART_NUMBERS, (odd % 2 ? BLOCK_LEN : 800) + odd);
      memset((void *) p->p, (int) odd, p->len);
      p->type = type;
    }
  }
  all_codecs(&s, "half a number at the end");
  script_close(&s);
}

// A bit of everything, in about 20 blocks.
static void script_mixed(struct script *s) {
  script_open(s);
  script_bytes(s, 70, 9);
  script_numbers(s, PART_LENT, NUMBER_F64, 300001, NARROW);
  script_bytes(s, 900001, 40);
  script_strings(s, 90000, 50, 9);
  script_numbers(s, PART_NUMBERS, NUMBER_I32, 200000, RAMP);
  script_strings(s, 70000, 70000, 25);
  script_numbers(s, PART_LENT, NUMBER_I32, 100000, RANDOM_BITS);
  script_bytes(s, 600000, 256);
  script_numbers(s, PART_NUMBERS, NUMBER_F64, 100000, ONE_VALUE);
  script_bytes(s, 5, 5);
}

// The same in some 1500 bytes and 7 blocks.
static void script_small(struct script *s) {
  script_open(s);
  script_bytes(s, 90, 9);
  script_numbers(s, PART_LENT, NUMBER_F64, 40, NARROW);
  script_strings(s, 30, 5, 9);
  script_bytes(s, 60, 256);
  script_numbers(s, PART_LENT, NUMBER_I32, 50, RANDOM_BITS);
  script_strings(s, 20, 20, 9);
  script_bytes(s, 60, 3);
}

static void test_threads(void) {
  static const unsigned threads[] = {1, 2, 3, 8};
  struct script s;
  script_mixed(&s);
  for (enum codec codec = UNDER_TSAN ? CODEC_ZSTD : CODEC_STORED; codec <= CODEC_ZSTD; codec++) {
    struct bytes first = {0};
    for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
      const struct writer_opts opts = opts_of(codec, 1, threads[i]);
      struct bytes file = file_of(&s, &opts);
      check_blocks(&file, &s);
      if (i == 0) first = file;
      check(file.len == first.len && same_bytes(file.p, first.p, file.len), "equal bytes",
            threads[i]);
      for (unsigned k = 0; k < 4; k++) {
        struct reader_opts how = reading(k);
        struct error e;
        how.n_threads = threads[i];
        check(read_back(&s, file.p, file.len, &how, &e) == OK, "by as many threads", threads[i]);
      }
      if (i) bytes_free(&file);
    }
    bytes_free(&first);
  }
  script_close(&s);
}

// How the bytes arrive, in pieces of 1 or all at once, makes no difference either.
static void test_pieces(void) {
  struct script s;
  script_mixed(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 2);
  struct bytes first = file_of(&s, &opts);
  static const size_t most[] = {1, 7, 4096, SIZE_MAX};
  unsigned char *out = make(s.stream.len);
  for (size_t i = UNDER_TSAN ? 2 : 0; i < sizeof(most) / sizeof(*most); i++) {
    struct sink sink;
    struct error e = {0};
    sink_memory(&sink);
    check(script_write(&s, &sink, &opts, most[i], &e) == OK, "saved in pieces", most[i]);
    struct bytes b = {make(sink.memory.len), sink.memory.len};
    sink_move(&sink, b.p);
    sink_close(&sink);
    check(b.len == first.len && same_bytes(b.p, first.p, b.len), "equal bytes", most[i]);
    for (unsigned k = 0; k < 4; k++) {
      const struct reader_opts how = reading(4 + k);
      struct source source;
      source_memory(&source, b.p, b.len);
      memset(out, 0, s.stream.len);
      check(script_read(&s, &source, &how, most[i], out, &e) == OK, "read in pieces", most[i]);
      check(same_bytes(out, s.stream.p, s.stream.len), "and right", most[i]);
    }
    bytes_free(&b);
  }
  free(out);
  bytes_free(&first);
  script_close(&s);
}

// Asking for nothing, with no memory to put it, at any time.
static void test_nothing(void) {
  struct script s;
  script_small(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct sink sink;
  struct writer w;
  const void *p = NULL;
  size_t n = 0;
  sink_memory(&sink);
  check(writer_open(&w, &sink, &opts) == OK, "a writer opens", 0);
  check(writer_put(&w, &p, &n) == OK, "nothing is put at first", 0);
  for (size_t i = 0; i < s.n; i++) {
    check(put_part(&w, &s.parts[i], 100) == OK, "a part", i);
    check(writer_put(&w, &p, &n) == OK, "nothing is put in between", i);
    check(writer_lend(&w, NUMBER_F64, &p, &n) == OK, "nor lent", i);
  }
  check(writer_finish(&w) == OK, "finished", 0);
  writer_close(&w);
  writer_close(&w);
  struct bytes b = {make(sink.memory.len), sink.memory.len};
  sink_move(&sink, b.p);
  struct reader r;
  struct source source;
  void *to = NULL;
  source_memory(&source, b.p, b.len);
  const struct reader_opts how = reading(2);
  check(reader_open(&r, &source, &how) == OK && reader_start(&r) == OK, "a reader opens", 0);
  check(reader_get(&r, &to, &n) == OK, "nothing is taken at first", 0);
  check(reader_numbers(&r, &to, &n) == OK, "no numbers", 0);
  reader_close(&r);
  reader_close(&r);
  bytes_free(&b);
  script_close(&s);
}

// What a consumer does not take is told at the end; what it takes too much, too.
static void test_wrong_amounts(void) {
  struct script s;
  script_small(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  unsigned char *out = make(s.stream.len + 1);
  for (size_t n = 0; n <= s.stream.len + 1; n++) {
    const struct reader_opts how = {.n_threads = 1};
    struct reader r;
    struct source source;
    source_memory(&source, file.p, file.len);
    enum status st = reader_open(&r, &source, &how);
    if (st == OK) st = reader_start(&r);
    void *to = out;
    size_t left = n;
    if (st == OK) st = reader_get(&r, &to, &left);
    if (st == OK) st = reader_finish(&r);
    check(st == (n == s.stream.len ? OK : ERR_CORRUPT), "only the whole stream is an object", n);
    reader_close(&r);
  }
  free(out);
  bytes_free(&file);
  script_close(&s);
}

// ---- sources ------------------------------------------------------------------------------

struct feed {
  int fd;
  const unsigned char *p;
  size_t n, piece;
};

static void *feed_main(void *arg) {
  const struct feed *f = arg;
  for (size_t at = 0; at < f->n;) {
    const size_t k = f->piece < f->n - at ? f->piece : f->n - at;
    const ssize_t done = write(f->fd, f->p + at, k);
    if (done <= 0) break;
    at += (size_t) done;
    if (f->piece < 2000 && at == f->piece) sleep_us(150000);
  }
  close(f->fd);
  return NULL;
}

static enum status read_from_pipe(const struct script *s, const unsigned char *p, size_t n,
                                  size_t piece, const struct reader_opts *how, struct error *e) {
  int fds[2];
  char name[32];
  if (pipe(fds)) abort();
  snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
  struct source source;
  *e = (struct error){0};
  check(source_file(&source, name, e) == OK, "a pipe opens", (uint64_t) e->sys);
  close(fds[0]);
  struct feed f = {fds[1], p, n, piece};
  pthread_t thread;
  pthread_create(&thread, NULL, feed_main, &f);
  unsigned char *out = make(s->stream.len);
  const enum status st = script_read(s, &source, how, 8096, out, e);
  if (st == OK) check(same_bytes(out, s->stream.p, s->stream.len), "from a pipe", piece);
  source_close(&source);
  pthread_join(thread, NULL);
  free(out);
  return st;
}

static void test_sources(void) {
  struct script s;
  script_mixed(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 2);
  struct bytes file = file_of(&s, &opts);
  const char *path = temp_path("stream");
  struct sink sink;
  struct error e = {0};
  check(sink_file(&sink, path, &e) == OK, "a file is opened", 0);
  check(script_write(&s, &sink, &opts, 8096, &e) == OK, "and saved", 0);
  sink_close(&sink);
  unsigned char *out = make(s.stream.len);
  for (unsigned i = 0; i < 12; i++) {
    const struct reader_opts how = reading(i);
    struct source source;
    check(source_file(&source, path, &e) == OK && source.len == file.len, "as long as in memory",
          0);
    memset(out, 0, s.stream.len);
    check(script_read(&s, &source, &how, 8096, out, &e) == OK, "read from the file", i);
    check(same_bytes(out, s.stream.p, s.stream.len), "right", i);
    source_close(&source);
    check(read_from_pipe(&s, file.p, file.len, i % 2 ? 1000 : 100000, &how, &e) == OK, "a pipe", i);
  }
  unlink(path);
  free(out);
  bytes_free(&file);
  script_close(&s);
}

// A pipe is left where the file ends: what follows is the next reader's.
static void test_pipe_is_left(void) {
  struct script s;
  script_small(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  int fds[2];
  char name[32], rest[8];
  if (pipe(fds)) abort();
  for (int i = 0; i < 3; i++)
    check(write(fds[1], file.p, file.len) == (ssize_t) file.len, "written", file.len);
  check(write(fds[1], "rest", 4) == 4, "written", 4);
  snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
  unsigned char *out = make(s.stream.len);
  for (unsigned i = 0; i < 3; i++) {
    struct source source;
    struct error e = {0};
    const struct reader_opts how = reading(2 * i);
    check(source_file(&source, name, &e) == OK, "a pipe opens", i);
    check(script_read(&s, &source, &how, 100, out, &e) == OK, "one of several files", i);
    check(same_bytes(out, s.stream.p, s.stream.len), "right", i);
    source_close(&source);
  }
  check(read(fds[0], rest, 8) == 4 && memcmp(rest, "rest", 4) == 0, "what follows is left", 0);
  close(fds[0]);
  close(fds[1]);
  free(out);
  bytes_free(&file);
  script_close(&s);
}

// ---- damage -------------------------------------------------------------------------------

static bool is_damage(enum status st) { return st == ERR_CORRUPT || st == ERR_TRUNCATED; }

// Read in all ways; anything but a refusal is a failure.
static void expect_refused(const struct script *s, const struct bytes *file, const char *what,
                           uint64_t detail) {
  for (unsigned i = 0; i < 4; i++) {
    const struct reader_opts how = reading(i);
    struct error e;
    const enum status st = read_back(s, file->p, file->len, &how, &e);
    check(st != OK, what, detail);
    // In mode `build` it may be the consumer who finds that the stream makes no sense.
    check(how.build ? e.code == OK || e.what : st == e.code && e.what, "it says why", detail);
  }
}

struct damage {
  struct script s;
  struct bytes file;
};

static void damage_open(struct damage *d, void (*script)(struct script *), enum codec codec) {
  script(&d->s);
  const struct writer_opts opts = opts_of(codec, 1, 1);
  d->file = file_of(&d->s, &opts);
}

static void damage_close(struct damage *d) {
  bytes_free(&d->file);
  script_close(&d->s);
}

static void test_cut(void) {
  struct damage d;
  damage_open(&d, script_small, CODEC_ZSTD);
  for (size_t n = 0; n < d.file.len; n++) {
    struct bytes cut = {make_copy(d.file.p, n), n};
    expect_refused(&d.s, &cut, "a file cut short", n);
    const struct reader_opts how = {.n_threads = 1, .build = n & 1};
    struct error e;
    read_back(&d.s, cut.p, cut.len, &how, &e);
    check(e.code == (n == 0 ? ERR_FORMAT : ERR_TRUNCATED), "is truncated", n);
    bytes_free(&cut);
  }
  for (size_t n = 0; n < d.file.len; n += 13) {
    const struct reader_opts how = reading((unsigned) n);
    struct error e;
    const enum status st = read_from_pipe(&d.s, d.file.p, n, 100000, &how, &e);
    check(st == (n == 0 ? ERR_FORMAT : ERR_TRUNCATED), "a pipe cut short", n);
  }
  damage_close(&d);
}

// A file that can seek is found cut before anything is handed out.
static void test_cut_at_start(void) {
  struct damage d;
  damage_open(&d, script_small, CODEC_STORED);
  for (size_t n = 0; n < d.file.len; n++) {
    struct reader r;
    struct source source;
    const struct reader_opts how = {.n_threads = 1};
    source_memory(&source, d.file.p, n);
    check(reader_open(&r, &source, &how) == OK, "opens", n);
    check(reader_start(&r) != OK, "found before the first byte", n);
    reader_close(&r);
  }
  damage_close(&d);
}

static void test_flips(void) {
  for (enum codec codec = CODEC_STORED; codec <= CODEC_ZSTD; codec += 2) {
    struct damage d;
    damage_open(&d, script_small, codec);
    for (size_t at = 0; at < d.file.len; at++) {
      const unsigned char was = d.file.p[at];
      for (int bit = 0; bit < 8; bit++) {
        d.file.p[at] = was ^ (unsigned char) (1 << bit);
        if (bit == (int) (at % 8)) expect_refused(&d.s, &d.file, "a flipped bit", 8 * at);
        struct error e;
        const struct reader_opts how = {.n_threads = 1, .build = at & 1};
        const enum status st = read_back(&d.s, d.file.p, d.file.len, &how, &e);
        check(at < 8 ? st == ERR_FORMAT : is_damage(st), "is corrupt", 8 * at + (size_t) bit);
      }
      d.file.p[at] = was;
    }
    damage_close(&d);
  }
}

// Any value a kind byte can get: no block may vanish.
static void test_kinds(void) {
  struct damage d;
  damage_open(&d, script_small, CODEC_STORED);
  const size_t n = block_count(&d.file);
  for (size_t i = 0; i <= n; i++) {
    unsigned char *kind = d.file.p + block_at(&d.file, i) + 8;
    const unsigned char was = *kind;
    for (unsigned v = 0; v < 256; v++) {
      if (v == was) continue;
      *kind = (unsigned char) v;
      for (unsigned k = 0; k < 4; k++) {
        const struct reader_opts how = reading(k);
        struct error e;
        const enum status st = read_back(&d.s, d.file.p, d.file.len, &how, &e);
        check(is_damage(st), "another kind is corrupt", i * 256 + v);
        check(!(i < n && v == BLOCK_INDEX) || e.block == i, "and known by its number", i);
      }
    }
    *kind = was;
  }
  damage_close(&d);
}

// The bytes of an unverified block must not be skipped in silence: not one wrong byte comes out.
static void test_no_wrong_bytes(void) {
  struct damage d;
  damage_open(&d, script_small, CODEC_STORED);
  const size_t n = block_count(&d.file);
  unsigned char *out = make(d.s.stream.len);
  for (size_t i = 0; i < n; i++) {
    unsigned char *kind = d.file.p + block_at(&d.file, i) + 8;
    const unsigned char was = *kind;
    *kind = BLOCK_INDEX;
    struct reader r;
    struct source source;
    const struct reader_opts how = {.n_threads = 1};
    source_memory(&source, d.file.p, d.file.len);
    reader_open(&r, &source, &how);
    enum status st = reader_start(&r);
    size_t at = 0;
    while (st == OK && at < d.s.stream.len) {
      void *to = out + at;
      size_t one = 1;
      st = reader_get(&r, &to, &one);
      at += one == 0;
    }
    check(same_bytes(out, d.s.stream.p, at), "what comes out before the refusal is right", i);
    reader_close(&r);
    *kind = was;
  }
  free(out);
  damage_close(&d);
}

// ---- blocks out of place ------------------------------------------------------------------

// A file of the blocks `order` (NULL-terminated by SIZE_MAX) of `from`; the last is the end block.
static struct bytes rearranged(const struct bytes *from, const size_t *order) {
  struct bytes b = {make(4 * from->len), FILE_HEADER_LEN};
  memcpy(b.p, from->p, FILE_HEADER_LEN);
  for (; *order != SIZE_MAX; order++) {
    const unsigned char *block = from->p + block_at(from, *order);
    memcpy(b.p + b.len, block, block_len(block));
    b.len += block_len(block);
  }
  return b;
}

// `change` alters the order of n + 1 blocks; what comes of it is refused, resealed or not.
static void expect_rearranged(const struct damage *d, const size_t *order, const char *what,
                              uint64_t detail) {
  struct bytes b = rearranged(&d->file, order);
  expect_refused(&d->s, &b, what, detail);
  reseal(&b, RESEAL_SEQ);
  expect_refused(&d->s, &b, "with new sequence numbers, too", detail);
  bytes_free(&b);
}

static void test_rearranged(void) {
  struct damage d;
  damage_open(&d, script_small, CODEC_ZSTD);
  const size_t n = block_count(&d.file);
  size_t order[16];
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    for (size_t j = 0; j <= n; j++)
      if (j != i) order[k++] = j;
    order[k] = SIZE_MAX;
    expect_rearranged(&d, order, "a dropped block", i);
    k = 0;
    for (size_t j = 0; j <= n; j++) {
      order[k++] = j;
      if (j == i) order[k++] = j;
    }
    order[k] = SIZE_MAX;
    expect_rearranged(&d, order, "a repeated block", i);
    for (size_t with = i + 1; with < n; with++) {
      for (size_t j = 0; j <= n; j++) order[j] = j == i ? with : j == with ? i : j;
      order[n + 1] = SIZE_MAX;
      expect_rearranged(&d, order, "swapped blocks", i * n + with);
    }
  }
  damage_close(&d);
}

// The lengths of its blocks hardly ever depend on what is in them: now and then noise packs.
static void script_noise(struct script *s) {
  script_open(s);
  script_bytes(s, 90, 256);
  script_numbers(s, PART_LENT, NUMBER_F64, 40, RANDOM_BITS);
  script_bytes(s, 60, 256);
  script_numbers(s, PART_LENT, NUMBER_I32, 50, RANDOM_BITS);
  script_bytes(s, 60, 256);
}

// Two files of one shape, and one block of the second in the first: each by itself is sound.
static void test_spliced(void) {
  struct damage a, b;
  damage_open(&a, script_noise, CODEC_STORED);
  damage_open(&b, script_noise, CODEC_STORED);
  for (int tries = 0; tries < 20 && a.file.len != b.file.len; tries++) {
    damage_close(&b);
    damage_open(&b, script_noise, CODEC_STORED);
  }
  const size_t n = block_count(&a.file);
  check(block_count(&b.file) == n && a.file.len == b.file.len, "one shape", n);
  for (size_t i = 0; i < n; i++) {
    const size_t at = block_at(&a.file, i), len = block_len(a.file.p + at);
    unsigned char *was = make_copy(a.file.p + at, len);
    memcpy(a.file.p + at, b.file.p + at, len);
    for (unsigned k = 0; k < 4; k++) {
      const struct reader_opts how = reading(k);
      struct source source;
      struct error e;
      unsigned char *out = make(a.s.stream.len);
      source_memory(&source, a.file.p, a.file.len);
      check(is_damage(script_read(&a.s, &source, &how, 100, out, &e)), "a block of another file",
            i);
      free(out);
    }
    memcpy(a.file.p + at, was, len);
    free(was);
  }
  const size_t end = block_at(&a.file, n);
  memcpy(a.file.p + end, b.file.p + end, END_BLOCK_LEN);
  expect_refused(&a.s, &a.file, "the end of another file", n);
  damage_close(&a);
  damage_close(&b);
}

static void test_appended(void) {
  struct damage d;
  damage_open(&d, script_small, CODEC_ZSTD);
  const size_t len = d.file.len;
  struct bytes b = {make(3 * len), len};
  memcpy(b.p, d.file.p, len);
  for (size_t n = 1; n < 2 * END_BLOCK_LEN; n++) {
    memset(b.p + len, n % 2 ? 0 : 'x', n);
    b.len = len + n;
    expect_refused(&d.s, &b, "bytes appended", n);
  }
  memcpy(b.p + len, d.file.p, len);
  b.len = 2 * len;
  expect_refused(&d.s, &b, "the file twice", len);
  for (size_t i = 0; i <= block_count(&d.file); i++) {
    const size_t from = block_at(&d.file, i);
    memcpy(b.p + len, d.file.p + from, len - from);
    b.len = 2 * len - from;
    expect_refused(&d.s, &b, "its last blocks twice", i);
  }
  bytes_free(&b);
  damage_close(&d);
}

// ---- leaving early ------------------------------------------------------------------------

static void test_early_close(void) {
  struct script s;
  script_mixed(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 3);
  struct bytes file = file_of(&s, &opts);
  unsigned char *out = make(s.stream.len);
  for (unsigned i = 0; i < (UNDER_TSAN ? 22 : 55); i++) {
    struct sink sink;
    struct writer w;
    sink_memory(&sink);
    check(writer_open(&w, &sink, &opts) == OK, "opens", i);
    for (size_t k = 0; k < i % (s.n + 1); k++)
      check(put_part(&w, &s.parts[k], 5000) == OK, "put", k);
    writer_close(&w);
    sink_close(&sink);
    struct reader r;
    struct source source;
    const struct reader_opts how = {.n_threads = 3, .build = i & 1};
    source_memory(&source, file.p, file.len);
    void *to = out;
    check(reader_open(&r, &source, &how) == OK && reader_start(&r) == OK, "opens", i);
    for (size_t k = 0; k < i % (s.n + 1); k++)
      check(get_part(&r, &s.parts[k], i & 1, &to, 5000) == OK, "got", k);
    reader_close(&r);
    source_close(&source);
  }
  free(out);
  bytes_free(&file);
  script_close(&s);
}

int main(void) {
  test_sizes();
  test_batches();
  test_odd_numbers();
  test_threads();
  test_pieces();
  test_nothing();
  test_wrong_amounts();
  test_sources();
  test_pipe_is_left();
  test_cut();
  test_cut_at_start();
  test_flips();
  test_kinds();
  test_no_wrong_bytes();
  test_rearranged();
  test_spliced();
  test_appended();
  test_early_close();
  return checks_end();
}
