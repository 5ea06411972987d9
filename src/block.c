#include "block.h"

#include <string.h>

// Fewer bytes than this never repay a codec's own header.
enum { CODEC_MIN_LEN = 64 };
// Before a compressed head, its length.
enum { HEAD_LEN_SIZE = 4 };

void coder_close(struct coder *c) {
  codec_close(&c->codec);
  buffer_close(&c->packed);
  buffer_close(&c->scratch);
}

// ---- encode -------------------------------------------------------------------------------

// The filtered bytes: `p` is the input itself, or coder->packed behind room for a block header.
struct filtered {
  const unsigned char *p;
  struct packed how;
};

static enum status no_memory(struct error *e) { return fail(e, ERR_NOMEM, 0, "packing a block"); }

static enum status filter_numbers(struct coder *c, const struct block_input *in,
                                  struct filtered *f, struct error *e) {
  const size_t count = in->raw_len / number_size(in->type);
  if (!buffer_reserve(&c->packed, BLOCK_HEADER_LEN + numbers_bound(in->type, count)) ||
      !buffer_reserve(&c->scratch, numbers_scratch(in->type, count)))
    return no_memory(e);
  unsigned char *out = c->packed.p + BLOCK_HEADER_LEN;
  numbers_encode(in->type, in->raw, count, out, c->scratch.p, &f->how);
  if (f->how.filter != FILTER_NONE) f->p = out;
  return OK;
}

static enum status filter_structure(struct coder *c, const struct block_input *in,
                                    struct filtered *f, struct error *e) {
  if (!buffer_reserve(&c->packed, BLOCK_HEADER_LEN + structure_bound(in->raw_len)) ||
      !buffer_reserve(&c->scratch, structure_scratch(in->raw_len)))
    return no_memory(e);
  unsigned char *out = c->packed.p + BLOCK_HEADER_LEN;
  structure_encode(in->raw, in->raw_len, out, c->scratch.p, &f->how);
  if (f->how.filter != FILTER_NONE) f->p = out;
  return OK;
}

static enum status filter_strings(struct coder *c, const struct block_opts *opts,
                                  const struct block_input *in, struct filtered *f,
                                  struct error *e) {
  const size_t bound = opts->filter ? strings_bound(&in->strings) : in->raw_len;
  if (!buffer_reserve(&c->packed, BLOCK_HEADER_LEN + bound) ||
      !buffer_reserve(&c->scratch, strings_encode_scratch(&in->strings)))
    return no_memory(e);
  unsigned char *out = c->packed.p + BLOCK_HEADER_LEN;
  if (opts->filter)
    strings_encode(&in->strings, out, c->scratch.p, &f->how);
  else
    strings_to_stream(&in->strings, out);
  f->p = out;
  return OK;
}

static enum status filter_block(struct coder *c, const struct block_opts *opts,
                                const struct block_input *in, struct filtered *f,
                                struct error *e) {
  *f = (struct filtered){in->raw, {.filter = FILTER_NONE, .len = in->raw_len}};
  if (in->kind == BLOCK_STRINGS) {
    if (filter_strings(c, opts, in, f, e)) return e->code;
  } else if (opts->filter && in->kind == BLOCK_NUMBERS) {
    if (filter_numbers(c, in, f, e)) return e->code;
  } else if (opts->filter && in->kind == BLOCK_BYTES) {
    if (filter_structure(c, in, f, e)) return e->code;
  }
  if (f->how.filter == FILTER_NONE) f->how.len = in->raw_len;
  return OK;
}

// Compresses the packed bytes but for their tail, behind the header's room in `out`. *stored is 0 if
// they do not get shorter.
static enum status compress_payload(struct coder *c, const struct block_opts *opts,
                                    const struct filtered *f, struct buffer *out, size_t *stored,
                                    struct error *e) {
  const size_t head = f->how.len - f->how.tail, room = f->how.tail ? HEAD_LEN_SIZE : 0;
  unsigned char *to = out->p + BLOCK_HEADER_LEN;
  *stored = 0;
  if (f->how.hint == PACKED_DENSE || head < CODEC_MIN_LEN) return OK;
  if (codec_compress(&c->codec, opts->codec, opts->level, f->p, head, to + room, stored, e))
    return e->code;
  if (*stored == 0 || !f->how.tail) return OK;
  store_u32(to, (uint32_t) *stored);
  memcpy(to + room + *stored, f->p + head, f->how.tail);
  *stored = room + *stored + f->how.tail;
  if (*stored >= f->how.len) *stored = 0;
  return OK;
}

