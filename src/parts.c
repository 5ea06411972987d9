#include "parts.h"

#include <string.h>

#include "container.h"

// ---- the index of a file ------------------------------------------------------------------

enum {
  INDEX_MAX_RATIO = 64,     // bytes of index for a byte of file
  INDEX_MAX_MORE = 1 << 24  // and so many more
};

static enum status corrupt_index(struct error *e) {
  return fail(e, ERR_CORRUPT, 0, "its index is corrupt");
}

enum status end_load(struct source *s, struct end_record *end, struct error *e) {
  unsigned char bytes[END_BLOCK_LEN];
  if (s->len < FILE_HEADER_LEN + END_BLOCK_LEN)
    return fail(e, ERR_TRUNCATED, 0, "it is truncated");
  const uint64_t at = s->len - END_BLOCK_LEN;
  if (source_read_exactly(s, at, bytes, sizeof(bytes), e) || end_block_decode(bytes, end, e))
    return e->code;
  if (end->index_offset && (end->index_offset < FILE_HEADER_LEN || end->index_offset > at))
    return fail(e, ERR_CORRUPT, 0, "its blocks are not those that its end block tells of");
  return OK;
}

enum status contents_load_ends(struct contents *c, struct source *s, struct error *e) {
  unsigned char head[FILE_HEADER_LEN];
  size_t got;
  if (source_read_at(s, 0, head, sizeof(head), &got, e)) return e->code;
  if (file_header_decode(head, got, &c->header, e) || end_load(s, &c->end, e)) return e->code;
  c->indexed = c->end.index_offset != 0;
  return OK;
}

// The blocks of the index: n bytes at p are left of them, `used` bytes have come out.
struct unpacking {
  struct contents *contents;
  const unsigned char *p;
  size_t n;
  uint64_t seq;
  struct buffer bytes;
  size_t used;
  uint64_t limit;
};

static enum status unpack_block(struct unpacking *u, struct error *e) {
  struct block_header h;
  struct error inner = {0};
  if (u->n < BLOCK_HEADER_LEN ||
      block_header_decode(u->p, &u->contents->header, u->seq++, &h, &inner) ||
      h.kind != BLOCK_INDEX || h.stored_len > u->n - BLOCK_HEADER_LEN || u->used > u->limit)
    return corrupt_index(e);
  if (!buffer_extend(&u->bytes, u->used + h.packed_len))
    return fail(e, ERR_NOMEM, 0, "reading the index");
  const enum status st =
      block_decode_index(&u->contents->coder, u->p, &h, u->bytes.p + u->used, &inner);
  if (st == ERR_CORRUPT) return corrupt_index(e);
  if (st) return fail(e, st, inner.sys, inner.what);
  if (u->contents->n_index++ == 0) u->contents->index_codec = h.codec;
  u->used += h.packed_len;
  u->p += BLOCK_HEADER_LEN + (size_t) h.stored_len;
  u->n -= BLOCK_HEADER_LEN + (size_t) h.stored_len;
  return OK;
}

static enum status decode_index(struct contents *c, const struct unpacking *u, struct error *e) {
  const struct end_record *end = &c->end;
  if (index_decode(&c->index, u->bytes.p, u->used, end->index_offset, end->stream_len,
                   c->header.max_raw, e))
    return e->code;
  if (c->index.chain != end->chain || c->index.n_blocks != end->n_blocks) return corrupt_index(e);
  return OK;
}

static enum status unpack_index(struct contents *c, const unsigned char *p, size_t n,
                                uint64_t file_len, struct error *e) {
  struct unpacking u = {.contents = c, .p = p, .n = n, .seq = c->end.n_blocks};
  u.limit = file_len * INDEX_MAX_RATIO + INDEX_MAX_MORE;
  while (u.n && e->code == OK) unpack_block(&u, e);
  if (e->code == OK) decode_index(c, &u, e);
  buffer_close(&u.bytes);
  return e->code;
}

enum status contents_load_index(struct contents *c, struct source *s, struct error *e) {
  const uint64_t at = c->end.index_offset, n = s->len - END_BLOCK_LEN - at;
  struct buffer stored = {0};
  if (!c->indexed) return OK;
  if (!buffer_reserve(&stored, (size_t) n))
    fail(e, ERR_NOMEM, 0, "reading the index");
  else if (source_read_exactly(s, at, stored.p, (size_t) n, e) == OK)
    unpack_index(c, stored.p, (size_t) n, s->len, e);
  buffer_close(&stored);
  return e->code;
}

