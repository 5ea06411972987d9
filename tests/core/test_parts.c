// Tests of parts.c: any span of a file's stream is read through the index, and nothing else is; what a
// sparse reader passes over is not read.
#include "check.h"
#include "files.h"
#include "parts.h"

// ---- a source that counts -----------------------------------------------------------------

// As a file would be: not in memory, read in the pieces that are asked for.
struct counted {
  const struct bytes *file;
  uint64_t read;  // bytes
};

static enum status counted_read(struct source *s, void *p, size_t n, size_t *got,
                                struct error *e) {
  struct counted *c = s->ctx;
  (void) e;
  *got = s->at >= s->len ? 0 : n < s->len - s->at ? n : (size_t) (s->len - s->at);
  if (*got) memcpy(p, c->file->p + s->at, *got);
  s->at += *got;
  c->read += *got;
  return OK;
}

static struct source counted_source(struct counted *c) {
  return (struct source){
      .read = counted_read, .can_seek = true, .len = c->file->len, .ctx = c, .fd = -1};
}

static enum status load(struct contents *c, const struct bytes *file) {
  struct source s;
  struct error e = {0};
  source_memory(&s, file->p, file->len);
  enum status st = contents_load_ends(c, &s, &e);
  if (st == OK) st = contents_load_index(c, &s, &e);
  source_close(&s);
  return st;
}

// Waiting is bounded, and on a busy machine not always long enough.
static enum status skip_to(struct reader *r, uint64_t to) {
  enum status st;
  while ((st = reader_skip_to(r, to)) == AGAIN) {}
  return st;
}

static enum status wait_for(struct reader *r) {
  enum status st;
  while ((st = reader_wait(r)) == AGAIN) {}
  return st;
}

// ---- files --------------------------------------------------------------------------------

static void script_large(struct script *s) {
  script_open(s);
  script_bytes(s, 200, 9);
  script_numbers(s, PART_LENT, NUMBER_F64, 300000, RANDOM_BITS);
  script_bytes(s, 50, 9);
  script_strings(s, 90000, 90000, 12);
  script_bytes(s, 70, 9);
  script_numbers(s, PART_LENT, NUMBER_I32, 400000, NARROW);
  script_strings(s, 70000, 40, 9);
  script_bytes(s, 3 << 20, 256);
  script_numbers(s, PART_LENT, NUMBER_I32, 5000, RAMP);
  script_bytes(s, 30, 9);
}

// ---- reading ------------------------------------------------------------------------------

static uint64_t planned_file_len(const struct contents *c, const struct span *spans, size_t n) {
  uint64_t len = 0;
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < c->index.n_blocks; k++) {
      const struct index_block *b = index_block(&c->index, k);
      const bool inside = b->stream_at < spans[i].end && b->stream_at + b->raw_len > spans[i].at;
      if (!inside || (last != SIZE_MAX && k <= last)) continue;
      len += BLOCK_HEADER_LEN + (uint64_t) b->stored_len;
      last = k;
    }
  }
  return len;
}

static enum status read_span(struct reader *r, struct span span, bool numbers, unsigned char *out) {
  enum status st;
  st = skip_to(r, span.at);
  if (st) return st;
  void *to = out;
  size_t n = (size_t) (span.end - span.at);
  while ((st = numbers ? reader_numbers(r, &to, &n) : reader_get(r, &to, &n)) == AGAIN) {}
  return st;
}

// Reads the spans, which ascend, into `out`, one behind the other.
static enum status read_spans(const struct bytes *file, struct contents *c,
                              const struct span *spans, size_t n, const struct reader_opts *opts,
                              unsigned char *out, uint64_t *read) {
  struct counted counter = {.file = file};
  struct source source = counted_source(&counter);
  struct plan plan = {0};
  struct reader r = {0};
  for (size_t i = 0; i < n; i++) check(plan_add(&plan, &c->index, spans[i]), "a plan", i);
  enum status st = parts_open(&r, &source, c, &plan, opts);
  for (size_t i = 0; st == OK && i < n; i++) {
    st = read_span(&r, spans[i], opts->build && i % 2, out);
    out += spans[i].end - spans[i].at;
  }
  if (st == OK) st = wait_for(&r);
  parts_close(&r, c);
  plan_close(&plan);
  *read = counter.read;
  return st;
}