// Puts the payload behind the header's room in `out`: compressed if that is shorter.
static enum status pack_payload(struct coder *c, const struct block_opts *opts,
                                const struct filtered *f, struct buffer *out,
                                struct block_header *h, struct error *e) {
  size_t stored;
  if (!buffer_reserve(out, BLOCK_HEADER_LEN + HEAD_LEN_SIZE + f->how.len)) return no_memory(e);
  if (compress_payload(c, opts, f, out, &stored, e)) return e->code;
  h->stored_len = (uint32_t) (stored ? stored : f->how.len);
  if (stored) {
    h->codec = (uint8_t) opts->codec | (f->how.tail ? CODEC_HEAD_ONLY : 0);
    return OK;
  }
  h->codec = CODEC_STORED;
  if (c->packed.p && f->p == c->packed.p + BLOCK_HEADER_LEN)
    buffer_swap(out, &c->packed);
  else if (f->how.len)
    memcpy(out->p + BLOCK_HEADER_LEN, f->p, f->how.len);
  return OK;
}

static size_t element_count(const struct block_input *in) {
  switch (in->kind) {
    case BLOCK_NUMBERS: return in->raw_len / number_size(in->type);
    case BLOCK_STRINGS: return in->strings.n;
    default: return 0;
  }
}

enum status block_encode(struct coder *c, const struct block_opts *opts,
                         const struct block_input *in, struct buffer *out, size_t *len,
                         uint64_t *hash, struct error *e) {
  struct filtered f;
  if (filter_block(c, opts, in, &f, e)) return e->code;
  struct block_header h = {.kind = in->kind,
                           .filter = f.how.filter,
                           .param = f.how.param,
                           .seq = in->seq,
                           .raw_len = in->kind == BLOCK_INDEX ? 0 : (uint32_t) in->raw_len,
                           .packed_len = (uint32_t) f.how.len,
                           .count = (uint32_t) element_count(in)};
  if (pack_payload(c, opts, &f, out, &h, e)) return e->code;
  *hash = block_header_encode(&h, out->p);
  *len = BLOCK_HEADER_LEN + h.stored_len;
  return OK;
}

// ---- decode -------------------------------------------------------------------------------

static enum status corrupt(const struct block_header *h, const char *what, struct error *e) {
  return fail_block(e, ERR_CORRUPT, 0, what, h->seq);
}

static enum status lengths_disagree(const struct block_header *h, struct error *e) {
  return corrupt(h, "is corrupt (its lengths disagree)", e);
}

// A codec's or filter's verdict, said with the block's number.
static enum status bad_payload(const struct block_header *h, enum status st, struct error *e) {
  switch (st) {
    case OK: return OK;
    case ERR_VERSION:
      return fail_block(e, st, 0, "needs a codec or filter that this riffle does not know", h->seq);
    case ERR_NOMEM: return fail(e, st, 0, "unpacking a block");
    default: return corrupt(h, "is corrupt (it does not decode)", e);
  }
}

// Decompresses n bytes to exactly out_len.
static enum status unpack_codec(struct coder *c, const struct block_header *h,
                                const unsigned char *in, size_t n, unsigned char *out,
                                size_t out_len, struct error *e) {
  struct error inner = {0};
  const enum codec codec = h->codec & ~CODEC_HEAD_ONLY;
  return bad_payload(h, codec_decompress(&c->codec, codec, in, n, out, out_len, &inner), e);
}

// The payload -> h->packed_len bytes.
static enum status unpack_payload(struct coder *c, const unsigned char *block,
                                  const struct block_header *h, void *out, struct error *e) {
  const unsigned char *in = block + BLOCK_HEADER_LEN;
  if (!(h->codec & CODEC_HEAD_ONLY))
    return unpack_codec(c, h, in, h->stored_len, out, h->packed_len, e);
  if (h->stored_len < HEAD_LEN_SIZE) return lengths_disagree(h, e);
  const size_t stored = h->stored_len - HEAD_LEN_SIZE, head = load_u32(in);
  if (head > stored) return lengths_disagree(h, e);
  const size_t tail = stored - head;
  if (tail > h->packed_len) return lengths_disagree(h, e);
  in += HEAD_LEN_SIZE;
  if (unpack_codec(c, h, in, head, out, h->packed_len - tail, e)) return e->code;
  memcpy((unsigned char *) out + h->packed_len - tail, in + head, tail);
  return OK;
}

// The packed bytes: the payload itself if it is stored, else decompressed into `buffer`.
static enum status packed_bytes(struct coder *c, const unsigned char *block,
                                const struct block_header *h, struct buffer *buffer,
                                const unsigned char **p, struct error *e) {
  if (h->codec == CODEC_STORED) {
    if (h->stored_len != h->packed_len) return lengths_disagree(h, e);
    *p = block + BLOCK_HEADER_LEN;
    return OK;
  }
  if (!buffer_reserve(buffer, h->packed_len)) return bad_payload(h, ERR_NOMEM, e);
  *p = buffer->p;
  return unpack_payload(c, block, h, buffer->p, e);
}

