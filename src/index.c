#include "index.h"

#include <string.h>

#include "column.h"
#include "le.h"

enum {
  PIECE = 1 << 16,  // numbers in a column: the filters are made for blocks
  LAST_TYPE = 25    // of R's types
};

static const uint64_t MAX_LENGTH = (uint64_t) 1 << 52;  // of R's vectors

bool index_add_block(struct index *x, const struct block_header *h) {
  const size_t n = x->n_blocks;
  struct index_block b = {.at = FILE_HEADER_LEN,
                          .raw_len = h->raw_len,
                          .stored_len = h->stored_len,
                          .count = h->count,
                          .kind = h->kind,
                          .codec = h->codec,
                          .filter = h->filter};
  if (n > 0) {
    const struct index_block *last = index_block(x, n - 1);
    b.at = last->at + BLOCK_HEADER_LEN + last->stored_len;
    b.stream_at = last->stream_at + last->raw_len;
  }
  if (!buffer_extend(&x->blocks, (n + 1) * sizeof(b))) return false;
  memcpy(x->blocks.p + n * sizeof(b), &b, sizeof(b));
  x->n_blocks++;
  return true;
}

size_t index_find(const struct index *x, uint64_t stream_at) {
  size_t first = 0, end = x->n_blocks;  // it is in [first, end)
  while (end - first > 1) {
    const size_t middle = first + (end - first) / 2;
    if (index_block(x, middle)->stream_at <= stream_at)
      first = middle;
    else
      end = middle;
  }
  return first;
}

void index_close(struct index *x) {
  buffer_close(&x->blocks);
  directory_close(&x->directory);
  buffer_close(&x->meta);
  *x = (struct index){0};
}

// ---- the columns --------------------------------------------------------------------------

enum { BLOCK_WAY, BLOCK_RAW, BLOCK_STORED, BLOCK_COUNT, N_BLOCK_COLUMNS };

enum {
  PART_FLAGS,
  PART_KIND,
  PART_LENGTH,   // and its high word
  PART_GAP = PART_LENGTH + 2,
  PART_PAYLOAD = PART_GAP + 2,
  PART_REFS = PART_PAYLOAD + 2,
  PART_TAG,
  N_PART_COLUMNS
};

// The number of block or part i in a column, and the way back. False: there is no such number.
typedef uint32_t get_number(const struct index *x, size_t i, int column);
typedef bool set_number(struct index *x, size_t i, int column, uint32_t v);

static uint32_t get_block(const struct index *x, size_t i, int column) {
  const struct index_block *b = index_block(x, i);
  switch (column) {
    case BLOCK_WAY: return b->kind | (uint32_t) b->codec << 8 | (uint32_t) b->filter << 16;
    case BLOCK_RAW: return b->raw_len;
    case BLOCK_STORED: return b->stored_len;
    default: return b->count;
  }
}

static bool set_block(struct index *x, size_t i, int column, uint32_t v) {
  struct index_block *b = (struct index_block *) x->blocks.p + i;
  switch (column) {
    case BLOCK_WAY:
      b->kind = (uint8_t) v;
      b->codec = (uint8_t) (v >> 8);
      b->filter = (uint8_t) (v >> 16);
      return v >> 24 == 0;
    case BLOCK_RAW: b->raw_len = v; break;
    case BLOCK_STORED: b->stored_len = v; break;
    default: b->count = v;
  }
  return true;
}

// The bytes that a part surely has; without a payload it may be no more than a flags word.
static uint64_t least_len(const struct part *p) {
  return p->payload_len ? part_payload_at(p) - p->at + p->payload_len : 4;
}

// Bytes between a part and the end of the one before, as far as that is known.
static uint64_t gap_before(const struct directory *d, size_t i) {
  const uint64_t at = directory_part(d, i)->at;
  if (i == 0) return at;
  const struct part *last = directory_part(d, i - 1);
  return at - (last->at + least_len(last));
}

// 0: no payload. Else 1 + the bytes above the least there can be: 1 for all but strings.
static uint64_t payload_code(const struct part *p) {
  return p->payload_len ? 1 + p->payload_len - part_element_len(p->type) * p->length : 0;
}

static uint32_t get_part(const struct index *x, size_t i, int column) {
  const struct part *p = directory_part(&x->directory, i);
  switch (column) {
    case PART_FLAGS: return p->flags;
    case PART_KIND: return p->type | p->class << 8;
    case PART_LENGTH: return (uint32_t) p->length;
    case PART_LENGTH + 1: return (uint32_t) (p->length >> 32);
    case PART_GAP: return (uint32_t) gap_before(&x->directory, i);
    case PART_GAP + 1: return (uint32_t) (gap_before(&x->directory, i) >> 32);
    case PART_PAYLOAD: return (uint32_t) payload_code(p);
    case PART_PAYLOAD + 1: return (uint32_t) (payload_code(p) >> 32);
    case PART_REFS: return p->n_refs;
    default: return p->tag;
  }
}

