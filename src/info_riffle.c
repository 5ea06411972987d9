#include <string.h>
#include <xxhash.h>

#include "info.h"

static enum status no_memory(struct info *i) {
  return fail(&i->err, ERR_NOMEM, 0, "reading a block");
}

static enum status contradicts_end(struct info *i) {
  return fail(&i->err, ERR_CORRUPT, 0, "its blocks are not those that its end block tells of");
}

// Where the blocks of the stream end.
static uint64_t blocks_end(const struct info *i) {
  return i->contents.indexed ? i->contents.end.index_offset : i->source->len - END_BLOCK_LEN;
}

static enum status count_index(struct info *i) {
  const struct contents *c = &i->contents;
  if (!c->indexed) return OK;
  return info_count(i, (struct info_group){.kind = BLOCK_INDEX,
                                           .codec = c->index_codec,
                                           .count = c->n_index,
                                           .stored_len = i->source->len - END_BLOCK_LEN -
                                                         c->end.index_offset});
}

static enum status finish(struct info *i) {
  const struct end_record *end = &i->contents.end;
  if (i->at != blocks_end(i))
    return fail(&i->err, ERR_CORRUPT, 0, "bytes were added behind its end");
  // The hashes of all blocks are in their headers, so this holds also if no payload was read.
  if (end->n_blocks != i->n_blocks || end->stream_len != i->stream_len ||
      end->chain != XXH3_64bits_digest(i->hasher))
    return contradicts_end(i);
  if (!i->contents.index.n_blocks && contents_load_index(&i->contents, i->source, &i->err))
    return i->err.code;
  if (i->validate) i->check = CHECK_VALID;
  i->done = true;
  return count_index(i) ? i->err.code : info_take_head(i);
}

static bool is_known(const struct block_header *h) {
  return info_filter_name(h->kind, h->filter) && info_codec_name(h->codec & ~CODEC_HEAD_ONLY);
}

static enum status unknown(struct info *i, const struct block_header *h) {
  const char *what = info_kind_name(h->kind)
                         ? "needs a codec or filter that this riffle does not know"
                         : "is of a kind that this riffle does not know";
  return fail_block(&i->err, ERR_VERSION, 0, what, h->seq);
}

static enum status read_block(struct info *i, const struct block_header *h) {
  const size_t len = BLOCK_HEADER_LEN + (size_t) h->stored_len;
  if (!buffer_reserve(&i->block, len)) return no_memory(i);
  if (info_bytes(i, i->at, i->block.p, len)) return i->err.code;
  return block_check(i->block.p, h, &i->err);
}

static enum status decode_head(struct info *i, const struct block_header *h) {
  if (!buffer_reserve(&i->raw, h->raw_len)) return no_memory(i);
  if (block_decode(&i->coder, i->block.p, h, i->raw.p, &i->err)) return i->err.code;
  i->n_head = h->raw_len < INFO_HEAD ? h->raw_len : INFO_HEAD;
  memcpy(i->head, i->raw.p, i->n_head);
  return OK;
}

static enum status step(struct info *i) {
  unsigned char bytes[BLOCK_HEADER_LEN];
  struct block_header h;
  if (i->at >= blocks_end(i)) return finish(i);
  if (info_bytes(i, i->at, bytes, sizeof(bytes)) ||
      block_header_decode(bytes, &i->contents.header, i->n_blocks, &h, &i->err))
    return i->err.code;
  if (h.kind == BLOCK_END) return finish(i);
  const bool is_first = i->n_head == 0 && h.raw_len > 0, known = is_known(&h);
  // What is not known may be damage: then its checksum tells.
  if ((i->validate || is_first || !known) && read_block(i, &h)) return i->err.code;
  if (!known) return unknown(i, &h);
  if (is_first && decode_head(i, &h)) return i->err.code;
  XXH3_64bits_update(i->hasher, bytes, 8);
  const uint64_t len = BLOCK_HEADER_LEN + (uint64_t) h.stored_len;
  i->at += len;
  return info_count(i, (struct info_group){.count = 1,
                                           .kind = h.kind,
                                           .filter = h.filter,
                                           .codec = h.codec & (uint8_t) ~CODEC_HEAD_ONLY,
                                           .stream_len = h.raw_len,
                                           .stored_len = len});
}

static enum status check_known(struct info *i, const struct index_block *b, size_t seq) {
  const struct block_header h = {.kind = b->kind, .seq = (uint32_t) seq};
  return info_filter_name(b->kind, b->filter) && info_codec_name(b->codec & ~CODEC_HEAD_ONLY)
             ? OK
             : unknown(i, &h);
}

// The index tells of all blocks at once.
static enum status take_index(struct info *i) {
  const struct index *x = &i->contents.index;
  for (size_t k = 0; k < x->n_blocks; k++) {
    const struct index_block *b = index_block(x, k);
    const struct info_group blocks = {.kind = b->kind,
                                      .filter = b->filter,
                                      .codec = b->codec & (uint8_t) ~CODEC_HEAD_ONLY,
                                      .count = 1,
                                      .stream_len = b->raw_len,
                                      .stored_len = BLOCK_HEADER_LEN + (uint64_t) b->stored_len};
    if (check_known(i, b, k) || info_count(i, blocks)) return i->err.code;
  }
  i->n_head = x->n_head < INFO_HEAD ? x->n_head : INFO_HEAD;
  memcpy(i->head, x->head, i->n_head);
  i->done = true;
  return count_index(i) ? i->err.code : info_take_head(i);
}

enum status info_begin_riffle(struct info *i) {
  struct contents *c = &i->contents;
  // A cut file is found out first, as the reader does.
  if (contents_load_ends(c, i->source, &i->err)) return i->err.code;
  if (!i->validate && contents_load_index(c, i->source, &i->err)) return i->err.code;
  i->format = INFO_RIFFLE;
  i->format_version = i->first[8];
  i->plain = c->header.plain;
  i->unseen = c->header.unseen;
  i->at = FILE_HEADER_LEN;
  // A converted stream's header is in its first block alone.
  i->step = c->indexed && c->index.n_head && !i->validate ? take_index : step;
  return OK;
}