static void check_spans(const struct bytes *file, struct contents *c, const struct script *s,
                        const struct span *spans, size_t n, const struct reader_opts *opts) {
  unsigned char *out = make(s->stream.len), *expected = make(s->stream.len);
  size_t len = 0;
  uint64_t read;
  for (size_t i = 0; i < n; i++) {
    memcpy(expected + len, s->stream.p + spans[i].at, (size_t) (spans[i].end - spans[i].at));
    len += (size_t) (spans[i].end - spans[i].at);
  }
  check(read_spans(file, c, spans, n, opts, out, &read) == OK, "spans are read", n);
  check(same_bytes(out, expected, len), "as they are in the stream", n);
  check(read == planned_file_len(c, spans, n), "and no byte but their blocks'", read);
  free(out);
  free(expected);
}

static size_t random_spans(struct span *spans, size_t most, size_t len) {
  size_t n = 0;
  for (uint64_t at = random_below(1000); n < most && at < len; n++) {
    const uint64_t left = len - at, k = random_below(4) ? random_below(3000) : random_below(3000000);
    spans[n] = (struct span){at, at + (k < left ? k : left)};
    at = spans[n].end + (random_below(3) ? random_below(2000) : random_below(4000000));
  }
  return n;
}

static void test_spans(void) {
  struct script s;
  script_large(&s);
  for (int codec = CODEC_STORED; codec <= CODEC_ZSTD; codec++) {
    const struct writer_opts opts = opts_of((enum codec) codec, 1, 2);
    struct bytes file = file_of(&s, &opts);
    struct contents c = {0};
    check(load(&c, &file) == OK && c.indexed, "an index", 0);
    const struct span all = {0, s.stream.len};
    for (int round = 0; round < (UNDER_TSAN ? 10 : 60); round++) {
      struct span spans[20];
      const struct reader_opts how = {.n_threads = 1 + (unsigned) round % 3, .build = round & 1};
      const size_t n = random_spans(spans, 1 + random_below(20), s.stream.len);
      check_spans(&file, &c, &s, spans, n, &how);
    }
    check_spans(&file, &c, &s, &all, 1, &(struct reader_opts){.n_threads = 2, .build = true});
    check_spans(&file, &c, &s, &all, 0, &(struct reader_opts){.n_threads = 1});
    contents_close(&c);
    bytes_free(&file);
  }
  script_close(&s);
}

// ---- ranges of strings --------------------------------------------------------------------

static void check_range(const struct script_part *p, struct contents *c,
                        const struct bytes *file, uint64_t from, uint64_t n) {
  const struct wish w = {.part = 0, .ranged = true, .from = from, .n = n};
  struct counted counter = {.file = file};
  struct source source = counted_source(&counter);
  struct plan plan = {0};
  struct reader r = {0};
  size_t block;
  uint64_t before;
  check(wish_in_blocks(&c->index, &w, &block, &before), "they are in blocks", from);
  check(plan_add_wish(&plan, &c->index, &w), "a plan", from);
  const struct reader_opts opts = {.n_threads = 1, .build = true};
  enum status st = parts_open(&r, &source, c, &plan, &opts);
  if (st == OK)
    st = skip_to(&r, index_block(&c->index, block)->stream_at);
  for (uint64_t i = 0; st == OK && i < n;) {
    const struct string_array *a;
    while ((st = reader_strings(&r, SIZE_MAX, &a)) == AGAIN) {}
    if (st || !a) break;
    for (size_t k = (size_t) before; k < a->n && i < n; k++, i++) {
      const struct string_item *got = &a->items[a->codes ? a->codes[k] : k];
      const struct string_item *want = &p->items[from + i];
      check(got->len == want->len && got->flags == want->flags &&
                same_bytes(got->chars, want->chars, want->len > 0 ? (size_t) want->len : 0),
            "a string of the range", from + i);
    }
    before = 0;
    if (i == n) st = OK;
  }
  check(st == OK, "a range of strings", from);
  parts_close(&r, c);
  plan_close(&plan);
}