void contents_close(struct contents *c) {
  index_close(&c->index);
  coder_close(&c->coder);
  *c = (struct contents){0};
}

// ---- plans --------------------------------------------------------------------------------

// Blocks from `first` on, before `end`, of which the bytes of `span` are used.
struct run {
  size_t first, end;
  struct span span;
};

static struct run *run_at(const struct plan *p, size_t i) { return (struct run *) p->runs.p + i; }

static bool add_run(struct plan *p, struct run r) {
  struct run *last = p->n_runs ? run_at(p, p->n_runs - 1) : NULL;
  if (last && r.first <= last->end) {
    last->end = r.end;
    last->span.end = r.span.end;
    return true;
  }
  if (!buffer_extend(&p->runs, (p->n_runs + 1) * sizeof(r))) return false;
  *run_at(p, p->n_runs++) = r;
  return true;
}

bool plan_add(struct plan *p, const struct index *x, struct span s) {
  if (s.at == s.end) return true;
  return add_run(p, (struct run){index_find(x, s.at), index_find(x, s.end - 1) + 1, s});
}

uint64_t part_end(const struct index *x, size_t part) {
  const struct directory *d = &x->directory;
  if (part + 1 < d->n_elements + d->n_attributes) return directory_part(d, part + 1)->at;
  const struct index_block *last = index_block(x, x->n_blocks - 1);
  return last->stream_at + last->raw_len;
}

// The block that holds string `row`, counted from block i, where the strings begin; *before is made
// the number of that row in it.
static size_t block_of_row(const struct index *x, size_t i, uint64_t row, uint64_t *before) {
  while (row >= index_block(x, i)->count) row -= index_block(x, i++)->count;
  *before = row;
  return i;
}

// Whether the strings of a part are those of the blocks from i on, and no others.
static bool fills_blocks(const struct index *x, const struct part *p, size_t i) {
  const uint64_t end = part_payload_at(p) + p->payload_len;
  uint64_t at = part_payload_at(p), n = 0;
  if (index_block(x, i)->stream_at != at) return false;
  for (; at < end && i < x->n_blocks; i++) {
    const struct index_block *b = index_block(x, i);
    if (b->kind != BLOCK_STRINGS) return false;
    at += b->raw_len;
    n += b->count;
  }
  return at == end && n == p->length;
}

bool wish_in_blocks(const struct index *x, const struct wish *w, size_t *block, uint64_t *before) {
  const struct part *p = directory_part(&x->directory, w->part);
  const size_t first = index_find(x, part_payload_at(p));
  if (!fills_blocks(x, p, first)) return false;
  *block = block_of_row(x, first, w->from, before);
  return true;
}

static struct span strings_span(const struct index *x, const struct wish *w) {
  const struct part *p = directory_part(&x->directory, w->part);
  size_t block;
  uint64_t before;
  if (!wish_in_blocks(x, w, &block, &before)) return (struct span){p->at, part_end(x, w->part)};
  const size_t last = block_of_row(x, block, before + w->n - 1, &before);
  const struct index_block *b = index_block(x, last);
  return (struct span){index_block(x, block)->stream_at, b->stream_at + b->raw_len};
}

static struct span range_span(const struct index *x, const struct wish *w) {
  const struct part *p = directory_part(&x->directory, w->part);
  if (part_is_strings(p)) return strings_span(x, w);
  const uint64_t size = p->payload_len / p->length, at = part_payload_at(p) + w->from * size;
  return (struct span){at, at + w->n * size};
}

bool plan_add_wish(struct plan *p, const struct index *x, const struct wish *w) {
  const struct part *part = directory_part(&x->directory, w->part);
  const uint64_t end = part_end(x, w->part);
  if (!w->ranged) return plan_add(p, x, (struct span){part->at, end});
  if (w->n && !plan_add(p, x, range_span(x, w))) return false;
  const uint64_t attributes_at = part_payload_at(part) + part->payload_len;
  return !part_has_attributes(part) || plan_add(p, x, (struct span){attributes_at, end});
}

