// Tests of container_gzip.c: what is written any gunzip reads, what gzip writes is read, and of
// damaged files never a wrong byte.
//
// link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
// link: -Wl,--wrap=inflateInit2_,--wrap=deflateInit2_
#define _GNU_SOURCE
#include "memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"
#include "container.h"
#include "files.h"
#include "members.h"
#include "temp.h"
#include "unsized.h"

enum { MB = 1 << 20 };

int __real_inflateInit2_(z_streamp z, int bits, const char *version, int size);
int __wrap_inflateInit2_(z_streamp z, int bits, const char *version, int size);
int __wrap_inflateInit2_(z_streamp z, int bits, const char *version, int size) {
  return memory_refused() ? Z_MEM_ERROR : __real_inflateInit2_(z, bits, version, size);
}

int __real_deflateInit2_(z_streamp z, int level, int method, int bits, int mem, int strategy,
                         const char *version, int size);
int __wrap_deflateInit2_(z_streamp z, int level, int method, int bits, int mem, int strategy,
                         const char *version, int size);
int __wrap_deflateInit2_(z_streamp z, int level, int method, int bits, int mem, int strategy,
                         const char *version, int size) {
  if (memory_refused()) return Z_MEM_ERROR;
  return __real_deflateInit2_(z, level, method, bits, mem, strategy, version, size);
}

// ---- streams and files --------------------------------------------------------------------

static struct bytes stream_of(size_t n, unsigned spread) {
  struct bytes b = {make(n), n};
  for (size_t i = 0; i < n; i++) b.p[i] = (unsigned char) (spread ? random_below(spread) : 0);
  return b;
}

static void add_bytes(struct bytes *file, const void *p, size_t n) {
  if (!(file->p = realloc(file->p, file->len + n))) abort();
  memcpy(file->p + file->len, p, n);
  file->len += n;
}

// As gunzip: all members, by zlib alone. -1: it is none.
static long reference(const struct bytes *file, unsigned char *out, size_t room) {
  z_stream z = {0};
  if (inflateInit2(&z, 15 + 16) != Z_OK) abort();
  z.next_in = file->p;
  z.avail_in = (uInt) file->len;
  z.next_out = out;
  z.avail_out = (uInt) room;
  int rc = Z_STREAM_END;
  while (rc == Z_STREAM_END && z.avail_in) {
    rc = inflate(&z, Z_FINISH);
    if (rc == Z_STREAM_END && inflateReset(&z) != Z_OK) abort();
  }
  const long n = rc == Z_STREAM_END ? (long) (room - z.avail_out) : -1;
  inflateEnd(&z);
  return n;
}

static enum status write_stream(const struct bytes *stream, int level, unsigned n_threads,
                                struct sink *sink, struct error *e) {
  struct writer w = {0};
  const struct writer_opts opts = {
      .container = &gzip_out, .block = {.level = level}, .n_threads = n_threads};
  enum status st = writer_open(&w, sink, &opts);
  // In pieces of two lengths, one of them lent.
  const size_t half = stream->len / 2 & ~(size_t) 7;
  const void *p = stream->p;
  size_t count = half / 8;
  if (st == OK) st = put_all(&w, stream->p + half, 0, 1);
  while (st == OK && count && (st = writer_lend(&w, NUMBER_F64, &p, &count)) == AGAIN) st = OK;
  if (st == OK) st = put_all(&w, stream->p + half, stream->len - half, 8096);
  if (st == OK)
    while ((st = writer_finish(&w)) == AGAIN) {}
  *e = w.err;
  writer_close(&w);
  return st;
}

static struct bytes gzip_of(const struct bytes *stream, int level, unsigned n_threads) {
  struct sink sink;
  struct error e = {0};
  sink_memory(&sink);
  check(write_stream(stream, level, n_threads, &sink, &e) == OK, "a file is written", 0);
  struct bytes b = {make(sink.memory.len), sink.memory.len};
  sink_move(&sink, b.p);
  sink_close(&sink);
  return b;
}

// ---- reading ------------------------------------------------------------------------------

enum { FROM_MEMORY, FROM_FILE, FROM_UNSIZED, FROM_HESITANT, N_KINDS };