static void test_strings(void) {
  struct script s;
  script_large(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  for (size_t k = 0; k < s.n; k++) {
    const struct script_part *p = &s.parts[k];
    if (p->kind != PART_STRINGS) continue;
    struct contents c = {0};
    check(load(&c, &file) == OK, "an index", k);
    const uint64_t at = (uint64_t) (p->p - s.stream.p) - 8;
    const struct part part = {
        .type = 16, .length = p->n, .at = at, .payload_len = p->len, .flags = 16};
    const struct part next = {.type = 13, .at = at + 8 + p->len, .flags = 13};
    check(directory_add(&c.index.directory, &part, false) &&
              directory_add(&c.index.directory, &next, false),
          "a directory", k);
    for (int i = 0; i < 20; i++) {
      const uint64_t from = random_below((uint32_t) p->n);
      check_range(p, &c, &file, from, 1 + random_below((uint32_t) (p->n - from)));
    }
    check_range(p, &c, &file, 0, p->n);
    check_range(p, &c, &file, p->n - 1, 1);
    contents_close(&c);
  }
  bytes_free(&file);
  script_close(&s);
}

// ---- what is passed over ------------------------------------------------------------------

// As R's stream is: a few bytes between any two vectors. The last part is numbers.
static void script_vectors(struct script *s) {
  script_open(s);
  script_bytes(s, 40, 9);
  script_numbers(s, PART_LENT, NUMBER_F64, 300000, RANDOM_BITS);
  script_bytes(s, 12, 9);
  script_numbers(s, PART_LENT, NUMBER_I32, 3000, RAMP);
  script_bytes(s, 3 << 20, 256);
  script_strings(s, 90000, 90000, 12);
  script_bytes(s, 12, 9);
  script_strings(s, 300, 40, 9);
  script_bytes(s, 12, 9);
  script_strings(s, 70000, 40, 9);
  script_bytes(s, 70, 9);
  script_numbers(s, PART_LENT, NUMBER_I32, 400000, NARROW);
}

// Whether part p lies in deferrable blocks of its own; then *len is theirs in the file.
static bool is_deferrable(const struct contents *c, uint64_t at, const struct script_part *p,
                          uint64_t *len) {
  struct deferrable d;
  const size_t first = index_find(&c->index, at);
  if (index_block(&c->index, first)->stream_at != at || !deferrable_at(&c->index, first, &d))
    return false;
  *len = 0;
  for (size_t k = first; k < d.end; k++)
    *len += BLOCK_HEADER_LEN + (uint64_t) index_block(&c->index, k)->stored_len;
  check(d.first == first && d.stream_end == at + p->len, "the blocks are the part's", at);
  if (p->kind == PART_STRINGS) check(d.count == p->n, "and have its strings", d.count);
  return true;
}

// Passes over the deferrable parts that `mask` has, counted from 0, and reads the others. Returns how
// many there are.
static unsigned check_sparse(const struct script *s, const struct bytes *file,
                             struct contents *c, unsigned mask,
                             const struct reader_opts *opts) {
  struct counted counter = {.file = file};
  struct source source = counted_source(&counter);
  struct reader r = {0};
  unsigned n = 0;
  uint64_t at = 0, len, passed = 0;
  unsigned char *out = make(s->stream.len);
  enum status st = parts_open_sparse(&r, &source, c, opts);
  for (size_t i = 0; st == OK && i < s->n; at += s->parts[i++].len) {
    const struct script_part *p = &s->parts[i];
    if (is_deferrable(c, at, p, &len) && mask & 1u << n++) {
      passed += len;
      st = skip_to(&r, at + p->len);
      continue;
    }
    void *to = out;
    st = get_part(&r, p, opts->build, &to, SIZE_MAX);
    if (st == OK) st = wait_for(&r);
    check(st == OK && same_bytes(out, p->p, p->len), "a part that is not passed over", i);
  }
  check(st == OK && reader_position(&r) == s->stream.len, "the stream's end", mask);
  bool more = true;
  if (st == OK)
    while ((st = reader_more(&r, &more)) == AGAIN) {}
  check(st == OK && !more, "and nothing behind it", mask);
  check(counter.read == block_at(file, c->index.n_blocks) - FILE_HEADER_LEN - passed,
        "no byte of what is passed over is read", counter.read);
  parts_close(&r, c);
  free(out);
  return n;
}

static void test_sparse(void) {
  struct script s;
  script_vectors(&s);
  for (int codec = CODEC_STORED; codec <= CODEC_ZSTD; codec++) {
    const struct writer_opts opts = opts_of((enum codec) codec, 1, 2);
    struct bytes file = file_of(&s, &opts);
    struct contents c = {0};
    check(load(&c, &file) == OK && c.indexed, "an index", 0);
    for (unsigned mask = 0; mask < 16; mask++) {
      const struct reader_opts how = {.n_threads = 1 + mask % 3, .build = true};
      check(check_sparse(&s, &file, &c, mask, &how) == 4, "four parts may be passed over", mask);
    }
    check_sparse(&s, &file, &c, 5, &(struct reader_opts){.n_threads = 2});
    contents_close(&c);
    bytes_free(&file);
  }
  script_close(&s);
}

// ---- damage -------------------------------------------------------------------------------

// The file is changed after its index has been read: what is read is right, or an error.
static void test_damage(void) {
  struct script s;
  script_large(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  struct contents c = {0};
  unsigned char *out = make(s.stream.len);
  check(load(&c, &file) == OK, "an index", 0);
  for (size_t k = 0; k < c.index.n_blocks; k++) {
    const struct index_block *b = index_block(&c.index, k);
    const struct span span = {b->stream_at, b->stream_at + b->raw_len};
    for (int i = 0; i < 40; i++) {
      const size_t at = (size_t) b->at + (i < 32 ? (size_t) i : 32 + random_below(b->stored_len));
      const struct reader_opts how = {.n_threads = 1 + (unsigned) i % 2, .build = i & 1};
      uint64_t read;
      file.p[at] ^= 0x55;
      const enum status st = read_spans(&file, &c, &span, 1, &how, out, &read);
      check(st == ERR_CORRUPT || st == ERR_VERSION, "a changed block is refused", at);
      file.p[at] ^= 0x55;
    }
  }
  free(out);
  contents_close(&c);
  bytes_free(&file);
  script_close(&s);
}

// A place in the stream that no planned block holds.
static void test_astray(void) {
  struct script s;
  script_large(&s);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  struct contents c = {0};
  check(load(&c, &file) == OK, "an index", 0);
  struct counted counter = {.file = &file};
  struct source source = counted_source(&counter);
  struct plan plan = {0};
  struct reader r = {0};
  const struct reader_opts how = {.n_threads = 1};
  check(plan_add(&plan, &c.index, (struct span){s.stream.len / 2, s.stream.len / 2 + 1}), "plan", 0);
  check(parts_open(&r, &source, &c, &plan, &how) == OK, "a reader", 0);
  check(skip_to(&r, 10) == ERR_CORRUPT, "a place before is none", 0);
  parts_close(&r, &c);
  check(parts_open(&r, &source, &c, &plan, &how) == OK, "a reader", 1);
  check(skip_to(&r, s.stream.len - 1) == ERR_CORRUPT, "a place behind is none", 0);
  parts_close(&r, &c);
  plan_close(&plan);
  contents_close(&c);
  bytes_free(&file);
  script_close(&s);
}

int main(void) {
  test_spans();
  test_strings();
  test_sparse();
  test_damage();
  test_astray();
  return checks_end();
}
