#include "block.h"

#include <string.h>

// Fewer bytes than this never repay a codec's own header.
enum { CODEC_MIN_LEN = 64 };

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
  if (in->kind == BLOCK_NUMBERS && opts->filter) {
    if (filter_numbers(c, in, f, e)) return e->code;
  } else if (in->kind == BLOCK_STRINGS) {
    if (filter_strings(c, opts, in, f, e)) return e->code;
  }
  if (f->how.filter == FILTER_NONE) f->how.len = in->raw_len;
  return OK;
}

// Puts the payload behind the header's room in `out`: compressed if that is shorter.
static enum status pack_payload(struct coder *c, const struct block_opts *opts,
                                const struct filtered *f, struct buffer *out,
                                struct block_header *h, struct error *e) {
  size_t stored = 0;
  if (!buffer_reserve(out, BLOCK_HEADER_LEN + f->how.len)) return no_memory(e);
  if (f->how.hint != PACKED_DENSE && f->how.len >= CODEC_MIN_LEN &&
      codec_compress(&c->codec, opts->codec, opts->level, f->p, f->how.len,
                     out->p + BLOCK_HEADER_LEN, &stored, e))
    return e->code;
  h->codec = stored ? opts->codec : CODEC_STORED;
  h->stored_len = (uint32_t) (stored ? stored : f->how.len);
  if (stored) return OK;
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
                           .raw_len = (uint32_t) in->raw_len,
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

static enum status unpack_codec(struct coder *c, const unsigned char *block,
                                const struct block_header *h, void *out, struct error *e) {
  struct error inner = {0};
  const enum status st = codec_decompress(&c->codec, h->codec, block + BLOCK_HEADER_LEN,
                                          h->stored_len, out, h->packed_len, &inner);
  return bad_payload(h, st, e);
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
  return unpack_codec(c, block, h, buffer->p, e);
}

static enum status decode_numbers(struct coder *c, const unsigned char *block,
                                  const struct block_header *h, void *out, struct error *e) {
  const size_t size = h->count ? h->raw_len / h->count : 0;
  if ((size != 4 && size != 8) || size * h->count != h->raw_len) return lengths_disagree(h, e);
  const enum number_type type = size == 8 ? NUMBER_F64 : NUMBER_I32;
  const unsigned char *p;
  if (packed_bytes(c, block, h, &c->packed, &p, e)) return e->code;
  if (!buffer_reserve(&c->scratch, numbers_scratch(type, h->count)))
    return bad_payload(h, ERR_NOMEM, e);
  return bad_payload(h, numbers_decode(h->filter, h->param, type, p, h->packed_len, h->count, out,
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
  if (h->kind == BLOCK_STRINGS && h->filter != FILTER_NONE)
    return decode_strings(c, block, h, out, e);
  if (block_check(block, h, e)) return e->code;
  if (h->filter != FILTER_NONE) {
    if (h->kind == BLOCK_NUMBERS) return decode_numbers(c, block, h, out, e);
    return bad_payload(h, ERR_VERSION, e);
  }
  if (h->packed_len != h->raw_len) return lengths_disagree(h, e);
  return unpack_codec(c, block, h, out, e);
}
