// Tests of writer.c and reader.c when something fails: memory at every call, the sink at every
// block, the source at every read, threads; and what they need of memory and time when all is well.
//
// link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=pthread_create
// link: -Wl,--wrap=ZSTD_createCCtx,--wrap=ZSTD_createDCtx,--wrap=XXH3_createState
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <pthread.h>
#include <zstd.h>

#include "check.h"
#include "files.h"
#include "temp.h"

ZSTD_CCtx *__real_ZSTD_createCCtx(void);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void) {
  return memory_refused() ? NULL : __real_ZSTD_createCCtx();
}

ZSTD_DCtx *__real_ZSTD_createDCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void) {
  return memory_refused() ? NULL : __real_ZSTD_createDCtx();
}

XXH3_state_t *__real_XXH3_createState(void);
XXH3_state_t *__wrap_XXH3_createState(void);
XXH3_state_t *__wrap_XXH3_createState(void) {
  return memory_refused() ? NULL : __real_XXH3_createState();
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

static bool threads_start = true;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg) {
  return threads_start ? __real_pthread_create(thread, attr, run, arg) : EAGAIN;
}

// ---- sinks and sources that fail ----------------------------------------------------------

struct test_sink {
  struct sink sink;
  unsigned long n_writes;
  unsigned long fail_at;  // this write fails; 0: none
  bool failed, late;      // it was called again after it failed
  long pause_us;
  size_t len;
};

static enum status test_write(struct sink *sink, const void *p, size_t n, struct error *e) {
  struct test_sink *s = (struct test_sink *) sink;
  (void) p;
  if (s->failed) s->late = true;
  if (s->pause_us) sleep_us(s->pause_us);
  if (++s->n_writes == s->fail_at) {
    s->failed = true;
    return fail(e, ERR_IO, ENOSPC, "writing");
  }
  s->len += n;
  return OK;
}

static enum status test_commit(struct sink *sink, struct error *e) {
  (void) sink;
  (void) e;
  return OK;
}

static struct test_sink test_sink(unsigned long fail_at, long pause_us) {
  return (struct test_sink){
      {.write = test_write, .commit = test_commit}, .fail_at = fail_at, .pause_us = pause_us};
}

struct test_source {
  struct source source;
  const unsigned char *p;
  size_t len;
  unsigned long n_reads;
  unsigned long fail_at;
  bool hesitates;  // says AGAIN now and then, with or without a few bytes
};

static enum status test_read(struct source *source, void *p, size_t n, size_t *got,
                             struct error *e) {
  struct test_source *s = (struct test_source *) source;
  *got = 0;
  if (++s->n_reads == s->fail_at) return fail(e, ERR_IO, EIO, "reading");
  const size_t left = s->len - (size_t) source->at;
  *got = n < left ? n : left;
  const bool again = s->hesitates && *got && random_below(3);
  if (again) *got = random_below(2) ? 0 : random_below((uint32_t) *got);
  memcpy(p, s->p + source->at, *got);
  source->at += *got;
  return again ? AGAIN : OK;
}

static void test_close(struct source *source) { free(source->owned); }

static struct test_source test_source(const struct bytes *file, unsigned long fail_at,
                                      bool hesitates) {
  return (struct test_source){{.read = test_read, .close = test_close, .fd = -1},
                              file->p,
                              file->len,
                              0,
                              fail_at,
                              hesitates};
}

// ---- what is saved ------------------------------------------------------------------------

// Every kind of block, each way, in about a dozen blocks.
static void script_some(struct script *s) {
  script_open(s);
  script_bytes(s, 700, 9);
  script_numbers(s, PART_LENT, NUMBER_F64, 70000, NARROW);
  script_strings(s, 3000, 40, 9);
  script_bytes(s, 40000, 200);
  script_strings(s, 3000, 3000, 9);
  script_numbers(s, PART_NUMBERS, NUMBER_I32, 140000, RAMP);
  script_numbers(s, PART_LENT, NUMBER_I32, 2000, RANDOM_BITS);
  script_bytes(s, 600000, 3);
}

// ---- memory -------------------------------------------------------------------------------

