// indexes.h - random indexes, and whether one holds what index.h promises.
#ifndef RIFFLE_TESTS_INDEXES_H
#define RIFFLE_TESTS_INDEXES_H

#include "check.h"
#include "index.h"

// An index, and where its blocks end in the file and in the stream.
struct sample {
  struct index x;
  uint64_t end_at, stream_len;
};

static inline void need(bool ok) {
  if (!ok) abort();
}

static inline uint64_t random_u64(void) { return (uint64_t) random_u32() << 32 | random_u32(); }

// ---- random ones --------------------------------------------------------------------------

// A block as a writer makes them: a few lengths are common.
static inline struct block_header random_block(uint32_t max_raw) {
  static const uint32_t sizes[] = {1, 4, 8};
  struct block_header h = {.kind = (uint8_t) (1 + random_below(3)),
                           .codec = (uint8_t) random_below(3),
                           .filter = (uint8_t) random_below(11),
                           .raw_len = random_below(3) ? max_raw : 1 + random_below(max_raw)};
  if (h.kind == BLOCK_STRINGS) h.count = random_below(h.raw_len / 8 + 1);
  if (h.kind == BLOCK_NUMBERS) {
    const uint32_t size = sizes[random_below(3)];
    h.raw_len = h.raw_len / size * size;
    if (h.raw_len == 0) h.raw_len = size;
    h.count = h.raw_len / size;
  }
  h.stored_len = random_below(h.raw_len + 1);
  return h;
}

static inline void sample_blocks(struct sample *s, size_t n, uint32_t max_raw) {
  for (size_t i = 0; i < n; i++) {
    const struct block_header h = random_block(max_raw);
    need(index_add_block(&s->x, &h));
    s->end_at += BLOCK_HEADER_LEN + h.stored_len;
    s->stream_len += h.raw_len;
  }
}

static inline void sample_items(struct item_list *l, uint32_t n) {
  char name[40];
  for (uint32_t i = 0; i < n; i++) {
    const size_t len = random_below(5) ? random_below(sizeof(name)) : 0;
    for (size_t k = 0; k < len; k++) name[k] = (char) random_u32();
    need(item_list_add(l, random_u32(), name, len));
  }
}

// A part at `at`, with a payload if there is a type for it; its length fits into `room` bytes.
static inline struct part random_part(uint64_t at, uint64_t room) {
  static const uint8_t types[] = {0, 10, 13, 14, 15, 16, 24, 19, 25};
  struct part p = {.flags = random_u32(), .type = types[random_below(sizeof(types))], .at = at};
  p.length = random_below(3) ? random_below(100) : random_u64() >> (12 + random_below(50));
  const unsigned size = part_element_len(p.type);
  if (size == 0 || random_below(4) == 0) return p;
  if (room < 16 || p.length > (room - 16) / size) p.length = room < 16 ? 0 : (room - 16) / size;
  p.payload_len = size * p.length;
  if (p.type == 16 && p.length)
    p.payload_len += random_below((uint32_t) (room - 16 - p.payload_len) % 1000 + 1);
  return p;
}

// At most n parts: as many as there is room for.
static inline void sample_directory(struct sample *s, uint32_t n) {
  struct directory *d = &s->x.directory;
  uint32_t number, n_refs = 0;
  uint64_t at = s->x.n_head;
  d->known = true;
  d->flags = random_u32();
  sample_items(&d->symbols, 1 + random_below(20));
  for (uint32_t i = 0; i < 5; i++) need(directory_class(d, "a\0b\0c", i, &number));
  for (uint32_t i = 0; i < n; i++) {
    at += random_below(200);
    if (at + 16 > s->stream_len) break;
    struct part p = random_part(at, random_below(3) ? 16 : (s->stream_len - at) / 2);
    const bool is_attribute = d->n_attributes || random_below(n) > n - 3;
    if (is_attribute) p.tag = 1 + random_below((uint32_t) d->symbols.n);
    p.class = random_below((uint32_t) d->classes.n + 1);
    p.n_refs = n_refs += random_below((uint32_t) d->symbols.n + 1 - n_refs) / 3;
    need(directory_add(d, &p, is_attribute));
    at = p.payload_len ? part_payload_at(&p) + p.payload_len : at + 4;
    if (at > s->stream_len) abort();
  }
}

static inline void sample_head_and_meta(struct sample *s, size_t meta_len) {
  s->x.chain = random_u64();
  s->x.n_head = random_below(INDEX_HEAD_MAX + 1);
  if (s->x.n_head > s->stream_len) s->x.n_head = (size_t) s->stream_len;
  for (size_t i = 0; i < s->x.n_head; i++) s->x.head[i] = (unsigned char) random_u32();
  need(buffer_reserve(&s->x.meta, meta_len));
  for (size_t i = 0; i < meta_len; i++) s->x.meta.p[i] = (unsigned char) random_u32();
  s->x.meta_len = meta_len;
}