static enum status decode_numbers(struct coder *c, const unsigned char *block,
                                  const struct block_header *h, size_t from, size_t end,
                                  void *out, struct error *e) {
  const size_t size = h->count ? h->raw_len / h->count : 0;
  if ((size != 4 && size != 8) || size * h->count != h->raw_len) return lengths_disagree(h, e);
  const enum number_type type = size == 8 ? NUMBER_F64 : NUMBER_I32;
  const unsigned char *p;
  if (packed_bytes(c, block, h, &c->packed, &p, e)) return e->code;
  if (!buffer_reserve(&c->scratch, numbers_scratch(type, h->count)))
    return bad_payload(h, ERR_NOMEM, e);
  const struct window w = {from / size, end / size + (end % size != 0)};
  return bad_payload(h, numbers_decode_part(h->filter, h->param, type, p, h->packed_len, h->count, w,
                                            out, c->scratch.p), e);
}

static enum status decode_structure(struct coder *c, const unsigned char *block,
                                    const struct block_header *h, void *out, struct error *e) {
  const unsigned char *p;
  if (packed_bytes(c, block, h, &c->packed, &p, e)) return e->code;
  if (!buffer_reserve(&c->scratch, structure_scratch(h->raw_len)))
    return bad_payload(h, ERR_NOMEM, e);
  return bad_payload(h, structure_decode(h->filter, h->param, p, h->packed_len, h->raw_len, out,
                                         c->scratch.p), e);
}

void block_strings_close(struct block_strings *s) {
  buffer_close(&s->packed);
  buffer_close(&s->items);
  buffer_close(&s->codes);
  buffer_close(&s->scratch);
}

enum status block_check(const unsigned char *block, const struct block_header *h,
                        struct error *e) {
  return block_verify(block, h) ? OK : corrupt(h, "is corrupt (checksum differs)", e);
}

enum status block_decode_strings(struct coder *c, const unsigned char *block,
                                 const struct block_header *h, struct block_strings *s,
                                 struct error *e) {
  if (block_check(block, h, e)) return e->code;
  // Every item takes eight bytes of stream: this bounds what the count can make us allocate.
  if (h->count > h->raw_len / 8) return lengths_disagree(h, e);
  const unsigned char *p;
  if (packed_bytes(c, block, h, &s->packed, &p, e)) return e->code;
  if (!buffer_reserve(&s->items, h->count * sizeof(struct string_item)) ||
      !buffer_reserve(&s->codes, h->count * sizeof(uint32_t)) ||
      !buffer_reserve(&s->scratch, strings_decode_scratch(h->count, h->raw_len)))
    return bad_payload(h, ERR_NOMEM, e);
  return bad_payload(h, strings_decode(h->filter, h->param, p, h->packed_len, h->count, h->raw_len,
                                       (struct string_item *) s->items.p, (uint32_t *) s->codes.p,
                                       s->scratch.p, &s->array), e);
}

static enum status decode_strings(struct coder *c, const unsigned char *block,
                                  const struct block_header *h, void *out, struct error *e) {
  struct block_strings s = {0};
  if (block_decode_strings(c, block, h, &s, e) == OK) strings_to_stream(&s.array, out);
  block_strings_close(&s);
  return e->code;
}

enum status block_decode(struct coder *c, const unsigned char *block, const struct block_header *h,
                         void *out, struct error *e) {
  return block_decode_part(c, block, h, 0, h->raw_len, out, e);
}

enum status block_decode_part(struct coder *c, const unsigned char *block,
                              const struct block_header *h, size_t from, size_t end, void *out,
                              struct error *e) {
  if (h->kind == BLOCK_STRINGS && h->filter != FILTER_NONE)
    return decode_strings(c, block, h, out, e);
  if (block_check(block, h, e)) return e->code;
  if (h->filter != FILTER_NONE && h->kind == BLOCK_NUMBERS)
    return decode_numbers(c, block, h, from, end, out, e);
  if (h->filter != FILTER_NONE) return decode_structure(c, block, h, out, e);
  if (h->packed_len != h->raw_len) return lengths_disagree(h, e);
  return unpack_payload(c, block, h, out, e);
}

enum status block_decode_index(struct coder *c, const unsigned char *block,
                               const struct block_header *h, void *out, struct error *e) {
  if (block_check(block, h, e)) return e->code;
  if (h->filter != FILTER_NONE)
    return bad_payload(h, ERR_VERSION, e);
  return unpack_payload(c, block, h, out, e);
}