// `at` and `payload_len` become the gap and the payload's code, until restore_part().
static bool set_part(struct index *x, size_t i, int column, uint32_t v) {
  struct part *p = directory_part(&x->directory, i);
  switch (column) {
    case PART_FLAGS: p->flags = v; break;
    case PART_KIND:
      p->type = (uint8_t) v;
      p->class = v >> 8;
      break;
    case PART_LENGTH: p->length = v; break;
    case PART_LENGTH + 1: p->length |= (uint64_t) v << 32; break;
    case PART_GAP: p->at = v; break;
    case PART_GAP + 1: p->at |= (uint64_t) v << 32; break;
    case PART_PAYLOAD: p->payload_len = v; break;
    case PART_PAYLOAD + 1: p->payload_len |= (uint64_t) v << 32; break;
    case PART_REFS: p->n_refs = v; break;
    default: p->tag = v;
  }
  return true;
}

static size_t piece_of(size_t left) { return left < PIECE ? left : PIECE; }

// One column's numbers, and what the filters need.
struct columns {
  struct buffer values, scratch;
};

static bool columns_open(struct columns *c, size_t n) {
  const size_t k = piece_of(n);
  return buffer_reserve(&c->values, k * sizeof(uint32_t)) &&
         buffer_reserve(&c->scratch, numbers_scratch(NUMBER_I32, k));
}

static void columns_close(struct columns *c) {
  buffer_close(&c->values);
  buffer_close(&c->scratch);
}

// ---- encode -------------------------------------------------------------------------------

// What is written; once there is no memory, nothing more is.
struct output {
  struct buffer *bytes;
  size_t len;
  bool no_memory;
};

// Room for n bytes at the end, or NULL. `len` is the caller's to move on.
static unsigned char *room_for(struct output *out, size_t n) {
  if (!out->no_memory) out->no_memory = !buffer_extend(out->bytes, out->len + n);
  return out->no_memory ? NULL : out->bytes->p + out->len;
}

static void put_bytes(struct output *out, const void *p, size_t n) {
  unsigned char *to = n ? room_for(out, n) : NULL;
  if (!to) return;
  memcpy(to, p, n);
  out->len += n;
}

static void put_u8(struct output *out, uint8_t v) { put_bytes(out, &v, 1); }

static void put_u32(struct output *out, size_t v) {
  unsigned char b[4];
  le_store32(b, (uint32_t) v);
  put_bytes(out, b, sizeof(b));
}

static void put_u64(struct output *out, uint64_t v) {
  unsigned char b[8];
  le_store64(b, v);
  put_bytes(out, b, sizeof(b));
}

static void put_column(struct output *out, const struct index *x, get_number *get, int column,
                       size_t n, struct columns *c) {
  uint32_t *values = (uint32_t *) c->values.p;
  for (size_t at = 0, k; at < n; at += k) {
    size_t dense = 0;
    k = piece_of(n - at);
    unsigned char *to = room_for(out, column_bound(NUMBER_I32, k));
    if (!to) return;
    for (size_t i = 0; i < k; i++) values[i] = get(x, at + i, column);
    out->len += column_put(NUMBER_I32, values, k, to, c->scratch.p, &dense);
  }
}

static void put_columns(struct output *out, const struct index *x, get_number *get, int n_columns,
                        size_t n) {
  struct columns c = {0};
  if (columns_open(&c, n))
    for (int i = 0; i < n_columns; i++) put_column(out, x, get, i, n, &c);
  else
    out->no_memory = true;
  columns_close(&c);
}

static void put_items(struct output *out, const struct item_list *l) {
  put_u32(out, l->n);
  put_bytes(out, l->bytes.p, l->len);
}

static void put_directory(struct output *out, const struct index *x) {
  const struct directory *d = &x->directory;
  const size_t n = d->n_elements + d->n_attributes;
  const bool known = d->known && n <= DIRECTORY_MAX_PARTS;
  put_u8(out, known);
  if (!known) return;
  put_u32(out, d->flags);
  put_u32(out, d->n_elements);
  put_u32(out, d->n_attributes);
  put_columns(out, x, get_part, N_PART_COLUMNS, n);
  put_items(out, &d->classes);
  put_items(out, &d->symbols);
}

