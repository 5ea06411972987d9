#include "format.h"

#include <string.h>
#include <xxhash.h>

static const unsigned char file_magic[8] = {0x89, 'R', 'I', 'F', '\r', '\n', 0x1a, '\n'};
static const unsigned char end_magic[8] = {'R', 'I', 'F', ' ', 'e', 'n', 'd', '\n'};

enum { FLAG_PLAIN = 1, FLAG_UNSEEN = 2 };

bool host_is_big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

void file_header_encode(const struct file_header *h, unsigned char out[FILE_HEADER_LEN]) {
  memset(out, 0, FILE_HEADER_LEN);
  memcpy(out, file_magic, 8);
  out[8] = FORMAT_VERSION;
  out[9] = h->big_endian;
  out[10] = h->stream_version;
  out[11] = (h->plain ? FLAG_PLAIN : 0) | (h->unseen ? FLAG_UNSEEN : 0);
  store_u32(out + 12, h->max_raw);
  store_u64(out + 24, XXH3_64bits(out, 24));
}

enum status file_header_decode(const unsigned char *in, size_t n, struct file_header *h,
                               struct error *e) {
  if (n == 0 || memcmp(in, file_magic, n < 8 ? n : 8) != 0)
    return fail(e, ERR_FORMAT, 0, "it is not a riffle file");
  if (n < FILE_HEADER_LEN) return fail(e, ERR_TRUNCATED, 0, "it ends inside its header");
  if (load_u64(in + 24) != XXH3_64bits(in, 24))
    return fail(e, ERR_CORRUPT, 0, "its header is corrupt (checksum differs)");
  if (in[8] > FORMAT_VERSION)
    return fail(e, ERR_VERSION, 0, "it has a newer format version than this riffle reads");
  *h = (struct file_header){.big_endian = in[9],
                            .stream_version = in[10],
                            .plain = in[11] & FLAG_PLAIN,
                            .unseen = in[11] & FLAG_UNSEEN,
                            .max_raw = load_u32(in + 12)};
  if (in[8] == 0 || in[9] > 1 || h->stream_version < 2 || h->max_raw == 0 ||
      h->max_raw > MAX_RAW_LEN)
    return fail(e, ERR_CORRUPT, 0, "its header makes no sense");
  if (h->stream_version > 3 || (in[11] & ~(FLAG_PLAIN | FLAG_UNSEEN)))
    return fail(e, ERR_VERSION, 0, "it uses a feature that this riffle does not know");
  if (h->big_endian != host_is_big_endian())
    return fail(e, ERR_VERSION, 0, "it was written on a machine of the other byte order");
  return OK;
}

static void put_fields(const struct block_header *h, unsigned char *p) {
  p[0] = h->kind;
  p[1] = h->codec;
  p[2] = h->filter;
  p[3] = h->param;
  store_u32(p + 4, h->seq);
  store_u32(p + 8, h->raw_len);
  store_u32(p + 12, h->packed_len);
  store_u32(p + 16, h->stored_len);
  store_u32(p + 20, h->count);
}

uint64_t block_header_encode(const struct block_header *h, unsigned char *block) {
  put_fields(h, block + 8);
  const uint64_t hash = XXH3_64bits(block + 8, BLOCK_HEADER_LEN - 8 + h->stored_len);
  store_u64(block, hash);
  return hash;
}

void block_header_get(const unsigned char *in, struct block_header *h) {
  const unsigned char *p = in + 8;
  *h = (struct block_header){.kind = p[0],
                             .codec = p[1],
                             .filter = p[2],
                             .param = p[3],
                             .seq = load_u32(p + 4),
                             .raw_len = load_u32(p + 8),
                             .packed_len = load_u32(p + 12),
                             .stored_len = load_u32(p + 16),
                             .count = load_u32(p + 20)};
}

enum status block_header_decode(const unsigned char *in, const struct file_header *f, uint64_t seq,
                                struct block_header *h, struct error *e) {
  block_header_get(in, h);
  if (h->seq != (uint32_t) seq)
    return fail_block(e, ERR_CORRUPT, 0, "is corrupt or out of order", seq);
  if (h->raw_len > f->max_raw || h->packed_len > max_packed_len(f->max_raw) ||
      h->stored_len > h->packed_len || h->count > h->raw_len ||
      (h->kind == BLOCK_INDEX && h->raw_len))
    return fail_block(e, ERR_CORRUPT, 0, "is corrupt (impossible length)", seq);
  return OK;
}

bool block_verify(const unsigned char *block, const struct block_header *h) {
  return block_hash(block) == XXH3_64bits(block + 8, BLOCK_HEADER_LEN - 8 + h->stored_len);
}

void end_block_encode(const struct end_record *r, uint64_t seq, unsigned char out[END_BLOCK_LEN]) {
  unsigned char *p = out + BLOCK_HEADER_LEN;
  store_u64(p, r->stream_len);
  store_u64(p + 8, r->n_blocks);
  store_u64(p + 16, r->index_offset);
  store_u64(p + 24, r->chain);
  memcpy(p + 32, end_magic, 8);
  const struct block_header h = {.kind = BLOCK_END,
                                 .seq = (uint32_t) seq,
                                 .packed_len = END_PAYLOAD_LEN,
                                 .stored_len = END_PAYLOAD_LEN};
  block_header_encode(&h, out);
}

enum status end_block_decode(const unsigned char in[END_BLOCK_LEN], struct end_record *r,
                             struct error *e) {
  const unsigned char *p = in + BLOCK_HEADER_LEN;
  if (in[8] != BLOCK_END || load_u32(in + 24) != END_PAYLOAD_LEN || memcmp(p + 32, end_magic, 8))
    return fail(e, ERR_TRUNCATED, 0, "it is truncated, or bytes were added to its end");
  const struct block_header h = {.stored_len = END_PAYLOAD_LEN};
  if (!block_verify(in, &h))
    return fail(e, ERR_CORRUPT, 0, "its end block is corrupt (checksum differs)");
  *r = (struct end_record){load_u64(p), load_u64(p + 8), load_u64(p + 16), load_u64(p + 24)};
  return OK;
}