struct outcome {
  enum status status;
  struct error err;
  bool goes_on;
  size_t len;  // read
};

// Takes `n` bytes of stream and finishes; what is read must be the stream's.
static struct outcome take(struct source *source, const struct reader_opts *opts,
                           const struct bytes *stream, size_t n) {
  struct reader r = {0};
  struct outcome o = {0};
  unsigned char *out = make(n);
  void *to = out;
  o.status = reader_open(&r, source, opts);
  if (o.status == OK)
    while ((o.status = reader_start(&r)) == AGAIN) {}
  for (size_t turn = 0; o.status == OK && o.len < n; turn++) {
    size_t k = n - o.len, left;
    if (k > 5000) k = turn % 3 ? 5000 : k < MB ? k : MB;
    left = k;
    while ((o.status = opts->build && turn % 2 ? reader_numbers(&r, &to, &left)
                                               : reader_get(&r, &to, &left)) == AGAIN) {}
    o.len += k - left;
  }
  if (o.status == OK)
    while ((o.status = reader_finish(&r)) == AGAIN) {}
  o.err = r.err;
  o.goes_on = r.goes_on;
  check(o.status == r.err.code, "the status is the error's", 0);
  check(o.status != OK || o.len == n, "all is read", o.len);
  check(o.status != OK || same_bytes(out, stream->p, n), "never a wrong byte", n);
  reader_close(&r);
  free(out);
  return o;
}

static void write_file(const struct bytes *file) {
  FILE *f = fopen(temp_path("gzip"), "wb");
  if (!f || fwrite(file->p, 1, file->len, f) != file->len || fclose(f)) abort();
}

static struct outcome read_as(const struct bytes *file, unsigned kind, struct reader_opts opts,
                              const struct bytes *stream, size_t n) {
  struct unsized u;
  struct source s;
  struct error e = {0};
  opts.container = &gunzip_in;
  if (kind == FROM_FILE) {
    write_file(file);
    if (source_file(&s, temp_path("gzip"), &e)) abort();
    unlink(temp_path("gzip"));
  } else {
    source_memory(&s, file->p, file->len);
  }
  unsized_open(&u, file, kind == FROM_HESITANT);
  struct source *source = kind >= FROM_UNSIZED ? &u.source : &s;
  const struct outcome o = take(source, &opts, stream, n);
  source_close(&u.source);
  source_close(&s);
  return o;
}

static void reads_well(const struct bytes *file, const struct bytes *stream, bool goes_on,
                       const char *what) {
  for (unsigned kind = 0; kind < N_KINDS; kind++)
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
      const struct reader_opts opts = {.n_threads = n_threads, .build = n_threads % 2};
      const struct outcome o = read_as(file, kind, opts, stream, stream->len);
      check(o.status == OK, what, 100 * kind + n_threads);
      check(o.goes_on == goes_on, "what follows the stream is told", 100 * kind + n_threads);
    }
}

// ---- there and back -----------------------------------------------------------------------

static void round_trip(size_t n, unsigned spread, int level) {
  struct bytes stream = stream_of(n, spread), file = gzip_of(&stream, level, 1);
  unsigned char *out = make(n + 1);
  check(reference(&file, out, n + 1) == (long) n && same_bytes(out, stream.p, n),
        "zlib reads what is written", n);
  reads_well(&file, &stream, false, "what is written is read");
  for (unsigned n_threads = 2; n_threads <= 4; n_threads++) {
    struct bytes again = gzip_of(&stream, level, n_threads);
    check(again.len == file.len && same_bytes(again.p, file.p, file.len),
          "threads do not change the file", n_threads);
    bytes_free(&again);
  }
  free(out);
  bytes_free(&file);
  bytes_free(&stream);
}

static void test_round_trips(void) {
  static const size_t lens[] = {0,           1,           2,      16383,  16384, 16385, 65536,
                                (1 << 18) - 1, 1 << 18, MB - 1, MB, MB + 1, 2 * MB, 5 * MB + 7};
  for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
    if (UNDER_TSAN && lens[i] > MB + 1) continue;
    round_trip(lens[i], 256, 1);  // random: a block of the file for each 16 KiB
    round_trip(lens[i], i % 2 ? 0 : 3, 6);
  }
  round_trip(100000, 20, 0);
  round_trip(100000, 20, 9);
}