bool deferrable_at(const struct index *x, size_t first, struct deferrable *d) {
  const uint8_t kind = index_block(x, first)->kind;
  *d = (struct deferrable){.first = first, .end = first};
  if (kind != BLOCK_NUMBERS && kind != BLOCK_STRINGS) return false;
  for (; d->end < x->n_blocks && index_block(x, d->end)->kind == kind; d->end++) {
    const struct index_block *b = index_block(x, d->end);
    d->count += b->count;
    d->stream_end = b->stream_at + b->raw_len;
  }
  return d->stream_end - index_block(x, first)->stream_at >= DEFER_MIN_LEN;
}

static uint64_t file_end(const struct index *x, size_t block) {
  const struct index_block *b = index_block(x, block);
  return b->at + BLOCK_HEADER_LEN + b->stored_len;
}

void plan_advise(const struct plan *p, const struct index *x, struct source *s) {
  for (size_t i = 0; i < p->n_runs; i++) {
    const uint64_t at = index_block(x, run_at(p, i)->first)->at;
    source_advise(s, at, file_end(x, run_at(p, i)->end - 1) - at);
  }
}

void plan_close(struct plan *p) {
  buffer_close(&p->runs);
  *p = (struct plan){0};
}

// ---- the reader ---------------------------------------------------------------------------

struct state {
  const struct index *index;
  const struct plan *plan;  // or NULL: sparse
  size_t run;          // that is being read
  bool begun;          // it has been
  size_t next;         // the next block of it
  size_t stretch_end;  // sparse: where the blocks end that are read in one go
  uint64_t stream_at;  // where the block before it ended in the stream
};

static enum status start(struct reader *r) {
  (void) r;
  return OK;
}

static enum status contradicts_index(struct reader *r) {
  return fail(&r->err, ERR_CORRUPT, 0, "its blocks are not those that its index tells of");
}

static bool is_as_told(const struct block_header *h, const struct index_block *b) {
  return h->kind == b->kind && h->codec == b->codec && h->filter == b->filter &&
         h->raw_len == b->raw_len && h->stored_len == b->stored_len && h->count == b->count;
}

// The planned block, which begins where the cursor is.
static enum status cut_planned(struct reader *r, struct read_job *j, const struct index_block *b) {
  struct state *s = r->state;
  const size_t len = BLOCK_HEADER_LEN + (size_t) b->stored_len;
  const enum status st = reader_need(r, len);
  if (st) return st;
  j->block = r->piece->bytes + r->piece_at;
  if (block_header_decode(j->block, &r->header, s->next, &j->header, &r->err)) return r->err.code;
  if (!is_as_told(&j->header, b)) return contradicts_index(r);
  r->piece_at += len;
  j->block_len = len;
  j->raw_len = b->raw_len;
  j->skipped = b->stream_at - s->stream_at;
  s->stream_at = b->stream_at + b->raw_len;
  s->next++;
  return OK;
}

// Of a block at an end of the run only what is wanted is handed out.
static void narrow(struct state *s, struct read_job *j, const struct index_block *b,
                   struct span want) {
  const uint64_t end = b->stream_at + b->raw_len;
  const uint64_t from = want.at > b->stream_at ? want.at : b->stream_at;
  const uint64_t to = want.end < end ? want.end : end;
  j->from = (size_t) (from - b->stream_at);
  j->raw_len = (size_t) (to - from);
  j->skipped += j->from;
  s->stream_at = to;
}

static enum status cut(struct reader *r, struct read_job *j) {
  struct state *s = r->state;
  if (s->run == s->plan->n_runs) {
    r->ended = true;
    return OK;
  }
  const struct run *run = run_at(s->plan, s->run);
  if (!s->begun) {
    s->begun = true;
    s->next = run->first;
    const enum status st =
        reader_seek(r, index_block(s->index, run->first)->at, file_end(s->index, run->end - 1));
    if (st) return st;
  }
  const struct index_block *b = index_block(s->index, s->next);
  const enum status st = cut_planned(r, j, b);
  if (st == OK && b->kind == BLOCK_NUMBERS) narrow(s, j, b, run->span);
  if (st == OK && s->next == run->end) {
    s->run++;
    s->begun = false;
  }
  return st;
}

static enum status decode(struct reader *r, struct coder *c, struct read_job *j, struct error *e) {
  return riffle_in.decode(r, c, j, e);
}

static void close_state(struct reader *r) { free(r->state); }

static const struct container_in parts_in = {
    .start = start, .cut = cut, .decode = decode, .close = close_state};