static bool is_over(enum status st, const char *what, long nth) {
  const bool refused = memory.n_refused > 0;
  if (refused)
    check(st == OK || st == ERR_NOMEM, what, (uint64_t) nth);
  else
    check(st == OK, "without a refusal all is well", (uint64_t) nth);
  return !refused;
}

static void fail_writer_memory(const struct script *s, unsigned n_threads, bool all_after) {
  for (long nth = 1; nth < 2000; nth++) {
    const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, n_threads);
    struct writer w = {0};
    struct sink sink;
    sink_memory(&sink);
    memory_fail(nth, all_after);
    const enum status st = script_write_in(s, &w, &sink, &opts, 8096);
    const bool over = is_over(st, "a save without memory", nth);
    memory_fail(0, false);
    if (st == ERR_NOMEM) check(w.err.code == OK || w.err.code == ERR_NOMEM, "kept", (uint64_t) nth);
    if (st && w.err.code) {
      const void *p = s->stream.p;
      size_t n = 10000000;
      struct string_batch *b;
      check(writer_put(&w, &p, &n) == st && writer_finish(&w) == st, "again", (uint64_t) nth);
      check(writer_batch(&w, &b) == st, "and for strings", (uint64_t) nth);
    }
    writer_close(&w);
    sink_close(&sink);
    if (over) return;
  }
  check(false, "it gets through in the end", n_threads);
}

static void fail_reader_memory(const struct script *s, const struct bytes *file, unsigned n_threads,
                               unsigned how, bool all_after) {
  unsigned char *out = make(s->stream.len);
  for (long nth = 1; nth < 2000; nth++) {
    const struct reader_opts opts = {
        .n_threads = n_threads, .verify_all = how & 1, .build = how & 2};
    struct reader r = {0};
    struct test_source pipe = test_source(file, 0, true);
    struct source memory_source;
    source_memory(&memory_source, file->p, file->len);
    struct source *source = how & 4 ? &pipe.source : &memory_source;
    memset(out, 0, s->stream.len);
    memory_fail(nth, all_after);
    const enum status st = script_read_in(s, &r, source, &opts, 8096, out);
    const bool over = is_over(st, "a read without memory", nth);
    memory_fail(0, false);
    check(r.err.code == st, "kept", (uint64_t) nth);
    if (st == OK) check(same_bytes(out, s->stream.p, s->stream.len), "right", (uint64_t) nth);
    if (st) {
      void *p = out;
      size_t n = 10000000;
      check(reader_get(&r, &p, &n) == st && reader_finish(&r) == st, "again", (uint64_t) nth);
      check(reader_start(&r) == st, "and at the start", (uint64_t) nth);
    }
    reader_close(&r);
    source_close(source);
    if (over) break;
    check(nth < 1999, "it gets through in the end", how);
  }
  free(out);
}

static void test_memory(void) {
  struct script s;
  script_some(&s);
  for (unsigned n_threads = 1; n_threads <= 3; n_threads += 2) {
    fail_writer_memory(&s, n_threads, false);
    fail_writer_memory(&s, n_threads, true);
  }
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  for (unsigned how = 0; how < 8; how++) {
    fail_reader_memory(&s, &file, 1, how, how & 1);
    fail_reader_memory(&s, &file, 3, how, false);
  }
  bytes_free(&file);
  script_close(&s);
}

static void test_file_memory(void) {
  for (long nth = 1; nth < 20; nth++) {
    struct sink sink;
    struct error e = {0};
    memory_fail(nth, true);
    enum status st = sink_file(&sink, temp_path("faults"), &e);
    if (st == OK) st = sink.write(&sink, "x", 1, &e);
    memory_fail(0, false);
    check(st == e.code && (st == OK || st == ERR_NOMEM || (st == ERR_IO && e.sys == ENOMEM)),
          "a file without memory", (uint64_t) nth);
    sink_close(&sink);
  }
}

// ---- the sink -----------------------------------------------------------------------------