static void test_levels(void) {
  struct bytes stream = stream_of(200000, 20);
  size_t last = SIZE_MAX;
  for (int level = -1; level <= 10; level++) {
    struct bytes file = gzip_of(&stream, level, 2), like = {0};
    add_member(&like, stream.p, stream.len, level < 0 ? 0 : level > 9 ? 9 : level, NULL);
    check(file.len < like.len + like.len / 50, "a level is zlib's", (uint64_t) level);
    check(level < 1 || level > 1 || file.len < last, "level 1 compresses", file.len);
    last = file.len;
    bytes_free(&file);
    bytes_free(&like);
  }
  bytes_free(&stream);
}

// ---- files of others ----------------------------------------------------------------------

static gz_header full_header(void) {
  static unsigned char extra[] = "some extra field", name[] = "data.rds", comment[] = "a comment";
  return (gz_header){.text = 1, .time = 12345, .os = 3, .extra = extra, .extra_len = 16,
                     .name = name, .comment = comment, .hcrc = 1};
}

static void test_headers(void) {
  static const int levels[] = {0, 1, 6, 9};
  for (int i = 0; i < 4; i++) {
    struct bytes stream = stream_of(UNDER_TSAN ? 100000 : 700001, i < 2 ? 256 : 9), file = {0};
    gz_header header = full_header();
    add_member(&file, stream.p, stream.len, levels[i], NULL);
    reads_well(&file, &stream, false, "a member of zlib's is read");
    file.len = 0;
    add_member(&file, stream.p, 1000, levels[i], &header);
    add_member(&file, stream.p, 0, levels[i], &header);
    header.hcrc = 0;
    add_member(&file, stream.p + 1000, stream.len - 1000, levels[i], &header);
    reads_well(&file, &stream, false, "members with all of a header are read");
    bytes_free(&file);
    bytes_free(&stream);
  }
}

// Members whose borders lie at all places of a block of the reader's.
static void test_many_members(void) {
  struct bytes stream = stream_of(150000, 256), file = {0};
  for (size_t at = 0, n = 0; at < stream.len; at += n) {
    n = 1 + at % 97;
    if (n > stream.len - at) n = stream.len - at;
    add_member(&file, stream.p + at, n, 1, NULL);
  }
  reads_well(&file, &stream, false, "many members are one stream");
  bytes_free(&file);
  // One whose magic is split by the border of the first block of 16384 bytes, and its neighbours.
  for (size_t behind = 0; behind < 24; behind++) {
    add_member(&file, stream.p, 16300 - 20 + behind, 0, NULL);
    const size_t fill = 16300 - 20 + behind;
    while (file.len < 16384 - 23) add_member(&file, stream.p + fill, 0, 1, NULL);
    add_member(&file, stream.p + fill, 500, 1, NULL);
    struct bytes part = {stream.p, fill + 500};
    const struct reader_opts opts = {.n_threads = 2};
    check(read_as(&file, FROM_MEMORY, opts, &part, part.len).status == OK, "a split magic", behind);
    bytes_free(&file);
  }
  bytes_free(&stream);
}

static void test_behind(void) {
  static const unsigned char zeros[600], lone[] = {0x1f}, other[] = {0x1f, 0x8c, 8, 0};
  struct bytes stream = stream_of(40000, 256), file = {0};
  add_member(&file, stream.p, stream.len, 1, NULL);
  const size_t len = file.len;
  add_bytes(&file, zeros, sizeof(zeros));
  reads_well(&file, &stream, true, "zeros behind are ignored");
  file.len = len;
  add_bytes(&file, lone, sizeof(lone));
  reads_well(&file, &stream, true, "half a magic behind is ignored");
  file.len = len;
  add_bytes(&file, other, sizeof(other));
  reads_well(&file, &stream, true, "another magic behind is ignored");
  file.len = len;
  for (int i = 0; i < 5000; i++) add_bytes(&file, "rubbish", 7);
  add_member(&file, stream.p, 500, 1, NULL);
  reads_well(&file, &stream, true, "rubbish behind is ignored, and what follows it");
  // More of the stream than the consumer wants.
  file.len = len;
  add_member(&file, stream.p, stream.len, 1, NULL);
  reads_well(&file, &stream, true, "a second object is ignored");
  file.p[file.len - 6] ^= 1;
  const struct reader_opts opts = {.n_threads = 2};
  check(read_as(&file, FROM_FILE, opts, &stream, stream.len).status == ERR_CORRUPT,
        "but its checksum is not", 0);
  bytes_free(&file);
  bytes_free(&stream);
}