static uint64_t planned_len(const struct plan *p, const struct index *x) {
  uint64_t len = 0;
  for (size_t i = 0; i < p->n_runs; i++) {
    const struct index_block *last = index_block(x, run_at(p, i)->end - 1);
    len += last->stream_at + last->raw_len - index_block(x, run_at(p, i)->first)->stream_at;
  }
  return len;
}

// Threads take longer to start than so much to decode.
enum { THREADS_FROM = 7 << 19 };

// A reader of `len` bytes of stream, at most, out of the blocks of the plan.
static enum status open_state(struct reader *r, struct source *s, struct contents *c,
                              const struct plan *p, uint64_t len, struct reader_opts opts) {
  if (len < THREADS_FROM) opts.n_threads = 1;
  if (reader_open(r, s, &opts)) return r->err.code;
  struct state *state = malloc(sizeof(struct state));
  if (!state) return fail(&r->err, ERR_NOMEM, 0, "starting");
  *state = (struct state){.index = &c->index, .plan = p};
  r->state = state;
  r->header = c->header;
  r->stream_total = p ? len : c->end.stream_len;
  r->coders[0] = c->coder;
  c->coder = (struct coder){0};
  return OK;
}

enum status parts_open(struct reader *r, struct source *s, struct contents *c,
                       const struct plan *p, const struct reader_opts *opts) {
  struct reader_opts o = *opts;
  o.container = &parts_in;
  return open_state(r, s, c, p, planned_len(p, &c->index), o);
}

void parts_close(struct reader *r, struct contents *c) {
  ring_close(&r->ring);  // nobody uses the coder any more
  if (r->state) {
    coder_close(&c->coder);  // of a reader that was opened and closed meanwhile
    c->coder = r->coders[0];
    r->coders[0] = (struct coder){0};
  }
  reader_close(r);
}

// ---- the reader of all but what is passed over --------------------------------------------

// From block `first`, which has to be read, up to the next that may not have to be.
static size_t stretch_end(const struct index *x, size_t first) {
  struct deferrable d;
  if (deferrable_at(x, first, &d)) return d.end;
  size_t end = first;
  do end = end < d.end ? d.end : end + 1;
  while (end < x->n_blocks && !deferrable_at(x, end, &d));
  return end;
}

static bool may_be_passed_over(const struct state *s) {
  struct deferrable d;
  return s->next == s->stretch_end && deferrable_at(s->index, s->next, &d);
}

// What the consumer passes over is not cut.
static void pass_over(struct state *s, uint64_t to) {
  const struct index *x = s->index;
  if (to <= s->stream_at) return;
  const struct index_block *last = index_block(x, x->n_blocks - 1);
  const size_t next = to < last->stream_at + last->raw_len ? index_find(x, to) : x->n_blocks;
  if (next > s->next) s->next = s->stretch_end = next;
}

static enum status cut_sparse(struct reader *r, struct read_job *j) {
  struct state *s = r->state;
  pass_over(s, r->skip_to);
  if (s->next == s->index->n_blocks) {
    r->ended = true;
    return OK;
  }
  if (ring_has_older(&r->ring) && may_be_passed_over(s)) return AGAIN;
  if (s->next == s->stretch_end) {
    s->stretch_end = stretch_end(s->index, s->next);
    const enum status st = reader_seek(r, index_block(s->index, s->next)->at,
                                       file_end(s->index, s->stretch_end - 1));
    if (st) return st;
  }
  return cut_planned(r, j, index_block(s->index, s->next));
}

static const struct container_in sparse_in = {
    .start = start, .cut = cut_sparse, .decode = decode, .close = close_state};

// Bytes of stream in the blocks that have to be read.
static uint64_t sparse_len(const struct index *x) {
  uint64_t len = 0;
  struct deferrable d;
  for (size_t i = 0; i < x->n_blocks;) {
    const size_t from = i;
    const bool deferrable = deferrable_at(x, i, &d);
    i = d.end > i ? d.end : i + 1;
    const struct index_block *last = index_block(x, i - 1);
    if (!deferrable) len += last->stream_at + last->raw_len - index_block(x, from)->stream_at;
  }
  return len;
}

enum status parts_open_sparse(struct reader *r, struct source *s, struct contents *c,
                              const struct reader_opts *opts) {
  struct reader_opts o = *opts;
  o.container = &sparse_in;
  return open_state(r, s, c, NULL, sparse_len(&c->index), o);
}