static void test_full_disk(void) {
  struct script s;
  script_some(&s);
  for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
    for (unsigned long at = 1; at < 100; at++) {
      struct test_sink sink = test_sink(at, 0);
      struct writer w = {0};
      const struct writer_opts opts = opts_of(CODEC_LZ4, 1, n_threads);
      const enum status st = script_write_in(&s, &w, &sink.sink, &opts, 8096);
      if (!sink.failed)
        check(st == OK, "a disk large enough", at);
      else
        check(st == ERR_IO && w.err.sys == ENOSPC && w.err.code == ERR_IO, "a full disk", at);
      if (st) check(writer_finish(&w) == ERR_IO, "and it stays full", at);
      writer_close(&w);
      check(!sink.late, "nothing is written after a failure", at);
      if (!sink.failed) break;
      check(at < 99, "it gets through in the end", at);
    }
  }
  script_close(&s);
}

static void test_slow_sink(void) {
  struct script s;
  script_some(&s);
  for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
    struct test_sink sink = test_sink(0, 20000), quick = test_sink(0, 0);
    struct error e = {0};
    const struct writer_opts opts = opts_of(CODEC_LZ4, 1, n_threads);
    check(script_write(&s, &sink.sink, &opts, 8096, &e) == OK, "a slow sink", n_threads);
    check(script_write(&s, &quick.sink, &opts, 8096, &e) == OK, "a quick one", n_threads);
    check(sink.len == quick.len && sink.n_writes == quick.n_writes, "gets the same", sink.len);
  }
  script_close(&s);
}

// Once stopped, a writer does not go on to write what is ready: one write at most is waited for.
static void test_close_of_slow_sink(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 7 * BYTES_BLOCK_LEN, 256);
  struct test_sink sink = test_sink(0, 0);
  struct writer w = {0};
  const struct writer_opts opts = opts_of(CODEC_STORED, 1, 3);
  check(writer_open(&w, &sink.sink, &opts) == OK, "opens", 0);
  sink.pause_us = 500000;
  check(put_part(&w, &s.parts[0], SIZE_MAX) == OK, "blocks are under way", 0);
  sleep_us(100000);
  writer_close(&w);
  check(sink.n_writes <= 3, "closing waits for one write", sink.n_writes);
  script_close(&s);
}

// ---- the source ---------------------------------------------------------------------------

