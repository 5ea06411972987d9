// files.h - whole riffle files for tests: made by the writer, read back, taken apart and resealed.
#ifndef RIFFLE_TESTS_FILES_H
#define RIFFLE_TESTS_FILES_H

#include <xxhash.h>

#include "check.h"
#include "reader.h"
#include "writer.h"

struct bytes {
  unsigned char *p;
  size_t len;
};

static inline void bytes_free(struct bytes *b) {
  free(b->p);
  *b = (struct bytes){0};
}

// ---- what is saved ------------------------------------------------------------------------

enum part_kind {
  PART_BYTES,    // put
  PART_NUMBERS,  // put, announced as numbers
  PART_LENT,     // lent
  PART_STRINGS
};

struct script_part {
  enum part_kind kind;
  enum number_type type;
  const unsigned char *p;           // numbers and bytes: `len` bytes, inside the stream
  size_t len;                       // bytes of stream
  const struct string_item *items;  // strings
  size_t n;
};

// An object as the producers hand it over, and the stream that it is.
struct script {
  struct script_part parts[24];
  size_t n;
  struct bytes stream;
  size_t cap;
};

enum { SCRIPT_CAP = 1 << 25 };

static inline void script_open(struct script *s) {
  memset(s, 0, sizeof(*s));
  s->cap = SCRIPT_CAP;  // never moved: the parts point into it
  s->stream.p = make(s->cap);
}

static inline void script_close(struct script *s) {
  for (size_t i = 0; i < s->n; i++) free((void *) s->parts[i].items);
  bytes_free(&s->stream);
}

static inline struct script_part *script_add(struct script *s, enum part_kind kind, size_t len) {
  if (s->n == sizeof(s->parts) / sizeof(*s->parts) || s->stream.len + len > s->cap) abort();
  struct script_part *p = &s->parts[s->n++];
  *p = (struct script_part){.kind = kind, .p = s->stream.p + s->stream.len, .len = len};
  s->stream.len += len;
  return p;
}

// `spread` 0: all zero; larger: harder to compress; 256 and more: random.
static inline void script_bytes(struct script *s, size_t n, unsigned spread) {
  struct script_part *p = script_add(s, PART_BYTES, n);
  unsigned char *to = (unsigned char *) p->p;
  for (size_t i = 0; i < n; i++) to[i] = (unsigned char) (spread ? random_below(spread) : 0);
}

enum number_shape { RAMP, NARROW, RANDOM_BITS, ONE_VALUE };

static inline void script_numbers(struct script *s, enum part_kind kind, enum number_type type,
                                  size_t count, enum number_shape shape) {
  const size_t size = number_size(type);
  struct script_part *p = script_add(s, kind, count * size);
  p->type = type;
  unsigned char *to = (unsigned char *) p->p;
  for (size_t i = 0; i < count; i++) {
    const uint64_t bits = (uint64_t) random_u32() << 32 | random_u32();
    const int32_t v = shape == RAMP ? (int32_t) i : shape == NARROW ? (int32_t) (bits % 100) : 7;
    const double d = v / 4.0;
    if (shape == RANDOM_BITS || size == 1)
      memcpy(to + i * size, &bits, size);
    else if (size == 4)
      memcpy(to + i * 4, &v, 4);
    else
      memcpy(to + i * 8, &d, 8);
  }
}

// `distinct` texts of up to max_len characters, repeated in random order; an NA among them.
static inline void script_strings(struct script *s, size_t n, size_t distinct, size_t max_len) {
  static char chars[1 << 17];
  for (size_t i = 0; i < sizeof(chars) && !chars[i]; i++) chars[i] = (char) ('a' + i * i % 23);
  struct string_item *items = make(n * sizeof(*items));
  for (size_t i = 0; i < n; i++) {
    const size_t which = distinct < n ? random_below((uint32_t) distinct) : i;
    const size_t len = max_len ? which * 7 % (max_len + 1) : 0;
    items[i] = (struct string_item){chars + which % 4096, (int32_t) len, 0x00040009};
    if (which == 1) items[i] = (struct string_item){NULL, -1, 9};
  }
  const struct string_array a = {items, n, NULL, n};
  struct script_part *p = script_add(s, PART_STRINGS, strings_stream_len(&a));
  strings_to_stream(&a, (unsigned char *) p->p);
  p->items = items;
  p->n = n;
}

// ---- writing ------------------------------------------------------------------------------

static inline enum status put_all(struct writer *w, const unsigned char *p, size_t n, size_t most) {
  while (n) {
    const void *from = p;
    size_t k = n < most ? n : most;
    p += k;
    n -= k;
    enum status st;
    while ((st = writer_put(w, &from, &k)) == AGAIN) {}
    if (st) return st;
  }
  return OK;
}

