// The qs2 format, version 1:
//   header, 24 bytes: magic 0B 0E 0A C1, u8 version (1), u8 compression (1: zstd), u8 byte order (1
//     big, 2 little), u8 whether blocks may be shuffled, 8 bytes of zero, u64 XXH3-64 of every byte
//     after the header (0: not stored), in the writer's byte order
//   blocks until the end of the file: u32 length of a zstd frame, bit 31 set if shuffled; the frame.
// Each block but the last holds 1,048,576 bytes of R's stream. Shuffled: the bytes of 8-byte
// elements in planes, the remainder of less than 8 unchanged.
#include <string.h>
#include <xxhash.h>

#include "container.h"
#include "planes.h"

enum {
  HEADER_LEN = 24,
  HASH_AT = 16,
  WORD_LEN = 4,
  FRAME_MAX = (1 << 20) + (1 << 13),  // more than zstd's bound for a block
  VERSION = 1,
  ZSTD = 1,
  BIG = 1,
  LITTLE = 2
};
static const unsigned char magic[4] = {0x0b, 0x0e, 0x0a, 0xc1};
static const uint32_t SHUFFLED = (uint32_t) 1 << 31;

static uint8_t host_order(void) { return host_is_big_endian() ? BIG : LITTLE; }

// ---- reading ------------------------------------------------------------------------------

struct qs2_in {
  uint64_t stored_hash;
  uint64_t at;          // bytes of the blocks that have been counted or hashed
  uint64_t n_blocks;
  bool counted, checked;
  struct buffer buffer; // for hashing a file
};

static enum status read_header(struct reader *r, struct qs2_in *q) {
  const enum status st = reader_need(r, HEADER_LEN);
  if (st) return st;
  const unsigned char *h = r->piece->bytes + r->piece_at;
  if (memcmp(h, magic, sizeof(magic)) != 0) return fail(&r->err, ERR_FORMAT, 0, "not a qs2 file");
  if (h[4] != VERSION || h[5] != ZSTD)
    return fail(&r->err, ERR_VERSION, 0, "it is a qs2 file of a version that riffle does not know");
  if (h[6] != host_order())
    return fail(&r->err, ERR_VERSION, 0, "it was written on a machine of the other byte order");
  memcpy(&q->stored_hash, h + HASH_AT, 8);
  r->piece_at += HEADER_LEN;
  return OK;
}

// The lengths of the blocks lead to the end of the file, or it was cut or is damaged.
static enum status count_blocks(struct reader *r, struct qs2_in *q) {
  const uint64_t len = r->source->len - HEADER_LEN;
  for (int i = 0; i < READER_BLOCKS_PER_LOOK; i++) {
    uint32_t word;
    size_t got;
    if (q->at == len) {
      q->counted = true;
      q->at = 0;
      r->stream_total = q->n_blocks * BYTES_BLOCK_LEN;
      return q->n_blocks ? OK : reader_truncated(r);
    }
    if (source_read_at(r->source, HEADER_LEN + q->at, &word, WORD_LEN, &got, &r->err))
      return r->err.code;
    if (got < WORD_LEN) return reader_truncated(r);
    const uint64_t n = WORD_LEN + (uint64_t) (word & ~SHUFFLED);
    if (n > len - q->at) return reader_truncated(r);
    q->at += n;
    q->n_blocks++;
  }
  return AGAIN;
}