static void test_failing_source(void) {
  struct script s;
  script_some(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  unsigned char *out = make(s.stream.len);
  for (unsigned how = 0; how < 8; how++) {
    for (unsigned long at = 1; at < 200; at++) {
      const struct reader_opts ropts = {
          .n_threads = how & 4 ? 3 : 1, .verify_all = how & 1, .build = how & 2};
      struct test_source source = test_source(&file, at, false);
      struct reader r = {0};
      const enum status st = script_read_in(&s, &r, &source.source, &ropts, 8096, out);
      const bool failed = source.n_reads >= at;
      check(failed ? st == ERR_IO && r.err.sys == EIO : st == OK, "a source that fails", at);
      check(!failed || source.n_reads == at, "is not asked again", source.n_reads);
      reader_close(&r);
      source_close(&source.source);
      if (!failed) break;
    }
  }
  free(out);
  bytes_free(&file);
  script_close(&s);
}

static void test_hesitant_source(void) {
  struct script s;
  script_some(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  unsigned char *out = make(s.stream.len);
  for (unsigned round = 0; round < 40; round++) {
    const struct reader_opts ropts = {
        .n_threads = 1 + round / 4 % 3, .verify_all = round & 1, .build = round & 2};
    struct test_source source = test_source(&file, 0, true);
    struct error e;
    memset(out, 0, s.stream.len);
    check(script_read(&s, &source.source, &ropts, 8096, out, &e) == OK, "AGAIN at any read", round);
    check(same_bytes(out, s.stream.p, s.stream.len), "what is read is right", round);
    source_close(&source.source);
  }
  free(out);
  bytes_free(&file);
  script_close(&s);
}

// ---- threads ------------------------------------------------------------------------------

static void test_no_threads(void) {
  struct script s;
  script_some(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 8);
  struct bytes with = file_of(&s, &opts);
  threads_start = false;
  struct bytes without = file_of(&s, &opts);
  check(with.len == without.len && same_bytes(with.p, without.p, with.len), "equal bytes",
        with.len);
  for (unsigned how = 0; how < 4; how++) {
    const struct reader_opts ropts = {.n_threads = 8, .verify_all = how & 1, .build = how & 2};
    struct error e;
    check(read_back(&s, with.p, with.len, &ropts, &e) == OK, "read without threads", how);
  }
  threads_start = true;
  bytes_free(&with);
  bytes_free(&without);
  script_close(&s);
}

// ---- how much memory ----------------------------------------------------------------------

enum { MB = 1 << 20 };

// A slot holds what goes into a block and the block; a thread what its filter needs: each a few
// times a block's length.
static long bound_of(unsigned n_threads) {
  const long n = (long) n_threads;
  return ((2 * n + 2) * 4 + n * 12) * BATCH_MAX_STREAM + 16 * MB;
}

// `rounds` times the script's parts; what is counted is what the core takes.
static long writer_peak(const struct script *s, unsigned n_threads, int rounds) {
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, n_threads);
  struct test_sink sink = test_sink(0, 0);
  struct writer w = {0};
  memory_count();
  check(writer_open(&w, &sink.sink, &opts) == OK, "opens", 0);
  for (int i = 0; i < rounds; i++)
    for (size_t k = 0; k < s->n; k++) check(put_part(&w, &s->parts[k], 8096) == OK, "put", k);
  enum status st;
  while ((st = writer_finish(&w)) == AGAIN) {}
  check(st == OK, "finished", 0);
  const long peak = memory.peak;
  writer_close(&w);
  check(memory.live == 0, "all of it is given back", (uint64_t) memory.live);
  return peak;
}

static long reader_peak(const struct script *s, const struct bytes *file, unsigned n_threads,
                        bool build, bool pipe) {
  unsigned char *out = make(s->stream.len);
  const struct reader_opts opts = {.n_threads = n_threads, .build = build};
  struct test_source source = test_source(file, 0, false);
  struct source whole;
  struct error e;
  source_memory(&whole, file->p, file->len);
  memory_count();
  check(script_read(s, pipe ? &source.source : &whole, &opts, 8096, out, &e) == OK, "read", 0);
  const long peak = memory.peak;
  check(memory.live == 0, "all of it is given back", (uint64_t) memory.live);
  check(same_bytes(out, s->stream.p, s->stream.len), "right", 0);
  free(out);
  return peak;
}

static void check_peaks(const struct script *s, const char *what) {
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(s, &opts);
  for (unsigned n_threads = 1; n_threads <= 8; n_threads += n_threads == 1 ? 1 : 6) {
    const long bound = bound_of(n_threads);
    const long short_peak = writer_peak(s, n_threads, 1), long_peak = writer_peak(s, n_threads, 4);
    check(long_peak <= bound, "a save's memory is bounded", (uint64_t) long_peak);
    printf("%s, %u threads: save %.1f and %.1f MB", what, n_threads, (double) short_peak / MB,
           (double) long_peak / MB);
    for (int kind = 0; kind < 4; kind++) {
      const long peak = reader_peak(s, &file, n_threads, kind & 1, kind & 2);
      check(peak <= bound, "a read's memory is bounded", (uint64_t) peak);
      printf(", read %.1f", (double) peak / MB);
    }
    printf(" of %.1f MB\n", (double) bound / MB);
  }
  bytes_free(&file);
}

static void test_peaks(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 12 * MB, 256);
  check_peaks(&s, "bytes");
  script_close(&s);
  script_open(&s);
  for (int i = 0; i < 3; i++) script_numbers(&s, PART_NUMBERS, NUMBER_F64, MB / 2, RANDOM_BITS);
  check_peaks(&s, "doubles");
  script_close(&s);
  script_open(&s);
  for (int i = 0; i < 3; i++) script_strings(&s, 300000, 300000, 12);
  check_peaks(&s, "strings");
  script_close(&s);
  script_open(&s);
  for (int i = 0; i < 3; i++) script_strings(&s, 300000, 100, 12);
  check_peaks(&s, "repeated strings");
  script_close(&s);
}

int main(void) {
  test_memory();
  test_file_memory();
  test_full_disk();
  test_slow_sink();
  test_close_of_slow_sink();
  test_failing_source();
  test_hesitant_source();
  test_no_threads();
  if (!UNDER_TSAN) test_peaks();
  return checks_end();
}