enum status index_encode(const struct index *x, struct buffer *out, size_t *len, struct error *e) {
  struct output o = {.bytes = out};
  if (x->meta_len > INDEX_META_MAX) return fail(e, ERR_LIMIT, 0, "its metadata is too large");
  put_u64(&o, x->chain);
  put_u64(&o, x->n_blocks);
  put_columns(&o, x, get_block, N_BLOCK_COLUMNS, x->n_blocks);
  put_u8(&o, (uint8_t) x->n_head);
  put_bytes(&o, x->head, x->n_head);
  put_u32(&o, x->meta_len);
  put_bytes(&o, x->meta.p, x->meta_len);
  put_directory(&o, x);
  *len = o.len;
  return o.no_memory ? fail(e, ERR_NOMEM, 0, "making the index") : OK;
}

// ---- decode -------------------------------------------------------------------------------

static bool get_u8(struct input *in, size_t *v) {
  const unsigned char *p = input_take(in, 1);
  if (p) *v = *p;
  return p;
}

static bool get_u32(struct input *in, uint32_t *v) {
  const unsigned char *p = input_take(in, 4);
  if (p) *v = le_load32(p);
  return p;
}

static bool get_u64(struct input *in, uint64_t *v) {
  const unsigned char *p = input_take(in, 8);
  if (p) *v = le_load64(p);
  return p;
}

static enum status get_column(struct input *in, struct index *x, set_number *set, int column,
                              size_t n, struct columns *c) {
  const uint32_t *values = (const uint32_t *) c->values.p;
  for (size_t at = 0, k; at < n; at += k) {
    k = piece_of(n - at);
    if (column_get(in, NUMBER_I32, k, c->values.p, c->scratch.p)) return ERR_CORRUPT;
    for (size_t i = 0; i < k; i++)
      if (!set(x, at + i, column, values[i])) return ERR_CORRUPT;
  }
  return OK;
}

// Into blocks or parts that there is memory for.
static enum status get_columns(struct input *in, struct index *x, set_number *set, int n_columns,
                               size_t n) {
  struct columns c = {0};
  enum status st = columns_open(&c, n) ? OK : ERR_NOMEM;
  for (int i = 0; st == OK && i < n_columns; i++) st = get_column(in, x, set, i, n, &c);
  columns_close(&c);
  return st;
}

static bool block_makes_sense(const struct index_block *b, uint32_t max_raw) {
  if (b->raw_len > max_raw || b->count > b->raw_len || b->stored_len > max_packed_len(max_raw))
    return false;
  if (b->kind != BLOCK_NUMBERS) return b->kind == BLOCK_BYTES || b->kind == BLOCK_STRINGS;
  const uint64_t n = b->count;
  return n && (b->raw_len == n || b->raw_len == 4 * n || b->raw_len == 8 * n);
}

// Puts the blocks one behind the other.
static bool place_blocks(struct index *x, uint64_t end_at, uint64_t stream_len, uint32_t max_raw) {
  uint64_t at = FILE_HEADER_LEN, stream_at = 0;
  for (size_t i = 0; i < x->n_blocks; i++) {
    struct index_block *b = (struct index_block *) x->blocks.p + i;
    if (!block_makes_sense(b, max_raw)) return false;
    const uint64_t len = BLOCK_HEADER_LEN + (uint64_t) b->stored_len;
    if (len > end_at - at || b->raw_len > stream_len - stream_at) return false;
    b->at = at;
    b->stream_at = stream_at;
    at += len;
    stream_at += b->raw_len;
  }
  return at == end_at && stream_at == stream_len;
}

static enum status get_blocks(struct input *in, struct index *x, uint64_t end_at,
                              uint64_t stream_len, uint32_t max_raw) {
  uint64_t n;
  if (!get_u64(in, &x->chain) || !get_u64(in, &n)) return ERR_CORRUPT;
  if (end_at < FILE_HEADER_LEN || n > (end_at - FILE_HEADER_LEN) / BLOCK_HEADER_LEN)
    return ERR_CORRUPT;
  if (n > SIZE_MAX / sizeof(struct index_block) ||
      !buffer_reserve(&x->blocks, (size_t) n * sizeof(struct index_block)))
    return ERR_NOMEM;
  x->n_blocks = (size_t) n;
  const enum status st = get_columns(in, x, set_block, N_BLOCK_COLUMNS, x->n_blocks);
  if (st) return st;
  return place_blocks(x, end_at, stream_len, max_raw) ? OK : ERR_CORRUPT;
}

