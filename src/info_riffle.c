#include <string.h>
#include <xxhash.h>

#include "info.h"

static enum status no_memory(struct info *i) {
  return fail(&i->err, ERR_NOMEM, 0, "reading a block");
}

static enum status contradicts_end(struct info *i) {
  return fail(&i->err, ERR_CORRUPT, 0, "its blocks are not those that its end block tells of");
}

static enum status finish(struct info *i) {
  if (i->source->len - i->at != END_BLOCK_LEN)
    return fail(&i->err, ERR_CORRUPT, 0, "bytes were added behind its end");
  // The hashes of all blocks are in their headers, so this holds also if no payload was read.
  if (i->end.n_blocks != i->n_blocks || i->end.stream_len != i->stream_len ||
      i->end.chain != XXH3_64bits_digest(i->hasher))
    return contradicts_end(i);
  if (i->validate) i->check = CHECK_VALID;
  i->done = true;
  return info_take_head(i);
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
  if (info_bytes(i, i->at, bytes, sizeof(bytes)) ||
      block_header_decode(bytes, &i->header, i->n_blocks, &h, &i->err))
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
  return info_count(i, (struct info_group){.kind = h.kind,
                                           .filter = h.filter,
                                           .codec = h.codec & (uint8_t) ~CODEC_HEAD_ONLY,
                                           .stream_len = h.raw_len,
                                           .stored_len = len});
}

enum status info_begin_riffle(struct info *i) {
  unsigned char bytes[END_BLOCK_LEN];
  if (file_header_decode(i->first, i->n_first, &i->header, &i->err)) return i->err.code;
  const uint64_t len = i->source->len;
  // A cut file is found out first, as the reader does.
  if (info_bytes(i, len < FILE_HEADER_LEN + END_BLOCK_LEN ? len : len - END_BLOCK_LEN, bytes,
                 END_BLOCK_LEN) ||
      end_block_decode(bytes, &i->end, &i->err))
    return i->err.code;
  i->format = INFO_RIFFLE;
  i->format_version = i->first[8];
  i->plain = i->header.plain;
  i->unseen = i->header.unseen;
  i->at = FILE_HEADER_LEN;
  i->step = step;
  return OK;
}