static inline enum status put_string(struct writer *w, const struct string_item *item) {
  struct string_batch *b;
  enum status st;
  while ((st = writer_batch(w, &b)) == AGAIN) {}
  if (st) return st;
  // The characters and the length tell an item here, as its address does in R.
  const uintptr_t key =
      item->len < 0 ? 8 : (uintptr_t) item->chars * 131072u + (uintptr_t) item->len;
  const int64_t code = string_batch_find(b, &w->table, key);
  if (code >= 0) {
    string_batch_repeat(b, (uint32_t) code);
    return OK;
  }
  struct string_item mine = *item;
  if (item->len > 0 && (uintptr_t) item->chars % 2 &&
      !(mine.chars = writer_keep(w, item->chars, (size_t) item->len)))
    return ERR_NOMEM;
  return string_batch_add(b, &w->table, key, mine) ? OK : ERR_NOMEM;
}

static inline enum status put_part(struct writer *w, const struct script_part *p, size_t most) {
  enum status st;
  if (p->kind == PART_LENT) {
    const void *from = p->p;
    size_t count = p->len / number_size(p->type);
    while ((st = writer_lend(w, p->type, &from, &count)) == AGAIN) {}
    return st;
  }
  if (p->kind == PART_STRINGS && !writer_takes_strings(w)) return put_all(w, p->p, p->len, most);
  if (p->kind == PART_STRINGS) {
    for (size_t i = 0; i < p->n; i++)
      if ((st = put_string(w, &p->items[i]))) return st;
    return writer_begin_bytes(w);
  }
  st = p->kind == PART_BYTES ? writer_begin_bytes(w) : writer_begin_numbers(w, p->type);
  if (st == OK) st = put_all(w, p->p, p->len, most);
  return st ? st : writer_begin_bytes(w);
}

// `most` is how many bytes a put hands over at once.
static inline enum status script_write_in(const struct script *s, struct writer *w,
                                          struct sink *sink, const struct writer_opts *opts,
                                          size_t most) {
  enum status st = writer_open(w, sink, opts);
  for (size_t i = 0; st == OK && i < s->n; i++) st = put_part(w, &s->parts[i], most);
  if (st) return st;
  while ((st = writer_finish(w)) == AGAIN) {}
  return st;
}

static inline enum status script_write(const struct script *s, struct sink *sink,
                                       const struct writer_opts *opts, size_t most,
                                       struct error *e) {
  struct writer w = {0};
  enum status st = script_write_in(s, &w, sink, opts, most);
  *e = w.err;
  writer_close(&w);
  if (st == OK) st = sink->commit(sink, e);
  return st;
}

static inline struct writer_opts opts_of(enum codec codec, int level, unsigned n_threads) {
  return (struct writer_opts){.block = {.codec = codec, .level = level, .filter = true},
                              .n_threads = n_threads,
                              .stream_version = 3};
}

// The file as bytes in memory of exactly its size.
static inline struct bytes file_of(const struct script *s, const struct writer_opts *opts) {
  struct sink sink;
  struct error e = {0};
  sink_memory(&sink);
  const enum status st = script_write(s, &sink, opts, 8096, &e);
  check(st == OK, "a file is written", (uint64_t) st);
  struct bytes b = {make(sink.memory.len), sink.memory.len};
  sink_move(&sink, b.p);
  sink_close(&sink);
  return b;
}

// ---- reading ------------------------------------------------------------------------------

static inline enum status get_all(struct reader *r, void **p, size_t *n, size_t most) {
  while (*n) {
    size_t k = *n < most ? *n : most;
    *n -= k;
    enum status st;
    while ((st = reader_get(r, p, &k)) == AGAIN) {}
    if (st) return st;
  }
  return OK;
}

// As the builder does: whole strings blocks where they fit, else item by item.
static inline enum status get_strings(struct reader *r, const struct script_part *p, void **to) {
  size_t left = p->n, n = p->len;
  while (left) {
    const struct string_array *a;
    enum status st;
    while ((st = reader_strings(r, left, &a)) == AGAIN) {}
    if (st) return st;
    if (!a) {
      int32_t head[2];
      void *h = head;
      size_t k = sizeof(head);
      if ((st = get_all(r, &h, &k, 8))) return st;
      memcpy(*to, head, sizeof(head));
      *to = (char *) *to + sizeof(head);
      n -= sizeof(head);
      k = head[1] > 0 ? (size_t) head[1] : 0;
      if (k > n) return ERR_CORRUPT;
      n -= k;
      if ((st = get_all(r, to, &k, SIZE_MAX))) return st;
      left--;
      continue;
    }
    const size_t len = strings_stream_len(a);
    if (len > n || a->n > left) return ERR_CORRUPT;
    strings_to_stream(a, *to);
    *to = (char *) *to + len;
    n -= len;
    left -= a->n;
  }
  return n ? ERR_CORRUPT : OK;
}

