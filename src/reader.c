#include "reader.h"

#include <xxhash.h>

#include "pages.h"

enum {
  PIECE_LEN = 1 << 20,    // a file is read in such pieces
  BLOCKS_PER_LOOK = 1 << 6  // for an interrupt
};

struct piece {
  struct buffer buffer;        // unused if the source is in memory
  const unsigned char *bytes;
  size_t len;
  size_t n_users;              // jobs that point into it, and the reader itself; the consumer's
  struct piece *next;          // in the list of spares
};

struct read_job {
  struct block_header header;
  const unsigned char *block;  // header and payload, in `piece`
  struct piece *piece;
  void *dest;                  // where the bytes go, or NULL: `raw`, or where they are already
  bool held;                   // not submitted yet: numbers that wait for their destination
  bool as_strings;             // decode into `strings` rather than bytes
  struct buffer raw;
  const unsigned char *view;   // the decoded bytes, if dest is NULL
  struct block_strings strings;
};

// ---- what the ring calls ------------------------------------------------------------------

static bool is_stored_as_is(const struct block_header *h) {
  return h->codec == CODEC_STORED && h->filter == FILTER_NONE && h->stored_len == h->raw_len;
}

static enum status work(void *ctx, unsigned thread, void *job, struct error *e) {
  struct coder *c = &((struct reader *) ctx)->coders[thread];
  struct read_job *j = job;
  const struct block_header *h = &j->header;
  if (j->as_strings) return block_decode_strings(c, j->block, h, &j->strings, e);
  if (j->dest) {
    pages_populate(j->dest, h->raw_len);
    return block_decode(c, j->block, h, j->dest, e);
  }
  if (is_stored_as_is(h)) {
    j->view = j->block + BLOCK_HEADER_LEN;
    return block_check(j->block, h, e);
  }
  if (!buffer_reserve(&j->raw, h->raw_len)) return fail(e, ERR_NOMEM, 0, "unpacking a block");
  j->view = j->raw.p;
  return block_decode(c, j->block, h, j->raw.p, e);
}

// ---- open ---------------------------------------------------------------------------------

static enum status no_memory(struct reader *r) { return fail(&r->err, ERR_NOMEM, 0, "starting"); }

