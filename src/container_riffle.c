#include <xxhash.h>

#include "container.h"
#include "pages.h"
#include "parts.h"

enum {
  INDEX_SHARE = 200,     // of the file's bytes, at most one in so many is the index's
  INDEX_LEAST = 100,     // bytes that any index takes
  INDEX_PIECE = 1 << 20  // of its bytes in one block
};

// ---- reading ------------------------------------------------------------------------------

static bool is_stored_as_is(const struct block_header *h) {
  return h->codec == CODEC_STORED && h->filter == FILTER_NONE && h->stored_len == h->raw_len;
}

static enum status decode(struct reader *r, struct coder *c, struct read_job *j, struct error *e) {
  const struct block_header *h = &j->header;
  (void) r;
  if (j->as_strings) return block_decode_strings(c, j->block, h, &j->strings, e);
  if (j->dest) {
    pages_populate(j->dest, h->raw_len);
    return block_decode(c, j->block, h, j->dest, e);
  }
  if (is_stored_as_is(h)) {
    j->view = j->block + BLOCK_HEADER_LEN + j->from;
    return block_check(j->block, h, e);
  }
  if (!buffer_reserve(&j->raw, h->raw_len)) return fail(e, ERR_NOMEM, 0, "unpacking a block");
  j->view = j->raw.p + j->from;
  return block_decode_part(c, j->block, h, j->from, j->from + j->raw_len, j->raw.p, e);
}

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
  const enum status st = reader_need(r, END_BLOCK_LEN);
  if (st) return st;
  if (bytes_left(r) != END_BLOCK_LEN)
    return fail(&r->err, ERR_CORRUPT, 0, "bytes were added behind its end");
  struct end_record end;
  if (end_block_decode(r->piece->bytes + r->piece_at, &end, &r->err)) return r->err.code;
  if (end.n_blocks != r->n_blocks || end.stream_len != r->stream_len ||
      end.chain != XXH3_64bits_digest(r->chain) ||
      (r->source->can_seek && end.index_offset != r->index_at))
    return contradicts_end(r);
  r->piece_at += END_BLOCK_LEN;
  r->ended = true;
  return OK;
}

static bool is_known_kind(const struct block_header *h) {
  return h->kind >= BLOCK_BYTES && h->kind <= BLOCK_INDEX;
}

// Whether the next `left` bytes begin with a whole block of the index; then it is passed.
static bool pass_index_block(struct reader *r, uint64_t *left) {
  struct block_header h;
  struct error e = {0};
  const unsigned char *block = r->piece->bytes + r->piece_at;
  if (*left < BLOCK_HEADER_LEN ||
      block_header_decode(block, &r->header, r->n_blocks + r->n_index, &h, &e) ||
      h.kind != BLOCK_INDEX || *left < BLOCK_HEADER_LEN + (uint64_t) h.stored_len)
    return false;
  const size_t len = BLOCK_HEADER_LEN + (size_t) h.stored_len;
  if (reader_need(r, len) || !block_verify(r->piece->bytes + r->piece_at, &h)) return false;
  r->piece_at += len;
  r->n_index++;
  *left -= len;
  return true;
}

// The index is no part of the stream: whatever is wrong with it, the blocks are there. The end block
// says where both begin.
static enum status pass_index(struct reader *r) {
  uint64_t left = r->source->len - END_BLOCK_LEN - r->index_at;
  r->index_damaged = left == 0;
  while (left) {
    const enum status st = reader_need(r, BLOCK_HEADER_LEN);
    if (st) return st;
    if (pass_index_block(r, &left)) continue;
    if (r->err.code) return r->err.code;
    r->index_damaged = true;
    reader_skip(r, left);
    left = 0;
  }
  return see_end(r);
}