static inline enum status get_part(struct reader *r, const struct script_part *p, bool build,
                                   void **to, size_t most) {
  size_t n = p->len;
  if (!build || p->kind == PART_BYTES) return get_all(r, to, &n, most);
  if (p->kind == PART_STRINGS) return get_strings(r, p, to);
  enum status st;
  while ((st = reader_numbers(r, to, &n)) == AGAIN) {}
  return st;
}

// Reads a stream that should be the script's into `out`, which has room for it.
static inline enum status script_read_in(const struct script *s, struct reader *r,
                                         struct source *source, const struct reader_opts *opts,
                                         size_t most, void *out) {
  enum status st = reader_open(r, source, opts);
  if (st) return st;
  while ((st = reader_start(r)) == AGAIN) {}
  for (size_t i = 0; st == OK && i < s->n; i++)
    st = get_part(r, &s->parts[i], opts->build, &out, most);
  if (st) return st;
  while ((st = reader_finish(r)) == AGAIN) {}
  return st;
}

static inline enum status script_read(const struct script *s, struct source *source,
                                      const struct reader_opts *opts, size_t most, void *out,
                                      struct error *e) {
  struct reader r = {0};
  const enum status st = script_read_in(s, &r, source, opts, most, out);
  *e = r.err;
  reader_close(&r);
  return st;
}

// Reads a file in memory; OK only if what is read is the script's stream.
static inline enum status read_back(const struct script *s, const unsigned char *p, size_t n,
                                    const struct reader_opts *opts, struct error *e) {
  struct source source;
  unsigned char *out = make(s->stream.len);
  source_memory(&source, p, n);
  const enum status st = script_read(s, &source, opts, 8096, out, e);
  if (st == OK)
    check(same_bytes(out, s->stream.p, s->stream.len), "what is read is what was saved", n);
  source_close(&source);
  free(out);
  return st;
}

// ---- taking a file apart ------------------------------------------------------------------

static inline size_t block_len(const unsigned char *block) {
  return BLOCK_HEADER_LEN + (size_t) load_u32(block + 24);
}

// Where block i begins; with i the number of the stream's blocks, the index or the end block.
static inline size_t block_at(const struct bytes *file, size_t i) {
  size_t at = FILE_HEADER_LEN;
  while (i--) at += block_len(file->p + at);
  return at;
}

static inline size_t block_count(const struct bytes *file) {
  size_t n = 0, at = FILE_HEADER_LEN;
  while (file->p[at + 8] != BLOCK_END && file->p[at + 8] != BLOCK_INDEX) {
    at += block_len(file->p + at);
    n++;
  }
  return n;
}

static inline void reseal_header(unsigned char *file) {
  store_u64(file + 24, XXH3_64bits(file, 24));
}

static inline void reseal_block(unsigned char *block) {
  store_u64(block, XXH3_64bits(block + 8, block_len(block) - 8));
}

// What else reseal() makes consistent; everything that has a checksum gets the right one.
enum { RESEAL_SEQ = 1, RESEAL_END = 2 };

// Recomputes all checksums as far as the headers' own lengths lead. Returns where the end block
// ends, or 0 if they do not lead there.
static inline size_t reseal(struct bytes *file, unsigned what) {
  if (file->len < FILE_HEADER_LEN) return 0;
  reseal_header(file->p);
  uint64_t n_blocks = 0, n_all = 0, stream_len = 0;
  XXH3_state_t *chain = XXH3_createState();
  if (!chain) abort();
  XXH3_64bits_reset(chain);
  size_t at = FILE_HEADER_LEN, end = 0;
  while (!end && file->len - at >= BLOCK_HEADER_LEN) {
    unsigned char *b = file->p + at;
    if (block_len(b) > file->len - at) break;
    if (what & RESEAL_SEQ) store_u32(b + 12, (uint32_t) n_all);
    if (b[8] == BLOCK_END && block_len(b) == END_BLOCK_LEN) {
      if (what & RESEAL_END) {
        store_u64(b + 32, stream_len);
        store_u64(b + 40, n_blocks);
        store_u64(b + 56, XXH3_64bits_digest(chain));
      }
      end = at + END_BLOCK_LEN;
    }
    reseal_block(b);
    n_all++;
    if (b[8] != BLOCK_INDEX) {
      XXH3_64bits_update(chain, b, 8);
      n_blocks++;
    }
    stream_len += load_u32(b + 16);
    at += block_len(b);
  }
  XXH3_freeState(chain);
  return end;
}

#endif
