// Tests of container_bare.c: the file is the stream, and where that is asked for no byte of it is
// read too early.
#include <unistd.h>

#include "check.h"
#include "container.h"
#include "files.h"
#include "temp.h"
#include "unsized.h"

static struct bytes stream_of(size_t n) {
  struct bytes b = {make(n), n};
  for (size_t i = 0; i < n; i++) b.p[i] = (unsigned char) random_u32();
  return b;
}

// The next n bytes, by one of the ways, and whether they are the stream's.
static enum status take(struct reader *r, const struct bytes *stream, size_t at, size_t n,
                        unsigned way) {
  unsigned char *out = make(n);
  void *to = out;
  size_t left = n;
  enum status st;
  const struct string_array *a;
  if (way % 3 == 2) {
    while ((st = reader_strings(r, SIZE_MAX, &a)) == AGAIN) {}
    check(st != OK || !a, "a bare stream has no strings blocks", at);
  }
  while ((st = way % 2 ? reader_numbers(r, &to, &left) : reader_get(r, &to, &left)) == AGAIN) {}
  check(st != OK || same_bytes(out, stream->p + at, n), "the bytes are the stream's", at);
  free(out);
  return st;
}

static enum status begin(struct reader *r, struct source *source, struct reader_opts opts) {
  opts.container = &bare_in;
  enum status st = reader_open(r, source, &opts);
  if (st == OK)
    while ((st = reader_start(r)) == AGAIN) {}
  return st;
}

static enum status finish(struct reader *r) {
  enum status st;
  while ((st = reader_finish(r)) == AGAIN) {}
  return st;
}

// Reads the first n bytes in pieces of growing lengths.
static enum status read_all(struct source *source, struct reader_opts opts,
                            const struct bytes *stream, size_t n, bool *goes_on) {
  struct reader r = {0};
  enum status st = begin(&r, source, opts);
  check(st != OK || r.stream_total == (source->can_seek ? source->len : UINT64_MAX), "the total", n);
  for (size_t at = 0, k = 1; st == OK && at < n; at += k, k = 1 + 3 * k % 700001) {
    if (k > n - at) k = n - at;
    st = take(&r, stream, at, k, (unsigned) k);
  }
  if (st == OK) st = finish(&r);
  *goes_on = r.goes_on;
  check(st == r.err.code, "the status is the error's", n);
  reader_close(&r);
  return st;
}

enum { FROM_MEMORY, FROM_FILE, FROM_UNSIZED, FROM_HESITANT, N_KINDS };

static enum status read_as(unsigned kind, struct reader_opts opts, const struct bytes *file,
                           size_t n, bool *goes_on) {
  struct unsized u;
  struct source s;
  struct error e = {0};
  unsized_open(&u, file, kind == FROM_HESITANT);
  source_memory(&s, file->p, file->len);
  if (kind == FROM_FILE) {
    const char *path = temp_path("bare");
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(file->p, 1, file->len, f) != file->len || fclose(f)) abort();
    if (source_file(&s, path, &e)) abort();
    unlink(path);
  }
  struct source *source = kind >= FROM_UNSIZED ? &u.source : &s;
  const enum status st = read_all(source, opts, file, n, goes_on);
  source_close(&s);
  source_close(&u.source);
  return st;
}

static void test_lengths(void) {
  static const size_t lens[] = {0, 1, 2, 262143, 262144, 262145, 1 << 20, (1 << 20) + 1, 3000000};
  for (unsigned i = 0; i < 9; i++) {
    struct bytes file = stream_of(lens[i]);
    for (unsigned kind = 0; kind < N_KINDS; kind++)
      for (unsigned how = 0; how < 8; how++) {
        const struct reader_opts opts = {
            .n_threads = how % 4 + 1, .build = how & 1, .exact = how & 4};
        bool goes_on;
        check(read_as(kind, opts, &file, file.len, &goes_on) == OK && !goes_on, "all of it", i);
        if (file.len < 2) continue;
        const size_t n = file.len - 1 - file.len / 3;
        check(read_as(kind, opts, &file, n, &goes_on) == OK, "a part of it", i);
        check(goes_on == !opts.exact, "it goes on", how);
        struct bytes less = {make_copy(file.p, n), n};
        check(read_as(kind, opts, &less, n + 1, &goes_on) == ERR_CORRUPT, "too little", i);
        bytes_free(&less);
      }
    bytes_free(&file);
  }
}