static void test_not_gzip(void) {
  static const char *const files[] = {"", "\x1f", "\x8b\x1f", "X\n", "\x1f\x8c__________"};
  struct bytes none = {0};
  for (unsigned i = 0; i < 5; i++)
    for (unsigned kind = 0; kind < N_KINDS; kind++) {
      struct bytes file = {(unsigned char *) files[i], strlen(files[i])};
      const struct reader_opts opts = {.n_threads = 2};
      check(read_as(&file, kind, opts, &none, 0).status == ERR_FORMAT, "not gzip'ed", i);
    }
}

// ---- damage -------------------------------------------------------------------------------

static struct bytes small_file(struct bytes *stream, unsigned kind) {
  gz_header header = full_header();
  struct bytes file = {0};
  *stream = stream_of(900, kind % 2 ? 256 : 9);
  if (kind < 2) return gzip_of(stream, 6, 1);
  add_member(&file, stream->p, 300, 6, &header);
  add_member(&file, stream->p + 300, 600, 1, NULL);
  return file;
}

static void test_truncation(void) {
  for (unsigned kind = 0; kind < 4; kind++) {
    struct bytes stream, file = small_file(&stream, kind);
    for (size_t n = 0; n < file.len; n++) {
      struct bytes part = {make_copy(file.p, n), n};
      const struct reader_opts opts = {.n_threads = 1 + n % 3};
      const struct outcome o = read_as(&part, (unsigned) n % N_KINDS, opts, &stream, stream.len);
      check(n < 2 ? o.status == ERR_FORMAT : o.status == ERR_TRUNCATED || o.status == ERR_CORRUPT,
            "a file cut short is an error", n);
      check(kind >= 2 || n < 2 || o.status == ERR_TRUNCATED, "it is truncated, it says", n);
      bytes_free(&part);
    }
    bytes_free(&file);
    bytes_free(&stream);
  }
}

// take() checks that there is never a wrong byte; that damage is found is checked here. Some bits
// mean nothing: zlib by itself tells which.
static bool is_harmless(const struct bytes *file, const struct bytes *stream) {
  unsigned char out[2048];
  const long n = reference(file, out, sizeof(out));
  return n == (long) stream->len && same_bytes(out, stream->p, stream->len);
}

static void test_flips(void) {
  for (unsigned kind = 0; kind < 4; kind++) {
    struct bytes stream, file = small_file(&stream, kind);
    unsigned n_harmless = 0;
    for (size_t bit = 0; bit < 8 * file.len; bit++) {
      struct bytes part = {make_copy(file.p, file.len), file.len};
      part.p[bit / 8] ^= (unsigned char) (1 << bit % 8);
      const struct reader_opts opts = {.n_threads = 1 + bit % 3};
      const struct outcome o =
          read_as(&part, (unsigned) (bit % 5 ? bit % 2 * FROM_HESITANT : bit % N_KINDS), opts,
                  &stream, stream.len);
      const bool harmless = is_harmless(&part, &stream);
      n_harmless += harmless && bit >= 80;
      check((o.status == OK) == harmless, "a flipped bit is found", bit);
      // A shorter object that the damage could make: the checksum is looked at all the same.
      if (bit >= 80 && kind < 2 && !harmless)
        check(read_as(&part, FROM_MEMORY, opts, &stream, 10).status != OK, "also behind", bit);
      bytes_free(&part);
    }
    // What pads a byte; and of the full header the name, the comment and their like.
    check(n_harmless < (kind < 2 ? 16 : 1000), "few bits mean nothing", n_harmless);
    bytes_free(&file);
    bytes_free(&stream);
  }
}