// All bytes after the header, a stretch at a time.
static enum status check_hash(struct reader *r, struct qs2_in *q) {
  const uint64_t len = r->source->len - HEADER_LEN;
  if (!buffer_reserve(&q->buffer, BYTES_BLOCK_LEN)) return fail(&r->err, ERR_NOMEM, 0, "starting");
  for (int i = 0; i < READER_BLOCKS_PER_LOOK && q->at < len; i++) {
    const size_t want = len - q->at < BYTES_BLOCK_LEN ? (size_t) (len - q->at) : BYTES_BLOCK_LEN;
    const uint64_t from = HEADER_LEN + q->at;
    size_t got = want;
    const unsigned char *p = q->buffer.p;
    if (r->source->bytes)
      p = r->source->bytes + from;
    else if (source_read_at(r->source, from, q->buffer.p, want, &got, &r->err))
      return r->err.code;
    if (got < want) return reader_truncated(r);
    XXH3_64bits_update(r->chain, p, want);
    q->at += want;
  }
  if (q->at < len) return AGAIN;
  const uint64_t hash = XXH3_64bits_digest(r->chain);
  if ((hash ? hash : 1) != q->stored_hash)
    return fail(&r->err, ERR_CORRUPT, 0, "it is corrupt (its hash differs)");
  q->checked = true;
  reader_rewind(r, HEADER_LEN);
  return r->err.code;
}

// A damaged file may still decode, so its hash comes before any byte of it.
static enum status start(struct reader *r) {
  struct qs2_in *q = r->state;
  enum status st;
  if (!q) {
    if (!(q = calloc(1, sizeof(*q)))) return fail(&r->err, ERR_NOMEM, 0, "starting");
    r->state = q;
  }
  if (!r->piece_at && !q->counted && (st = read_header(r, q))) return st;
  if ((st = reader_slurp(r, HEADER_LEN))) return st;
  if (!q->counted && (st = count_blocks(r, q))) return st;
  r->unverified = q->stored_hash == 0;
  return r->unverified || q->checked ? OK : check_hash(r, q);
}

static enum status cut(struct reader *r, struct read_job *j) {
  const struct qs2_in *q = r->state;
  if (r->n_blocks == q->n_blocks) {
    r->ended = true;
    return OK;
  }
  enum status st = reader_need(r, WORD_LEN);
  if (st) return st;
  uint32_t word;
  memcpy(&word, r->piece->bytes + r->piece_at, WORD_LEN);
  const size_t n = word & ~SHUFFLED;
  if (n > FRAME_MAX)
    return fail_block(&r->err, ERR_CORRUPT, 0, "is corrupt (it is too long)", r->n_blocks);
  if ((st = reader_need(r, WORD_LEN + n))) return st;
  j->block = r->piece->bytes + r->piece_at;
  j->block_len = WORD_LEN + n;
  j->header = (struct block_header){.kind = BLOCK_BYTES, .seq = (uint32_t) r->n_blocks};
  j->raw_len = BYTES_BLOCK_LEN;
  r->piece_at += j->block_len;
  r->n_blocks++;
  return OK;
}

static void unshuffle(const unsigned char *in, size_t n, unsigned char *out) {
  const size_t whole = n / 8 * 8;
  planes_join(in, n / 8, 8, n / 8, 8, 0, out);
  memcpy(out + whole, in + whole, n - whole);
}

static enum status decode(struct reader *r, struct coder *c, struct read_job *j, struct error *e) {
  uint32_t word;
  (void) r;
  memcpy(&word, j->block, WORD_LEN);
  struct buffer *first = word & SHUFFLED ? &c->packed : &j->raw;
  if (!buffer_reserve(first, BYTES_BLOCK_LEN) || !buffer_reserve(&j->raw, BYTES_BLOCK_LEN))
    return fail(e, ERR_NOMEM, 0, "unpacking a block");
  const enum status st = codec_decompress_frame(&c->codec, j->block + WORD_LEN,
                                                j->block_len - WORD_LEN, first->p,
                                                BYTES_BLOCK_LEN, &j->raw_len);
  if (st == ERR_NOMEM) return fail(e, ERR_NOMEM, 0, "unpacking a block");
  if (st) return fail_block(e, ERR_CORRUPT, 0, "is corrupt (it does not decode)", j->header.seq);
  if (word & SHUFFLED) unshuffle(c->packed.p, j->raw_len, j->raw.p);
  j->view = j->raw.p;
  return OK;
}