static enum status get_head_and_meta(struct input *in, struct index *x, uint64_t stream_len) {
  const unsigned char *p;
  uint32_t meta_len;
  if (!get_u8(in, &x->n_head) || x->n_head > INDEX_HEAD_MAX || x->n_head > stream_len ||
      !(p = input_take(in, x->n_head)))
    return ERR_CORRUPT;
  memcpy(x->head, p, x->n_head);
  if (!get_u32(in, &meta_len) || meta_len > INDEX_META_MAX || !(p = input_take(in, meta_len)))
    return ERR_CORRUPT;
  if (!buffer_reserve(&x->meta, meta_len)) return ERR_NOMEM;
  memcpy(x->meta.p, p, meta_len);
  x->meta_len = meta_len;
  return OK;
}

// `room`: bytes of the stream from the part on, the most that a payload can be.
static bool restore_payload(struct part *p, uint64_t room) {
  const uint64_t code = p->payload_len, least = part_element_len(p->type) * p->length;
  const bool exact = p->type != 16;  // a string may have characters
  if (code == 0) return true;
  if (part_element_len(p->type) == 0 || (exact && code != 1)) return false;
  if (least > room || code - 1 > room - least) return false;
  p->payload_len = least + (code - 1);
  return true;
}

// What set_part() got becomes a part that begins at *end or behind it; *end moves on.
static bool restore_part(struct part *p, uint64_t *end, uint64_t stream_len) {
  if (p->type > LAST_TYPE || p->length > MAX_LENGTH || p->at > stream_len - *end) return false;
  p->at += *end;
  const uint64_t room = stream_len - p->at;
  if (!restore_payload(p, room)) return false;
  const uint64_t head = least_len(p) - p->payload_len;
  if (head > room - p->payload_len) return false;
  *end = p->at + head + p->payload_len;
  return true;
}

static bool restore_parts(struct directory *d, uint64_t stream_len) {
  uint64_t end = 0;
  uint32_t n_refs = 0;
  for (size_t i = 0; i < d->n_elements + d->n_attributes; i++) {
    struct part *p = directory_part(d, i);
    if (!restore_part(p, &end, stream_len)) return false;
    if (p->n_refs < n_refs || p->n_refs > d->symbols.n || p->class > d->classes.n) return false;
    if ((p->tag != 0) != (i >= d->n_elements) || p->tag > d->symbols.n) return false;
    n_refs = p->n_refs;
  }
  return true;
}

static enum status get_items(struct input *in, struct item_list *l, size_t max) {
  uint32_t n;
  if (!get_u32(in, &n) || n > max) return ERR_CORRUPT;
  // The input's bytes as a list, to find the end of n items.
  const struct item_list all = {.bytes = {(unsigned char *) in->at, 0}, .len = in->left};
  struct item item;
  size_t len = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!item_list_next(&all, &len, &item)) return ERR_CORRUPT;
  const unsigned char *p = input_take(in, len);
  if (!buffer_reserve(&l->bytes, len)) return ERR_NOMEM;
  memcpy(l->bytes.p, p, len);
  l->len = len;
  l->n = n;
  return OK;
}

static enum status get_directory(struct input *in, struct index *x, uint64_t stream_len) {
  struct directory *d = &x->directory;
  size_t known;
  uint32_t n_elements, n_attributes;
  if (!get_u8(in, &known) || known > 1) return ERR_CORRUPT;
  if (!known) return OK;
  if (!get_u32(in, &d->flags) || !get_u32(in, &n_elements) || !get_u32(in, &n_attributes))
    return ERR_CORRUPT;
  const uint64_t n = (uint64_t) n_elements + n_attributes;
  if (n > DIRECTORY_MAX_PARTS || n > stream_len / 4) return ERR_CORRUPT;
  if (!buffer_reserve(&d->parts, (size_t) n * sizeof(struct part))) return ERR_NOMEM;
  d->n_elements = n_elements;
  d->n_attributes = n_attributes;
  enum status st = get_columns(in, x, set_part, N_PART_COLUMNS, (size_t) n);
  if (st == OK) st = get_items(in, &d->classes, DIRECTORY_MAX_CLASSES);
  if (st == OK) st = get_items(in, &d->symbols, INT32_MAX);
  if (st == OK && !restore_parts(d, stream_len)) st = ERR_CORRUPT;
  d->known = st == OK;
  return st;
}

enum status index_decode(struct index *x, const unsigned char *p, size_t n, uint64_t end_at,
                         uint64_t stream_len, uint32_t max_raw, struct error *e) {
  struct input in = {p, n};
  enum status st = get_blocks(&in, x, end_at, stream_len, max_raw);
  if (st == OK) st = get_head_and_meta(&in, x, stream_len);
  if (st == OK) st = get_directory(&in, x, stream_len);
  if (st == OK && in.left) st = ERR_CORRUPT;
  if (st == OK) return OK;
  index_close(x);
  return fail(e, st, 0, st == ERR_NOMEM ? "reading the index" : "its index is corrupt");
}