static void test_large_damage(void) {
  struct bytes stream = stream_of(MB, 256), file = {0};
  add_member(&file, stream.p, stream.len, 1, NULL);
  for (unsigned i = 0; i < 60; i++) {
    const size_t n = 10 + random_below((uint32_t) file.len - 10);
    const struct reader_opts opts = {.n_threads = 1 + i % 4};
    struct bytes part = {make_copy(file.p, file.len), i % 2 ? n : file.len};
    part.p[n] ^= (unsigned char) (1 + random_below(255));
    const struct outcome o = read_as(&part, i % N_KINDS, opts, &stream, stream.len);
    check(o.status == (i % 2 ? ERR_TRUNCATED : ERR_CORRUPT), "damage far inside is found", i);
    check(read_as(&part, i % N_KINDS, opts, &stream, 10).status == o.status,
          "also far behind the object", i);
    bytes_free(&part);
  }
  bytes_free(&file);
  bytes_free(&stream);
}

// ---- limits -------------------------------------------------------------------------------

static struct bytes bomb(size_t n) {
  struct bytes zeros = {calloc(n, 1), n}, file = {0};
  if (!zeros.p) abort();
  add_member(&file, zeros.p, n, 9, NULL);
  bytes_free(&zeros);
  return file;
}

static void test_bomb(void) {
  const size_t n = UNDER_TSAN ? 20u * MB : 100u * MB;
  struct bytes file = bomb(n);
  unsigned char *out = make(MB);
  for (unsigned n_threads = 1; n_threads <= 8; n_threads *= 2) {
    const struct reader_opts opts = {.container = &gunzip_in, .n_threads = n_threads};
    struct reader r = {0};
    struct source s;
    size_t zeros = 0;
    source_memory(&s, file.p, file.len);
    memory_count();
    enum status st = reader_open(&r, &s, &opts);
    if (st == OK) st = reader_start(&r);
    check(r.stream_total >= n && r.stream_total < 2 * n, "the stream's bound", r.stream_total);
    for (size_t i = 0; st == OK && i < n / MB; i++) {
      void *to = out;
      size_t left = MB;
      while ((st = reader_get(&r, &to, &left)) == AGAIN) {}
      zeros += out[0] == 0 && same_bytes(out, out + 1, MB - 1);
    }
    if (st == OK)
      while ((st = reader_finish(&r)) == AGAIN) {}
    check(st == OK && zeros == n / MB, "a bomb is read", zeros);
    // A block for each slot: 4 with one thread, 6 with two and more.
    const long bound = (n_threads == 1 ? 4 : 6) * 17L * MB;
    check(memory.peak <= bound, "in bounded memory", (uint64_t) memory.peak);
    printf("a bomb of %zu MB, %u threads: %.1f MB\n", n / MB, n_threads, (double) memory.peak / MB);
    reader_close(&r);
    source_close(&s);
  }
  free(out);
  bytes_free(&file);
}

static void test_limit(void) {
  struct bytes stream = stream_of(300000, 256), file = gzip_of(&stream, 1, 1);
  for (unsigned kind = 0; kind < N_KINDS; kind++)
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
      struct reader_opts opts = {.n_threads = n_threads, .max_len = stream.len};
      check(read_as(&file, kind, opts, &stream, stream.len).status == OK, "at the limit", kind);
      opts.max_len--;
      check(read_as(&file, kind, opts, &stream, stream.len).status == ERR_LIMIT, "over it", kind);
      opts.max_len = 1;
      const struct outcome o = read_as(&file, kind, opts, &stream, stream.len);
      check(o.status == ERR_LIMIT && o.len == 0, "far over it", o.len);
    }
  bytes_free(&file);
  bytes_free(&stream);
  file = bomb(UNDER_TSAN ? 20u * MB : 100u * MB);
  struct bytes zeros = {calloc(MB, 1), MB};
  const struct reader_opts opts = {.n_threads = 2, .max_len = 10 * MB};
  check(read_as(&file, FROM_MEMORY, opts, &zeros, MB).status == ERR_LIMIT, "a bomb behind", 0);
  bytes_free(&zeros);
  bytes_free(&file);
}