static void close_in(struct reader *r) {
  struct qs2_in *q = r->state;
  if (!q) return;
  buffer_close(&q->buffer);
  free(q);
}

const struct container_in qs2_in = {
    .start = start, .cut = cut, .decode = decode, .close = close_in, .may_go_on = false};

// ---- writing ------------------------------------------------------------------------------

static enum status begin(struct writer *w, const struct writer_opts *opts) {
  unsigned char header[HEADER_LEN] = {0};
  (void) opts;
  if (!w->sink->patch)
    return fail(&w->err, ERR_IO, 0,
                "the qs2 format needs a file that can be gone back in, to store its hash");
  memcpy(header, magic, sizeof(magic));
  header[4] = VERSION;
  header[5] = ZSTD;
  header[6] = host_order();
  header[7] = w->block.filter;
  return w->sink->write(w->sink, header, sizeof(header), &w->err);
}

enum { TRIES = 4, TRY_LEN = 1 << 12 };

// Which comes out shorter, by a trial on a few pieces.
static bool shuffle_pays(struct coder *c, const unsigned char *raw, size_t n) {
  unsigned char planes[TRIES * TRY_LEN], plain[TRIES * TRY_LEN], out[TRIES * TRY_LEN];
  struct error ignored = {0};  // a trial that fails decides nothing
  size_t as_is = 0, shuffled = 0;
  if (n < sizeof(plain)) return n >= 64;
  for (size_t i = 0; i < TRIES; i++) {
    const size_t from = (n - TRY_LEN) / (TRIES - 1) * i / 8 * 8;
    memcpy(plain + i * TRY_LEN, raw + from, TRY_LEN);
  }
  planes_split(plain, sizeof(plain) / 8, 8, 8, 0, planes, sizeof(planes) / 8);
  codec_compress(&c->codec, CODEC_ZSTD, 1, plain, sizeof(plain), out, &as_is, &ignored);
  codec_compress(&c->codec, CODEC_ZSTD, 1, planes, sizeof(planes), out, &shuffled, &ignored);
  return shuffled && (!as_is || shuffled < as_is);
}

static enum status encode(struct writer *w, struct coder *c, const struct block_input *in,
                          struct buffer *out, size_t *len, uint64_t *hash, struct error *e) {
  const unsigned char *raw = in->raw;
  const size_t n = in->raw_len, whole = n / 8 * 8;
  const bool shuffle = w->block.filter && shuffle_pays(c, raw, n);
  if (!buffer_reserve(&c->packed, n) || !buffer_reserve(out, WORD_LEN + FRAME_MAX))
    return fail(e, ERR_NOMEM, 0, "packing a block");
  if (shuffle) {
    planes_split(raw, n / 8, 8, 8, 0, c->packed.p, n / 8);
    memcpy(c->packed.p + whole, raw + whole, n - whole);
    raw = c->packed.p;
  }
  size_t stored;
  if (codec_compress_frame(&c->codec, w->block.level, raw, n, out->p + WORD_LEN, FRAME_MAX,
                           &stored, e))
    return e->code;
  const uint32_t word = (uint32_t) stored | (shuffle ? SHUFFLED : 0);
  memcpy(out->p, &word, WORD_LEN);
  *len = WORD_LEN + stored;
  *hash = 0;
  return OK;
}

static enum status chain(struct writer *w, const unsigned char *block, size_t len, uint64_t hash,
                         struct error *e) {
  (void) hash, (void) e;
  XXH3_64bits_update(w->chain, block, len);
  return OK;
}

static enum status finish(struct writer *w) {
  uint64_t hash = XXH3_64bits_digest(w->chain);
  if (!hash) hash = 1;
  return w->sink->patch(w->sink, HASH_AT, &hash, sizeof(hash), &w->err);
}

const struct container_out qs2_out = {
    .typed = false, .begin = begin, .encode = encode, .chain = chain, .finish = finish};
