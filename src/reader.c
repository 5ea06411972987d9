#include "reader.h"

#include <xxhash.h>

#include "container.h"

enum { PIECE_LEN = 1 << 20 };  // a file is read in such pieces

// ---- what the ring calls ------------------------------------------------------------------

static enum status work(void *ctx, unsigned thread, void *job, struct error *e) {
  struct reader *r = ctx;
  return r->container->decode(r, &r->coders[thread], job, e);
}

// ---- open ---------------------------------------------------------------------------------

static enum status no_memory(struct reader *r) { return fail(&r->err, ERR_NOMEM, 0, "starting"); }

enum status reader_open(struct reader *r, struct source *source, const struct reader_opts *opts) {
  *r = (struct reader){.source = source,
                       .container = opts->container ? opts->container : &riffle_in,
                       .opts = *opts,
                       .verified = !opts->verify_all,
                       .stream_total = UINT64_MAX};
  const unsigned most = r->container->max_threads;
  if (most && r->opts.n_threads > most) r->opts.n_threads = most;
  const size_t n_slots = 2 * (size_t) r->opts.n_threads + 2;
  if (ring_open(&r->ring, n_slots, r->opts.n_threads, (struct ring_ops){.work = work}, r))
    return no_memory(r);
  r->jobs = calloc(n_slots, sizeof(struct read_job));
  r->coders = calloc(r->opts.n_threads, sizeof(struct coder));
  r->chain = XXH3_createState();
  if (!r->jobs || !r->coders || !r->chain) return no_memory(r);
  for (size_t i = 0; i < n_slots; i++) r->ring.slots[i].job = &r->jobs[i];
  XXH3_64bits_reset(r->chain);
  return OK;
}

// ---- pieces -------------------------------------------------------------------------------

static void piece_release(struct reader *r, struct piece *p) {
  if (p && --p->n_users == 0) {
    p->next = r->spare;
    r->spare = p;
  }
}

static struct piece *piece_open(struct reader *r, size_t cap) {
  struct piece *p = r->spare;
  if (p)
    r->spare = p->next;
  else if (!(p = calloc(1, sizeof(struct piece))))
    return NULL;
  p->n_users = 1;
  p->len = 0;
  p->next = NULL;
  if (r->source->bytes) {
    p->bytes = r->source->bytes;
    p->len = (size_t) r->source->len;
    return p;
  }
  if (!buffer_reserve(&p->buffer, cap)) {
    piece_release(r, p);
    return NULL;
  }
  p->bytes = p->buffer.p;
  return p;
}

static size_t piece_cap(const struct reader *r, size_t n) {
  if (!r->source->can_seek) return n > PIECE_LEN ? n : PIECE_LEN;
  const struct source *s = r->source;  // a file that grows may have been read past its length
  const uint64_t end = r->read_end ? r->read_end : s->len;
  const uint64_t left = (s->at < end ? end - s->at : 0) + n;
  return n > PIECE_LEN ? n : left < PIECE_LEN ? (size_t) left : PIECE_LEN;
}

// A fresh piece with room for n bytes, which begins with what is left of the old one.
static enum status next_piece(struct reader *r, size_t n) {
  struct piece *p = piece_open(r, piece_cap(r, n));
  if (!p) return no_memory(r);
  if (r->piece) {
    p->len = r->piece->len - r->piece_at;
    memcpy(p->buffer.p, r->piece->bytes + r->piece_at, p->len);
    piece_release(r, r->piece);
  }
  r->piece = p;
  r->piece_at = 0;
  return OK;
}

enum status reader_truncated(struct reader *r) {
  return fail(&r->err, ERR_TRUNCATED, 0, "it is truncated");
}

// How much to read into the piece, of which n bytes are needed.
static size_t read_ahead_len(const struct reader *r, size_t n) {
  const struct piece *p = r->piece;
  const size_t missing = n - (p->len - r->piece_at), room = p->buffer.cap - p->len;
  if (!r->source->can_seek) return missing;
  if (!r->read_end || r->read_end - r->source->at > room) return room;
  const size_t left = (size_t) (r->read_end - r->source->at);
  return left > missing ? left : missing;
}