static void test_limit(void) {
  struct bytes file = stream_of(600000);
  for (unsigned how = 0; how < 4; how++) {
    struct reader_opts opts = {.n_threads = 1, .exact = how & 1, .build = how & 2};
    bool goes_on;
    opts.max_len = file.len;
    check(read_as(FROM_UNSIZED, opts, &file, file.len, &goes_on) == OK, "at the limit", how);
    opts.max_len--;
    check(read_as(FROM_UNSIZED, opts, &file, file.len, &goes_on) == ERR_LIMIT, "over it", how);
  }
  bytes_free(&file);
}

// Two objects and a rest in one source: after each call no more has been read than was asked for.
static void test_exact(void) {
  struct bytes file = stream_of(1500000);
  for (unsigned how = 0; how < 8; how++) {
    struct unsized u;
    size_t at = 0;
    unsized_open(&u, &file, how & 4);
    for (unsigned object = 0; object < 2; object++) {
      const size_t end = object ? 1400001 : 700000;
      struct bytes rest = {file.p, file.len};
      struct reader r = {0};
      enum status st = begin(&r, &u.source,
                             (struct reader_opts){.n_threads = 3, .exact = true, .build = how & 2});
      check(st == OK && u.source.at == at, "nothing is read to begin", at);
      for (size_t k = 1; st == OK && at < end; k = 1 + 5 * k % 400009) {
        if (k > end - at) k = end - at;
        st = take(&r, &rest, at, k, how & 2 ? (unsigned) k : 0);
        at += k;
        check(u.source.at == at, "not one byte is read too early", at);
      }
      check(st == OK && finish(&r) == OK && !r.goes_on, "an object ends", object);
      check(u.source.at == at, "nothing is read to finish", at);
      reader_close(&r);
    }
    source_close(&u.source);
  }
  bytes_free(&file);
}

// ---- the head -----------------------------------------------------------------------------

// A source that gives a few bytes at a time, and hesitates in between.
struct slow {
  struct source source;
  const struct bytes *file;
  size_t step;
  bool again;
};

static enum status slow_read(struct source *source, void *p, size_t n, size_t *got,
                             struct error *e) {
  struct slow *s = (struct slow *) source;
  (void) e;
  const size_t left = s->file->len - (size_t) source->at;
  s->again = !s->again;
  *got = s->again ? 0 : n < s->step ? n : s->step;
  if (*got > left) *got = left;
  if (*got) memcpy(p, s->file->p + source->at, *got);
  source->at += *got;
  return s->again || *got < n ? (left > *got ? AGAIN : OK) : OK;
}

static void slow_close(struct source *source) { (void) source; }

static void expect_head(struct reader *r, size_t n, const struct bytes *file) {
  enum status st;
  while ((st = reader_head(r, n)) == AGAIN) {}
  const size_t most = n < file->len ? n : file->len, have = (size_t) (r->end - r->at);
  check(st == OK && have >= most && same_bytes(r->at, file->p, most), "the head is there", n);
}

// However short the blocks, the head is put together, in one step or two, and nothing is lost.
static void test_head(void) {
  static const size_t lens[] = {0, 1, 5, 6, 15, 16, 17, 40, 1000};
  for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
    struct bytes file = {make(lens[i]), lens[i]};
    for (size_t k = 0; k < file.len; k++) file.p[k] = (unsigned char) random_below(256);
    for (size_t step = 1; step <= 40; step++) {
      struct slow slow = {
          .source = {.read = slow_read, .close = slow_close, .fd = -1}, .file = &file, .step = step};
      struct reader r = {0};
      check(begin(&r, &slow.source, (struct reader_opts){.n_threads = 1}) == OK, "begins", step);
      expect_head(&r, 6, &file);
      expect_head(&r, READER_HEAD, &file);
      check(take(&r, &file, 0, file.len, (unsigned) step) == OK, "all of it comes", step);
      check(finish(&r) == OK && !r.goes_on, "and no more", step);
      reader_close(&r);
    }
    bytes_free(&file);
  }
}

int main(void) {
  test_lengths();
  test_head();
  test_limit();
  test_exact();
  return checks_end();
}