enum status reader_open(struct reader *r, struct source *source, const struct reader_opts *opts) {
  *r = (struct reader){.source = source,
                       .opts = *opts,
                       .verified = !opts->verify_all,
                       .stream_total = UINT64_MAX};
  const size_t n_slots = 2 * (size_t) opts->n_threads + 2;
  if (ring_open(&r->ring, n_slots, opts->n_threads, (struct ring_ops){.work = work}, r))
    return no_memory(r);
  r->jobs = calloc(n_slots, sizeof(struct read_job));
  r->coders = calloc(opts->n_threads, sizeof(struct coder));
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
  const uint64_t left = (s->at < s->len ? s->len - s->at : 0) + n;
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

static enum status truncated(struct reader *r) {
  return fail(&r->err, ERR_TRUNCATED, 0, "it is truncated");
}

// n bytes of the file from piece_at on, all in one piece. A pipe is asked for no more than that.
static enum status need(struct reader *r, size_t n) {
  if (r->piece && r->piece->len - r->piece_at >= n) return OK;
  if (r->source->bytes && r->piece) return truncated(r);
  if ((!r->piece || r->piece->buffer.cap - r->piece_at < n) && next_piece(r, n))
    return r->err.code;
  struct piece *p = r->piece;
  while (p->len - r->piece_at < n) {
    const size_t want = r->source->can_seek ? p->buffer.cap - p->len : n - (p->len - r->piece_at);
    size_t got = 0;
    const enum status st =
        r->source->bytes ? OK : r->source->read(r->source, p->buffer.p + p->len, want, &got, &r->err);
    p->len += got;
    if (st) return st;
    if (got == 0) return truncated(r);
  }
  return OK;
}

// ---- blocks -------------------------------------------------------------------------------

static enum status contradicts_end(struct reader *r) {
  return fail(&r->err, ERR_CORRUPT, 0, "its blocks are not those that its end block tells of");
}

// Bytes of the file that have not been cut into blocks, as far as is known.
static uint64_t bytes_left(const struct reader *r) {
  const struct source *s = r->source;
  const uint64_t unread = s->can_seek && !s->bytes && s->at < s->len ? s->len - s->at : 0;
  return unread + r->piece->len - r->piece_at;
}

static enum status see_end(struct reader *r) {
  const enum status st = need(r, END_BLOCK_LEN);
  if (st) return st;
  if (bytes_left(r) != END_BLOCK_LEN)
    return fail(&r->err, ERR_CORRUPT, 0, "bytes were added behind its end");
  struct end_record end;
  if (end_block_decode(r->piece->bytes + r->piece_at, &end, &r->err)) return r->err.code;
  if (end.n_blocks != r->n_blocks || end.stream_len != r->stream_len ||
      end.chain != XXH3_64bits_digest(r->chain))
    return contradicts_end(r);
  r->piece_at += END_BLOCK_LEN;
  r->ended = true;
  return OK;
}

static bool is_known_kind(const struct block_header *h) {
  return h->kind >= BLOCK_BYTES && h->kind <= BLOCK_INDEX;
}

// The next block, whole, header bounds checked; or the end of the file, as r->ended.
static enum status cut(struct reader *r, struct block_header *h, const unsigned char **block) {
  enum status st = need(r, BLOCK_HEADER_LEN);
  if (st) return st;
  *block = r->piece->bytes + r->piece_at;
  if (block_header_decode(*block, &r->header, r->n_blocks, h, &r->err)) return r->err.code;
  if (h->kind == BLOCK_END) return see_end(r);
  // Every block is followed by a header, so a pipe can be asked for that as well.
  if ((st = need(r, BLOCK_HEADER_LEN + (size_t) h->stored_len + BLOCK_HEADER_LEN))) return st;
  *block = r->piece->bytes + r->piece_at;
  if (!is_known_kind(h)) {
    if (block_check(*block, h, &r->err)) return r->err.code;
    return fail_block(&r->err, ERR_VERSION, 0, "is of a kind that this riffle does not know",
                      h->seq);
  }
  XXH3_64bits_update(r->chain, *block, 8);
  r->n_blocks++;
  r->stream_len += h->raw_len;
  r->piece_at += BLOCK_HEADER_LEN + h->stored_len;
  return OK;
}

static enum status adopt_ring_error(struct reader *r, enum status st) {
  if (st != OK && st != AGAIN && r->err.code == OK) r->err = r->ring.err;
  return st;
}

static enum status submit(struct reader *r, struct slot *s) {
  struct read_job *j = s->job;
  j->held = false;
  return adopt_ring_error(r, ring_submit(&r->ring, s, j->header.raw_len));
}

// Puts the next block into a slot. Numbers wait there for their destination.
static enum status load(struct reader *r) {
  struct slot *s;
  enum status st = adopt_ring_error(r, ring_claim(&r->ring, &s));
  if (st) return st;
  struct read_job *j = s->job;
  piece_release(r, j->piece);
  j->piece = NULL;
  st = cut(r, &j->header, &j->block);
  if (st == OK && !r->ended && j->header.kind == BLOCK_INDEX)
    st = block_check(j->block, &j->header, &r->err);
  if (st || r->ended || j->header.kind == BLOCK_INDEX) {
    ring_unclaim(&r->ring);
    return st;
  }
  j->piece = r->piece;
  j->piece->n_users++;
  j->dest = NULL;
  j->as_strings = r->opts.build && j->header.kind == BLOCK_STRINGS;
  j->held = r->opts.build && j->header.kind == BLOCK_NUMBERS;
  return j->held ? OK : submit(r, s);
}

// The oldest slot, or NULL at the end of the stream; fills the ring on the way.
static enum status front(struct reader *r, struct slot **s) {
  if (r->open) {
    ring_release(&r->ring);
    r->open = false;
  }
  if (r->err.code) return r->err.code;
  while (!r->ended && (!ring_peek(&r->ring) || ring_has_free(&r->ring))) {
    const enum status st = load(r);
    if (st == AGAIN && ring_peek(&r->ring)) break;
    if (st) return st;
  }
  *s = ring_peek(&r->ring);
  return OK;
}

// ---- start --------------------------------------------------------------------------------

static enum status read_header(struct reader *r) {
  const enum status st = need(r, FILE_HEADER_LEN);
  if (st == ERR_TRUNCATED) r->err = (struct error){0};  // a short file may not be ours at all
  else if (st) return st;
  size_t n;
  const unsigned char *first = reader_first_bytes(r, &n);
  if (file_header_decode(first, n, &r->header, &r->err)) return r->err.code;
  r->piece_at = FILE_HEADER_LEN;
  return OK;
}

static enum status check_end(struct reader *r) {
  unsigned char bytes[END_BLOCK_LEN];
  struct end_record end;
  size_t got;
  const uint64_t len = r->source->len;
  if (len < FILE_HEADER_LEN + END_BLOCK_LEN) return truncated(r);
  if (source_read_at(r->source, len - END_BLOCK_LEN, bytes, END_BLOCK_LEN, &got, &r->err))
    return r->err.code;
  if (got < END_BLOCK_LEN) return truncated(r);
  if (end_block_decode(bytes, &end, &r->err)) return r->err.code;
  // What a file of this length can hold bounds what is allocated on the word of its end block.
  if (end.stream_len > len / BLOCK_HEADER_LEN * r->header.max_raw) return contradicts_end(r);
  r->stream_total = end.stream_len;
  return OK;
}

static void rewind_to_first_block(struct reader *r) {
  piece_release(r, r->piece);
  r->piece = NULL;
  r->source->at = FILE_HEADER_LEN;
  r->piece_at = 0;
  if (r->source->bytes && next_piece(r, 0) == OK) r->piece_at = FILE_HEADER_LEN;
  r->n_blocks = r->stream_len = 0;
  r->ended = false;
  XXH3_64bits_reset(r->chain);
}

static enum status verify_blocks(struct reader *r) {
  for (int i = 0; i < BLOCKS_PER_LOOK; i++) {
    struct block_header h;
    const unsigned char *block;
    const enum status st = cut(r, &h, &block);
    if (st) return st;
    if (r->ended) {
      r->verified = true;
      rewind_to_first_block(r);
      return r->err.code;
    }
    if (block_check(block, &h, &r->err)) return r->err.code;
  }
  return AGAIN;
}

// The header has been read, and is ours: now the rest may come into memory.
static enum status slurp(struct reader *r) {
  const enum status st =
      source_slurp(r->source, r->piece->bytes, r->piece->len, &r->err);
  if (st == OK) rewind_to_first_block(r);
  return st ? st : r->err.code;
}

enum status reader_start(struct reader *r) {
  enum status st = OK;
  if (r->err.code) return r->err.code;
  if (r->header.max_raw == 0 && (st = read_header(r))) return st;
  if (!r->verified && !r->source->can_seek && (st = slurp(r))) return st;
  if (r->n_blocks == 0 && r->source->can_seek && check_end(r)) return r->err.code;
  return r->verified ? OK : verify_blocks(r);
}

const unsigned char *reader_first_bytes(const struct reader *r, size_t *n) {
  *n = r->piece ? r->piece->len : 0;
  return r->piece ? r->piece->bytes : NULL;
}

// ---- take ---------------------------------------------------------------------------------

// The strings of a job as the bytes of the stream.
static enum status strings_as_bytes(struct reader *r, struct read_job *j) {
  if (!buffer_reserve(&j->raw, j->header.raw_len)) return no_memory(r);
  strings_to_stream(&j->strings.array, j->raw.p);
  j->view = j->raw.p;
  return OK;
}

enum status reader_fill(struct reader *r) {
  while (r->at == r->end) {
    struct slot *s = NULL;
    enum status st = front(r, &s);
    if (st) return st;
    if (!s) return fail(&r->err, ERR_CORRUPT, 0, "its stream ends inside an object");
    struct read_job *j = s->job;
    if (j->held && submit(r, s)) return r->err.code;
    if ((st = adopt_ring_error(r, ring_done(&r->ring, s)))) return st;
    if (j->as_strings && strings_as_bytes(r, j)) return r->err.code;
    r->open = true;
    r->taken += j->header.raw_len;
    r->at = j->view;
    r->end = j->view + j->header.raw_len;
  }
  return OK;
}

enum status reader_get_slow(struct reader *r, void **p, size_t *n) {
  while (*n) {
    const enum status st = reader_fill(r);
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
    struct slot *s = NULL;
    const enum status st = front(r, &s);
    if (st) return st;
    struct read_job *j = s ? s->job : NULL;
    if (!j || !j->held || j->header.raw_len > *n) {
      const enum status filled = reader_fill(r);
      if (filled) return filled;
      continue;
    }
    j->dest = *p;
    r->taken += j->header.raw_len;
    *p = (char *) *p + j->header.raw_len;
    *n -= j->header.raw_len;
    if (submit(r, s)) return r->err.code;
    ring_release(&r->ring);
    if (*n && r->n_blocks % BLOCKS_PER_LOOK == 0) return AGAIN;
  }
  return OK;
}

enum status reader_wait(struct reader *r) {
  return r->err.code ? r->err.code : adopt_ring_error(r, ring_wait(&r->ring));
}

enum status reader_strings(struct reader *r, size_t most, const struct string_array **out) {
  *out = NULL;
  if (r->at < r->end) return OK;
  struct slot *s = NULL;
  enum status st = front(r, &s);
  if (st) return st;
  struct read_job *j = s ? s->job : NULL;
  if (!j || !j->as_strings || j->header.count > most) return OK;
  if ((st = adopt_ring_error(r, ring_done(&r->ring, s)))) return st;
  r->open = true;
  r->taken += j->header.raw_len;
  *out = &j->strings.array;
  return OK;
}

enum status reader_finish(struct reader *r) {
  struct slot *s = NULL;
  if (r->at < r->end) return fail(&r->err, ERR_CORRUPT, 0, "its stream goes on after the object");
  enum status st = front(r, &s);
  if (st) return st;
  if (s) return fail(&r->err, ERR_CORRUPT, 0, "its stream goes on after the object");
  return reader_wait(r);
}

void reader_close(struct reader *r) {
  ring_close(&r->ring);
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