enum status reader_need(struct reader *r, size_t n) {
  if (r->piece && r->piece->len - r->piece_at >= n) return OK;
  if (r->source->bytes && r->piece) return reader_truncated(r);
  if ((!r->piece || r->piece->buffer.cap - r->piece_at < n) && next_piece(r, n))
    return r->err.code;
  struct piece *p = r->piece;
  while (p->len - r->piece_at < n) {
    const size_t want = read_ahead_len(r, n);
    size_t got = 0;
    const enum status st =
        r->source->bytes ? OK : source_read(r->source, p->buffer.p + p->len, want, &got, &r->err);
    p->len += got;
    if (st) return st;
    if (got == 0) return reader_truncated(r);
  }
  return OK;
}

// Reads into the piece, none of which is left, or into a fresh one. Nothing more: the end.
static enum status read_some(struct reader *r, size_t n) {
  if (r->source->bytes) return r->piece ? OK : next_piece(r, 0);
  if ((!r->piece || r->piece->buffer.cap == r->piece->len) && next_piece(r, 1)) return r->err.code;
  struct piece *p = r->piece;
  const size_t room = p->buffer.cap - p->len;
  size_t got = 0;
  const enum status st = source_read(r->source, p->buffer.p + p->len,
                                     r->source->can_seek || n > room ? room : n, &got, &r->err);
  p->len += got;
  return st == AGAIN && got ? OK : st;
}

enum status reader_some(struct reader *r, size_t n, size_t *got) {
  if (!r->piece || r->piece_at == r->piece->len) {
    const enum status st = read_some(r, n);
    if (st) return st;
  }
  *got = r->piece->len - r->piece_at;
  if (*got > n) *got = n;
  return OK;
}

uint64_t reader_file_at(const struct reader *r) {
  const struct source *s = r->source;
  return s->bytes ? r->piece_at : s->at - (r->piece->len - r->piece_at);
}

enum status reader_seek(struct reader *r, uint64_t at, uint64_t end) {
  if (!r->piece && next_piece(r, 0)) return r->err.code;
  if (r->source->bytes) {
    r->piece_at = (size_t) at;
  } else {
    r->piece_at = r->piece->len;
    r->source->at = at;
  }
  r->read_end = end;
  return OK;
}

void reader_skip(struct reader *r, uint64_t n) {
  const size_t here = r->piece->len - r->piece_at;
  r->piece_at += n < here ? (size_t) n : here;
  if (n > here) r->source->at += n - here;
}

// ---- blocks -------------------------------------------------------------------------------

static enum status adopt_ring_error(struct reader *r, enum status st) {
  if (st != OK && st != AGAIN && r->err.code == OK) r->err = r->ring.err;
  return st;
}

static enum status submit(struct reader *r, struct slot *s) {
  struct read_job *j = s->job;
  j->held = false;
  return adopt_ring_error(r, ring_submit(&r->ring, s, j->raw_len));
}

// Puts the next block into a slot. Numbers wait there for their destination.
static enum status load(struct reader *r) {
  struct slot *s;
  enum status st = adopt_ring_error(r, ring_claim(&r->ring, &s));
  if (st) return st;
  struct read_job *j = s->job;
  piece_release(r, j->piece);
  j->piece = NULL;
  j->skipped = 0;
  j->from = 0;
  st = r->container->cut(r, j);
  if (st || r->ended) {
    ring_unclaim(&r->ring);
    return st;
  }
  j->piece = r->piece;
  j->piece->n_users++;
  j->dest = NULL;
  j->goes_on = false;
  j->as_strings = r->opts.build && j->header.kind == BLOCK_STRINGS;
  j->held = r->opts.build && j->header.kind == BLOCK_NUMBERS;
  return j->held ? OK : submit(r, s);
}

// The oldest slot, or NULL at the end of the stream; fills the ring on the way, if it may read ahead.
static enum status front(struct reader *r, struct slot **s) {
  if (r->open) {
    ring_release(&r->ring);
    r->open = false;
  }
  if (r->err.code) return r->err.code;
  while (!r->ended && (!ring_peek(&r->ring) || (!r->opts.exact && ring_has_free(&r->ring)))) {
    const enum status st = load(r);
    if (st == AGAIN && ring_peek(&r->ring)) break;
    if (st) return st;
  }
  *s = ring_peek(&r->ring);
  return OK;
}

// ---- start --------------------------------------------------------------------------------