// The next block of any kind, or the end of the file. An index comes as a block only where the end
// block has not been seen.
static enum status cut_any(struct reader *r, struct block_header *h, const unsigned char **block) {
  enum status st = reader_need(r, BLOCK_HEADER_LEN);
  if (st) return st;
  if (r->index_at && reader_file_at(r) == r->index_at) return pass_index(r);
  *block = r->piece->bytes + r->piece_at;
  if (block_header_decode(*block, &r->header, r->n_blocks + r->n_index, h, &r->err))
    return r->err.code;
  if (h->kind == BLOCK_END) return see_end(r);
  // Every block is followed by a header, so a pipe can be asked for that as well.
  st = reader_need(r, BLOCK_HEADER_LEN + (size_t) h->stored_len + BLOCK_HEADER_LEN);
  if (st) return st;
  *block = r->piece->bytes + r->piece_at;
  if (!is_known_kind(h)) {
    if (block_check(*block, h, &r->err)) return r->err.code;
    return fail_block(&r->err, ERR_VERSION, 0, "is of a kind that this riffle does not know",
                      h->seq);
  }
  r->piece_at += BLOCK_HEADER_LEN + h->stored_len;
  if (h->kind == BLOCK_INDEX) {
    if (r->source->can_seek)
      return block_check(*block, h, &r->err) ? r->err.code : contradicts_end(r);
    r->index_damaged |= !block_verify(*block, h);
    r->n_index++;
    return OK;
  }
  if (r->n_index) return contradicts_end(r);
  XXH3_64bits_update(r->chain, *block, 8);
  r->n_blocks++;
  r->stream_len += h->raw_len;
  return OK;
}

// The next block of the stream: an index is none.
static enum status cut(struct reader *r, struct read_job *j) {
  struct block_header *h = &j->header;
  do {
    const enum status st = cut_any(r, h, &j->block);
    if (st || r->ended) return st;
  } while (h->kind == BLOCK_INDEX);
  j->block_len = BLOCK_HEADER_LEN + h->stored_len;
  j->raw_len = h->raw_len;
  return OK;
}

static enum status read_header(struct reader *r) {
  const enum status st = reader_need(r, FILE_HEADER_LEN);
  if (st == ERR_TRUNCATED) r->err = (struct error){0};  // a short file may not be ours at all
  else if (st) return st;
  size_t n;
  const unsigned char *first = reader_first_bytes(r, &n);
  if (file_header_decode(first, n, &r->header, &r->err)) return r->err.code;
  r->piece_at = FILE_HEADER_LEN;
  return OK;
}

static enum status check_end(struct reader *r) {
  struct end_record end;
  const uint64_t len = r->source->len;
  if (end_load(r->source, &end, &r->err)) return r->err.code;
  // What a file of this length can hold bounds what is allocated on the word of its end block.
  if (end.stream_len > len / BLOCK_HEADER_LEN * r->header.max_raw) return contradicts_end(r);
  r->stream_total = end.stream_len;
  r->index_at = end.index_offset;
  return OK;
}

// What is verified of a source that cannot seek is kept, to be read again: this object's bytes, and
// none behind them.
static enum status keep(struct reader *r, const unsigned char *p, size_t n) {
  return r->source->can_seek ? OK : source_keep(r->source, p, n, &r->err);
}

// All blocks are verified: back to the first one.
static enum status end_verify(struct reader *r) {
  if (keep(r, r->piece->bytes + r->piece_at - END_BLOCK_LEN, END_BLOCK_LEN)) return r->err.code;
  r->verified = true;
  r->stream_total = r->stream_len;
  if (!r->source->can_seek) {
    source_become_kept(r->source);
    if (check_end(r)) return r->err.code;
  }
  reader_rewind(r, FILE_HEADER_LEN);
  return r->err.code;
}

static enum status verify_blocks(struct reader *r) {
  for (int i = 0; i < READER_BLOCKS_PER_LOOK; i++) {
    struct block_header h;
    const unsigned char *block;
    const enum status st = cut_any(r, &h, &block);
    if (st) return st;
    if (r->ended) return end_verify(r);
    if (h.kind != BLOCK_INDEX && block_check(block, &h, &r->err)) return r->err.code;
    if (keep(r, block, BLOCK_HEADER_LEN + (size_t) h.stored_len)) return r->err.code;
  }
  return AGAIN;
}