// `n_parts` < 0: no directory.
static inline struct sample sample_of(size_t n_blocks, int n_parts, size_t meta_len,
                                      uint32_t max_raw) {
  struct sample s = {.end_at = FILE_HEADER_LEN};
  sample_blocks(&s, n_blocks, max_raw);
  sample_head_and_meta(&s, meta_len);
  if (n_parts >= 0) sample_directory(&s, (uint32_t) n_parts);
  return s;
}

// ---- what holds ---------------------------------------------------------------------------

static inline bool blocks_hold(const struct sample *s, uint32_t max_raw) {
  uint64_t at = FILE_HEADER_LEN, stream_at = 0;  // of so few blocks the sums are small
  for (size_t i = 0; i < s->x.n_blocks; i++) {
    const struct index_block *b = index_block(&s->x, i);
    if (b->at != at || b->stream_at != stream_at) return false;
    if (b->kind < BLOCK_BYTES || b->kind > BLOCK_STRINGS || b->raw_len > max_raw) return false;
    if (b->kind == BLOCK_NUMBERS && (b->count == 0 || b->raw_len % b->count)) return false;
    at += BLOCK_HEADER_LEN + (uint64_t) b->stored_len;
    stream_at += b->raw_len;
  }
  return at == s->end_at && stream_at == s->stream_len;
}

static inline bool items_hold(const struct item_list *l) {
  struct item item;
  size_t at = 0, n = 0;
  while (item_list_next(l, &at, &item)) n++;
  return n == l->n && at == l->len;
}

static inline bool payload_holds(const struct part *p) {
  const uint64_t n = p->length, len = p->payload_len;
  if (len == 0) return true;
  if (n > (uint64_t) 1 << 52) return false;
  switch (p->type) {
    case 10:
    case 13: return len == 4 * n;
    case 14: return len == 8 * n;
    case 15: return len == 16 * n;
    case 24: return len == n;
    case 16: return len >= 8 * n;
    default: return false;
  }
}

static inline bool directory_holds(const struct sample *s) {
  const struct directory *d = &s->x.directory;
  uint64_t end = 0;  // far below 2^63, as the blocks' sums are
  uint32_t n_refs = 0;
  if (!d->known) return d->n_elements == 0 && d->n_attributes == 0;
  if (!items_hold(&d->symbols) || !items_hold(&d->classes)) return false;
  if (d->n_elements + d->n_attributes > 1 << 20) return false;
  for (size_t i = 0; i < d->n_elements + d->n_attributes; i++) {
    const struct part *p = directory_part(d, i);
    if (p->at < end || p->at >= s->stream_len || !payload_holds(p)) return false;
    if (p->payload_len > s->stream_len) return false;
    end = p->at + (p->length >= 1u << 31 ? 16 : 8) + p->payload_len;
    if (p->payload_len == 0) end = p->at + 4;
    if (p->n_refs < n_refs || p->n_refs > d->symbols.n || p->class > d->classes.n) return false;
    if (i < d->n_elements ? p->tag != 0 : p->tag == 0 || p->tag > d->symbols.n) return false;
    n_refs = p->n_refs;
  }
  return end <= s->stream_len;
}

static inline bool sample_holds(const struct sample *s, uint32_t max_raw) {
  return s->x.n_head <= INDEX_HEAD_MAX && s->x.meta_len <= INDEX_META_MAX &&
         blocks_hold(s, max_raw) && directory_holds(s);
}

// ---- whether two are the same -------------------------------------------------------------

static inline bool same_block(const struct index_block *a, const struct index_block *b) {
  return a->at == b->at && a->stream_at == b->stream_at && a->raw_len == b->raw_len &&
         a->stored_len == b->stored_len && a->count == b->count && a->kind == b->kind &&
         a->codec == b->codec && a->filter == b->filter;
}

static inline bool same_part(const struct part *a, const struct part *b) {
  return a->flags == b->flags && a->type == b->type && a->length == b->length && a->at == b->at &&
         a->payload_len == b->payload_len && a->n_refs == b->n_refs && a->tag == b->tag &&
         a->class == b->class;
}

static inline bool same_items(const struct item_list *a, const struct item_list *b) {
  return a->n == b->n && a->len == b->len && same_bytes(a->bytes.p, b->bytes.p, a->len);
}

static inline bool same_directory(const struct directory *a, const struct directory *b) {
  if (a->known != b->known) return false;
  if (!a->known) return true;
  if (a->flags != b->flags || a->n_elements != b->n_elements || a->n_attributes != b->n_attributes)
    return false;
  for (size_t i = 0; i < a->n_elements + a->n_attributes; i++)
    if (!same_part(directory_part(a, i), directory_part(b, i))) return false;
  return same_items(&a->symbols, &b->symbols) && same_items(&a->classes, &b->classes);
}

static inline bool same_index(const struct index *a, const struct index *b) {
  if (a->chain != b->chain || a->n_blocks != b->n_blocks || a->n_head != b->n_head ||
      a->meta_len != b->meta_len)
    return false;
  for (size_t i = 0; i < a->n_blocks; i++)
    if (!same_block(index_block(a, i), index_block(b, i))) return false;
  return same_bytes(a->head, b->head, a->n_head) && same_bytes(a->meta.p, b->meta.p, a->meta_len) &&
         same_directory(&a->directory, &b->directory);
}

#endif