void reader_rewind(struct reader *r, size_t at) {
  piece_release(r, r->piece);
  r->piece = NULL;
  r->source->at = at;
  r->piece_at = 0;
  if (r->source->bytes && next_piece(r, 0) == OK) r->piece_at = at;
  r->n_blocks = r->stream_len = 0;
  r->n_index = 0;
  r->index_damaged = false;
  r->ended = false;
  XXH3_64bits_reset(r->chain);
}

enum status reader_slurp(struct reader *r, size_t at) {
  if (r->source->can_seek) return OK;
  const enum status st = source_slurp(r->source, r->piece->bytes, r->piece->len, &r->err);
  if (st == OK) reader_rewind(r, at);
  return st ? st : r->err.code;
}

enum status reader_start(struct reader *r) {
  return r->err.code ? r->err.code : r->container->start(r);
}

const unsigned char *reader_first_bytes(const struct reader *r, size_t *n) {
  *n = r->piece ? r->piece->len : 0;
  return r->piece ? r->piece->bytes : NULL;
}

// ---- take ---------------------------------------------------------------------------------

// The strings of a job as the bytes of the stream.
static enum status strings_as_bytes(struct reader *r, struct read_job *j) {
  if (!buffer_reserve(&j->raw, j->raw_len)) return no_memory(r);
  strings_to_stream(&j->strings.array, j->raw.p);
  j->view = j->raw.p;
  return OK;
}

// A block is handed out.
static enum status count(struct reader *r, const struct read_job *j) {
  r->goes_on |= j->goes_on;
  r->skipped += j->skipped;
  r->taken += j->raw_len;
  if (!r->opts.max_len || r->taken <= r->opts.max_len) return OK;
  return fail(&r->err, ERR_LIMIT, 0, "its stream is longer than the limit of riffle.max_bytes");
}

// Goes on behind the head. False: there was none, or nothing behind it.
static bool leave_head(struct reader *r) {
  if (!r->after_head) return false;
  r->at = r->after_head;
  r->end = r->after_end;
  r->after_head = NULL;
  return r->at < r->end;
}

// Hands out the next block that holds anything, unless there is some left of this one. *any is false
// at the end of the stream.
static enum status next_block(struct reader *r, size_t wanted, bool *any) {
  r->wanted = wanted;
  *any = true;
  while (r->at == r->end && !leave_head(r)) {
    struct slot *s = NULL;
    enum status st = front(r, &s);
    *any = s != NULL;
    if (st || !s) return st;
    struct read_job *j = s->job;
    if (j->held && submit(r, s)) return r->err.code;
    if ((st = adopt_ring_error(r, ring_done(&r->ring, s)))) return st;
    if (j->as_strings && strings_as_bytes(r, j)) return r->err.code;
    r->open = true;
    if (count(r, j)) return r->err.code;
    r->at = j->view;
    r->end = j->view + j->raw_len;
  }
  return OK;
}

static enum status fill(struct reader *r, size_t wanted) {
  bool any;
  const enum status st = next_block(r, wanted, &any);
  if (st || any) return st;
  return fail(&r->err, ERR_CORRUPT, 0, "its stream ends inside an object");
}

enum status reader_get_slow(struct reader *r, void **p, size_t *n) {
  while (*n) {
    const enum status st = fill(r, *n);
    if (st) return st;
    const size_t have = (size_t) (r->end - r->at);
    const size_t k = *n < have ? *n : have;
    memcpy(*p, r->at, k);
    r->at += k;
    *p = (char *) *p + k;
    *n -= k;
  }
  return OK;
}

enum status reader_numbers(struct reader *r, void **p, size_t *n) {
  while (*n) {
    if (r->at < r->end) {
      size_t k = (size_t) (r->end - r->at);
      if (k > *n) k = *n;
      memcpy(*p, r->at, k);
      r->at += k;
      *p = (char *) *p + k;
      *n -= k;
      continue;
    }
    if (leave_head(r)) continue;
    struct slot *s = NULL;
    r->wanted = *n;
    const enum status st = front(r, &s);
    if (st) return st;
    struct read_job *j = s ? s->job : NULL;
    if (!j || !j->held || j->raw_len > *n || j->raw_len < j->header.raw_len) {
      const enum status filled = fill(r, *n);
      if (filled) return filled;
      continue;
    }
    if (count(r, j)) return r->err.code;
    j->dest = *p;
    *p = (char *) *p + j->raw_len;
    *n -= j->raw_len;
    if (submit(r, s)) return r->err.code;
    ring_release(&r->ring);
    if (*n && ++r->n_numbers % READER_BLOCKS_PER_LOOK == 0) return AGAIN;
  }
  return OK;
}