static enum status start(struct reader *r) {
  if (r->header.max_raw == 0) {
    const enum status st = read_header(r);
    if (st) return st;
    if (!r->verified && keep(r, r->piece->bytes, FILE_HEADER_LEN)) return r->err.code;
  }
  if (r->n_blocks == 0 && r->source->can_seek && check_end(r)) return r->err.code;
  return r->verified ? OK : verify_blocks(r);
}

const struct container_in riffle_in = {.start = start, .cut = cut, .decode = decode};

// ---- writing ------------------------------------------------------------------------------

static enum status begin(struct writer *w, const struct writer_opts *opts) {
  unsigned char header[FILE_HEADER_LEN];
  const struct file_header h = {.big_endian = host_is_big_endian(),
                                .stream_version = opts->stream_version,
                                .plain = opts->plain,
                                .unseen = opts->unseen,
                                .max_raw = BATCH_MAX_STREAM};
  file_header_encode(&h, header);
  return w->sink->write(w->sink, header, sizeof(header), &w->err);
}

static enum status encode(struct writer *w, struct coder *c, const struct block_input *in,
                          struct buffer *out, size_t *len, uint64_t *hash, struct error *e) {
  return block_encode(c, &w->block, in, out, len, hash, e);
}

static enum status chain(struct writer *w, const unsigned char *block, size_t len, uint64_t hash,
                         struct error *e) {
  struct block_header h;
  unsigned char bytes[8];
  store_u64(bytes, hash);
  XXH3_64bits_update(w->chain, bytes, sizeof(bytes));
  w->file_len += len;
  block_header_get(block, &h);
  return index_add_block(&w->index, &h) ? OK : fail(e, ERR_NOMEM, 0, "writing the index");
}

// An index that is worth its room, or holds what the caller wants kept.
static bool wants_index(const struct writer *w, size_t len) {
  return w->index.meta_len || len <= w->file_len / INDEX_SHARE;
}

// The blocks of the index, one behind the other in `out`.
static enum status pack_index(struct writer *w, const struct buffer *bytes, size_t len,
                              struct buffer *out, size_t *packed, uint64_t *seq) {
  struct buffer block = {0};
  struct coder *c = &w->coders[0];
  *packed = 0;
  for (size_t at = 0; at < len && w->err.code == OK; at += INDEX_PIECE) {
    const struct block_input in = {.kind = BLOCK_INDEX,
                                   .seq = (uint32_t) (*seq)++,
                                   .raw = bytes->p + at,
                                   .raw_len = len - at < INDEX_PIECE ? len - at : INDEX_PIECE};
    size_t n;
    uint64_t hash;
    if (block_encode(c, &w->block, &in, &block, &n, &hash, &w->err)) break;
    if (!buffer_extend(out, *packed + n))
      fail(&w->err, ERR_NOMEM, 0, "writing the index");
    else
      memcpy(out->p + *packed, block.p, n);
    *packed += n;
  }
  buffer_close(&block);
  return w->err.code;
}

static enum status write_index(struct writer *w, struct end_record *r, uint64_t *seq) {
  struct buffer bytes = {0}, packed = {0};
  size_t len, n;
  w->index.chain = r->chain;
  if (index_encode(&w->index, &bytes, &len, &w->err) == OK &&
      pack_index(w, &bytes, len, &packed, &n, seq) == OK) {
    if (wants_index(w, n)) {
      r->index_offset = FILE_HEADER_LEN + w->file_len;
      w->sink->write(w->sink, packed.p, n, &w->err);
    } else {
      *seq = w->n_blocks;
    }
  }
  buffer_close(&bytes);
  buffer_close(&packed);
  return w->err.code;
}

static enum status finish(struct writer *w) {
  unsigned char end[END_BLOCK_LEN];
  struct end_record r = {.stream_len = w->stream_len,
                         .n_blocks = w->n_blocks,
                         .chain = XXH3_64bits_digest(w->chain)};
  uint64_t seq = w->n_blocks;
  if (wants_index(w, INDEX_LEAST) && write_index(w, &r, &seq)) return w->err.code;
  end_block_encode(&r, seq, end);
  return w->sink->write(w->sink, end, sizeof(end), &w->err);
}

const struct container_out riffle_out = {
    .typed = true, .begin = begin, .encode = encode, .chain = chain, .finish = finish};