// The limit holds for riffle's own files as well, in all ways to read.
static void test_limit_of_riffle(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 5000, 9);
  script_numbers(&s, PART_LENT, NUMBER_F64, 10000, RAMP);
  script_strings(&s, 3000, 300, 9);
  const struct writer_opts how = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &how);
  for (unsigned i = 0; i < 6; i++) {
    struct error e;
    struct reader_opts opts = {.n_threads = 1 + i % 3, .build = i / 3, .max_len = s.stream.len};
    check(read_back(&s, file.p, file.len, &opts, &e) == OK, "riffle's own, at the limit", i);
    for (opts.max_len = 1; opts.max_len < s.stream.len; opts.max_len += 9001)
      check(read_back(&s, file.p, file.len, &opts, &e) == ERR_LIMIT, "over it", opts.max_len);
    opts.max_len = s.stream.len - 1;
    check(read_back(&s, file.p, file.len, &opts, &e) == ERR_LIMIT, "one over it", i);
  }
  bytes_free(&file);
  script_close(&s);
}

// ---- a real pipe, and memory that runs out ------------------------------------------------

struct feed {
  int fd;
  const struct bytes *file;
};

static void *feed_main(void *arg) {
  const struct feed *f = arg;
  for (size_t at = 0; at < f->file->len;) {
    const size_t left = f->file->len - at, n = left < 7001 ? left : 7001;
    const ssize_t k = write(f->fd, f->file->p + at, n);
    if (k <= 0) break;
    at += (size_t) k;
    if (at == (size_t) k) sleep_us(250000);  // longer than a read waits
  }
  close(f->fd);
  return NULL;
}

static void test_pipe(void) {
  struct bytes stream = stream_of(200000, 256), file = gzip_of(&stream, 1, 1);
  for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
    int fds[2];
    pthread_t thread;
    char path[64];
    struct source s;
    struct error e = {0};
    if (pipe(fds)) abort();
    snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
    struct feed feed = {fds[1], &file};
    if (source_file(&s, path, &e) || pthread_create(&thread, NULL, feed_main, &feed)) abort();
    const struct reader_opts opts = {.container = &gunzip_in, .n_threads = n_threads};
    check(take(&s, &opts, &stream, stream.len).status == OK, "a pipe is read", n_threads);
    source_close(&s);
    close(fds[0]);
    pthread_join(thread, NULL);
  }
  bytes_free(&file);
  bytes_free(&stream);
}

static void test_memory(void) {
  struct bytes stream = stream_of(3 * MB / 2, 5), file = gzip_of(&stream, 1, 1);
  for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
    long refused = 1;
    for (long i = 1; refused; i++) {
      struct sink sink;
      struct error e = {0};
      sink_memory(&sink);
      memory_fail(i, false);
      const enum status st = write_stream(&stream, 1, n_threads, &sink, &e);
      refused = memory.n_refused;
      memory_fail(0, false);
      check(st == (refused ? ERR_NOMEM : OK), "memory runs out while writing", (uint64_t) i);
      sink_close(&sink);
    }
    refused = 1;
    for (long i = 1; refused; i++) {
      // The first is take()'s own.
      const struct reader_opts opts = {.n_threads = n_threads};
      memory_fail(i + 1, false);
      const struct outcome o = read_as(&file, FROM_UNSIZED, opts, &stream, stream.len);
      refused = memory.n_refused;
      memory_fail(0, false);
      check(o.status == (refused ? ERR_NOMEM : OK), "or reading", (uint64_t) i);
    }
  }
  bytes_free(&file);
  bytes_free(&stream);
}

int main(void) {
  test_round_trips();
  test_levels();
  test_headers();
  test_many_members();
  test_behind();
  test_not_gzip();
  test_truncation();
  test_flips();
  test_large_damage();
  test_bomb();
  test_limit();
  test_limit_of_riffle();
  test_pipe();
  test_memory();
  return checks_end();
}