enum status reader_wait(struct reader *r) {
  return r->err.code ? r->err.code : adopt_ring_error(r, ring_wait(&r->ring));
}

enum status reader_strings(struct reader *r, size_t most, const struct string_array **out) {
  *out = NULL;
  if (r->at < r->end || r->opts.exact || leave_head(r)) return OK;
  struct slot *s = NULL;
  enum status st = front(r, &s);
  if (st) return st;
  struct read_job *j = s ? s->job : NULL;
  if (!j || !j->as_strings || j->header.count > most) return OK;
  if ((st = adopt_ring_error(r, ring_done(&r->ring, s)))) return st;
  r->open = true;
  if (count(r, j)) return r->err.code;
  *out = &j->strings.array;
  return OK;
}

enum status reader_head(struct reader *r, size_t n) {
  while ((size_t) (r->end - r->at) < n) {
    const size_t have = (size_t) (r->end - r->at);
    if (have) memmove(r->head, r->at, have);
    r->at = r->end = r->head;
    bool any;
    const enum status st = next_block(r, n - have, &any);
    if (st == AGAIN || !any) {
      r->end = r->head + have;
      r->at = r->head;
      return st;
    }
    if (st) return st;
    size_t more = (size_t) (r->end - r->at);
    if (have == 0 && more >= n) return OK;
    if (more > n - have) more = n - have;
    memcpy(r->head + have, r->at, more);
    r->after_head = r->at + more;
    r->after_end = r->end;
    r->at = r->head;
    r->end = r->head + have + more;
  }
  return OK;
}

enum status reader_skip_to(struct reader *r, uint64_t to) {
  r->skip_to = to;
  for (;;) {
    const uint64_t here = reader_position(r);
    if (to >= here && to - here <= (uint64_t) (r->end - r->at)) {
      r->at += to - here;
      return OK;
    }
    r->at = r->end;
    struct slot *s = NULL;
    const enum status st = front(r, &s);
    if (st) return st;
    const struct read_job *j = s ? s->job : NULL;
    const uint64_t begins = reader_position(r) + (j ? j->skipped : 0);
    if (j && to == begins) return OK;
    if (!j && to == r->stream_total) {
      r->skipped += to - begins;
      return OK;
    }
    if (!j || to < begins)
      return fail(&r->err, ERR_CORRUPT, 0, "a part of it is not where its index says");
    bool any;
    const enum status opened = next_block(r, 1, &any);
    if (opened) return opened;
  }
}

enum status reader_more(struct reader *r, bool *more) { return next_block(r, 1, more); }

enum status reader_finish(struct reader *r) {
  for (int i = 0; i < READER_BLOCKS_PER_LOOK; i++) {
    bool left = false;
    const enum status st = r->opts.exact ? OK : reader_more(r, &left);
    if (st) return st;
    if (left && !r->container->may_go_on)
      return fail(&r->err, ERR_CORRUPT, 0, "its stream goes on after the object");
    r->goes_on |= left;
    if (!left || !r->container->checks_late) return reader_wait(r);
    r->at = r->end;
  }
  return AGAIN;
}

void reader_close(struct reader *r) {
  ring_close(&r->ring);
  if (r->container && r->container->close) r->container->close(r);
  for (size_t i = 0; r->jobs && i < 2 * (size_t) r->opts.n_threads + 2; i++) {
    piece_release(r, r->jobs[i].piece);
    buffer_close(&r->jobs[i].raw);
    block_strings_close(&r->jobs[i].strings);
  }
  for (unsigned i = 0; r->coders && i < r->opts.n_threads; i++) coder_close(&r->coders[i]);
  free(r->jobs);
  free(r->coders);
  XXH3_freeState(r->chain);
  piece_release(r, r->piece);
  while (r->spare) {
    struct piece *p = r->spare;
    r->spare = p->next;
    buffer_close(&p->buffer);
    free(p);
  }
  *r = (struct reader){0};
}
