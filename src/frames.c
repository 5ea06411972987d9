#include "frames.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "buffer.h"
#include "le.h"

enum {
  FRAME_LEN = 1 << 22,         // raw bytes of a frame
  STRONG_FRAME_LEN = 1 << 23,  // where the level is made for a large window
  STRONG_LEVEL = 10,
  PIECE_LEN = 1 << 20,   // decoded between two looks for an interrupt
  DIRECT_MAX = 1 << 26,  // content of one frame that is decoded in one go
  MODEST = 1 << 26,      // a claim of so much is believed
  RATIO_MAX = 1 << 10,   // a larger one only if it is at most so many times the input
  LONG_INPUT = 1 << 20   // from here on windows of any size are believed
};

static enum status no_memory(struct error *e) { return fail(e, ERR_NOMEM, 0, "starting"); }

// ---- one frame ----------------------------------------------------------------------------

struct pack_job {
  const unsigned char *in;
  size_t n;
  struct buffer out;
  size_t out_len;
};

static enum status pack_zstd(const struct packer *p, unsigned thread, struct pack_job *j,
                             struct error *e) {
  ZSTD_CCtx *c = p->zstd[thread];
  if (!c && !(c = p->zstd[thread] = ZSTD_createCCtx())) return fail(e, ERR_NOMEM, 0, "compressing");
  if (!buffer_reserve(&j->out, ZSTD_compressBound(j->n)))
    return fail(e, ERR_NOMEM, 0, "compressing");
  if (ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, p->level)) ||
      ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))
    return fail(e, ERR_CODEC, 0, "zstd refused its options");
  j->out_len = ZSTD_compress2(c, j->out.p, j->out.cap, j->in, j->n);
  if (!ZSTD_isError(j->out_len)) return OK;
  if (ZSTD_getErrorCode(j->out_len) == ZSTD_error_memory_allocation)
    return fail(e, ERR_NOMEM, 0, "compressing");
  return fail(e, ERR_CODEC, 0, "zstd refused the data");
}

static enum status pack_lz4(const struct packer *p, struct pack_job *j, struct error *e) {
  const LZ4F_preferences_t prefs = {
      .frameInfo = {.blockSizeID = LZ4F_max1MB,
                    .blockMode = LZ4F_blockLinked,
                    .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                    .contentSize = j->n},
      .compressionLevel = p->level};
  if (!buffer_reserve(&j->out, LZ4F_compressFrameBound(j->n, &prefs)))
    return fail(e, ERR_NOMEM, 0, "compressing");
  j->out_len = LZ4F_compressFrame(j->out.p, j->out.cap, j->in, j->n, &prefs);
  if (LZ4F_isError(j->out_len)) return fail(e, ERR_NOMEM, 0, "compressing");  // its only reason
  return OK;
}

static enum status pack_work(void *ctx, unsigned thread, void *job, struct error *e) {
  const struct packer *p = ctx;
  return p->codec == CODEC_ZSTD ? pack_zstd(p, thread, job, e) : pack_lz4(p, job, e);
}

static enum status pack_drain(void *ctx, void *job, struct error *e) {
  const struct packer *p = ctx;
  const struct pack_job *j = job;
  return p->sink->write(p->sink, j->out.p, j->out_len, e);
}

// ---- all of the input ---------------------------------------------------------------------

size_t pack_frame_len(enum codec codec, int level) {
  return codec == CODEC_ZSTD && level >= STRONG_LEVEL ? STRONG_FRAME_LEN : FRAME_LEN;
}

static size_t n_slots_of(unsigned n_threads) { return 2 * (size_t) n_threads + 2; }

enum status packer_open(struct packer *p, struct sink *sink, enum codec codec, int level,
                        unsigned n_threads, const void *in, size_t n) {
  *p = (struct packer){
      .sink = sink, .codec = codec, .level = level, .at = in, .left = n, .n_threads = n_threads};
  const size_t n_slots = n_slots_of(n_threads);
  const struct ring_ops ops = {
      .work = pack_work, .drain = pack_drain, .drain_on_producer = sink->producer_only};
  if (ring_open(&p->ring, n_slots, n_threads, ops, p)) return no_memory(&p->err);
  p->jobs = calloc(n_slots, sizeof(struct pack_job));
  p->zstd = calloc(n_threads, sizeof(void *));
  if (!p->jobs || !p->zstd) return no_memory(&p->err);
  for (size_t i = 0; i < n_slots; i++) p->ring.slots[i].job = &p->jobs[i];
  return OK;
}

static enum status packer_status(struct packer *p, enum status st) {
  if (st != OK && st != AGAIN && p->err.code == OK) p->err = p->ring.err;
  return st;
}

static enum status pack_next(struct packer *p) {
  struct slot *s;
  const enum status st = ring_claim(&p->ring, &s);
  if (st) return packer_status(p, st);
  const size_t most = pack_frame_len(p->codec, p->level);
  struct pack_job *j = s->job;
  j->in = p->at;
  j->n = p->left < most ? p->left : most;
  if (j->n) p->at += j->n;
  p->left -= j->n;
  p->begun = true;
  return packer_status(p, ring_submit(&p->ring, s, j->n));
}

enum status packer_run(struct packer *p) {
  if (p->err.code) return p->err.code;
  while (p->left || !p->begun) {
    const enum status st = pack_next(p);
    if (st) return st;
  }
  return packer_status(p, ring_wait(&p->ring));
}

void packer_close(struct packer *p) {
  ring_close(&p->ring);
  for (size_t i = 0; p->jobs && i < n_slots_of(p->n_threads); i++) buffer_close(&p->jobs[i].out);
  for (unsigned i = 0; p->zstd && i < p->n_threads; i++) ZSTD_freeCCtx(p->zstd[i]);
  free(p->jobs);
  free(p->zstd);
  *p = (struct packer){0};
}

// ---- from frame to frame ------------------------------------------------------------------

enum { ZSTD_BLOCK_MAX = 1 << 17, LZ4_RATIO_MAX = 255 };
static const uint32_t MAGIC_ZSTD = 0xFD2FB528, MAGIC_LZ4 = 0x184D2204,
                      MAGIC_LZ4_LEGACY = 0x184C2102,
                      MAGIC_SKIPPABLE = 0x184D2A50;  // and the 15 after it

static enum status truncated(struct error *e) {
  return fail(e, ERR_TRUNCATED, 0, "it is truncated");
}

static enum status damaged(struct error *e) {
  return fail(e, ERR_CORRUPT, 0, "a frame in it is damaged");
}

// A frame that is being walked: `at` bytes of the n that are left of the input.
struct cursor {
  const unsigned char *p;
  size_t n, at;
};

static bool has(const struct cursor *c, size_t n) { return n <= c->n - c->at; }

static bool skip(struct cursor *c, size_t n) {
  if (!has(c, n)) return false;
  c->at += n;
  return true;
}

// The field of 0, 1, 2, 4 or 8 bytes.
static uint64_t zstd_content(const unsigned char *p, size_t size) {
  switch (size) {
    case 1: return p[0];
    case 2: return le_load16(p) + 256u;
    case 4: return le_load32(p);
    case 8: return le_load64(p);
    default: return 0;
  }
}

static enum status scan_zstd_blocks(struct cursor *c, uint64_t *bound, struct error *e) {
  for (bool last = false; !last;) {
    if (!has(c, 3)) return truncated(e);
    const unsigned char *h = c->p + c->at;
    const uint32_t word = h[0] | (uint32_t) h[1] << 8 | (uint32_t) h[2] << 16;
    const uint32_t type = word >> 1 & 3, size = word >> 3;
    last = word & 1;
    if (type == 3 || size > ZSTD_BLOCK_MAX) return damaged(e);
    *bound += type == 2 ? ZSTD_BLOCK_MAX : size;  // 0 raw, 1 one byte repeated, 2 compressed
    c->at += 3;
    if (!skip(c, type == 1 ? 1 : size)) return truncated(e);
  }
  return OK;
}

static enum status scan_zstd(struct cursor *c, struct frame *f, struct error *e) {
  static const unsigned char dictionary_sizes[] = {0, 1, 2, 4};
  if (!has(c, 5)) return truncated(e);
  const unsigned flags = c->p[4], content_code = flags >> 6;
  const bool single = flags >> 5 & 1;
  const size_t dictionary_at = single ? 5 : 6, dictionary = dictionary_sizes[flags & 3];
  const size_t content_at = dictionary_at + dictionary;
  const size_t content = content_code ? (size_t) 1 << content_code : single;
  if (flags & 8) return damaged(e);
  if (!skip(c, content_at + content)) return truncated(e);
  for (size_t i = 0; i < dictionary; i++)
    if (c->p[dictionary_at + i]) return fail(e, ERR_FORMAT, 0, "it needs a dictionary");
  uint64_t bound = 0;
  if (scan_zstd_blocks(c, &bound, e)) return e->code;
  if (flags & 4 && !skip(c, 4)) return truncated(e);
  f->codec = CODEC_ZSTD;
  f->known = content > 0;
  f->content = zstd_content(c->p + content_at, content);
  return f->content > bound ? damaged(e) : OK;
}

static enum status scan_lz4_blocks(struct cursor *c, uint32_t block_max, bool checksums,
                                   uint64_t *bound, struct error *e) {
  for (;;) {
    if (!has(c, 4)) return truncated(e);
    const uint32_t word = le_load32(c->p + c->at), size = word & 0x7FFFFFFF;
    c->at += 4;
    if (word == 0) return OK;
    if (size > block_max) return damaged(e);
    const uint64_t most = word == size ? (uint64_t) LZ4_RATIO_MAX * size : size;
    *bound += most < block_max ? most : block_max;
    if (!skip(c, size) || (checksums && !skip(c, 4))) return truncated(e);
  }
}

static enum status scan_lz4(struct cursor *c, struct frame *f, struct error *e) {
  if (!has(c, 7)) return truncated(e);
  const unsigned flags = c->p[4], block_code = c->p[5] >> 4;
  const bool has_content = flags >> 3 & 1;
  if (flags >> 6 != 1 || flags & 2 || c->p[5] & 0x8F || block_code < 4) return damaged(e);
  if (flags & 1) return fail(e, ERR_FORMAT, 0, "it needs a dictionary");
  if (!skip(c, has_content ? 15 : 7)) return truncated(e);
  const uint32_t block_max = (uint32_t) 1 << (8 + 2 * block_code);
  uint64_t bound = 0;
  if (scan_lz4_blocks(c, block_max, flags >> 4 & 1, &bound, e)) return e->code;
  if (flags & 4 && !skip(c, 4)) return truncated(e);
  f->codec = CODEC_LZ4;
  f->content = has_content ? le_load64(c->p + 6) : 0;
  f->known = has_content || bound == 0;
  return f->content > bound ? damaged(e) : OK;
}

static enum status scan_skippable(struct cursor *c, struct frame *f, struct error *e) {
  if (!has(c, 8)) return truncated(e);
  const uint32_t size = le_load32(c->p + 4);
  c->at = 8;
  f->codec = CODEC_STORED;
  f->known = true;
  return skip(c, size) ? OK : truncated(e);
}

static enum status scan_unknown(const struct cursor *c, bool first, struct error *e) {
  if (c->n >= 4 && le_load32(c->p) == MAGIC_LZ4_LEGACY)
    return fail(e, ERR_FORMAT, 0, "it is in the legacy format of LZ4");
  if (first) return fail(e, ERR_FORMAT, 0, "it is neither zstd nor LZ4 frames");
  return fail(e, ERR_CORRUPT, 0, "something else follows its frames");
}

// Fewer than four bytes: is a magic number cut short?
static bool may_begin(const struct cursor *c) {
  static const unsigned char zstd[] = {0x28, 0xB5, 0x2F}, lz4[] = {0x04, 0x22, 0x4D};
  const bool skippable =
      c->p[0] >> 4 == 5 && (c->n < 2 || c->p[1] == 0x2A) && (c->n < 3 || c->p[2] == 0x4D);
  return memcmp(c->p, zstd, c->n) == 0 || memcmp(c->p, lz4, c->n) == 0 || skippable;
}

static enum status scan_frame(struct cursor *c, struct frame *f, bool first, struct error *e) {
  if (c->n < 4) return may_begin(c) ? truncated(e) : scan_unknown(c, first, e);
  const uint32_t magic = le_load32(c->p);
  if (magic == MAGIC_ZSTD) return scan_zstd(c, f, e);
  if (magic == MAGIC_LZ4) return scan_lz4(c, f, e);
  if ((magic & ~(uint32_t) 15) == MAGIC_SKIPPABLE) return scan_skippable(c, f, e);
  return scan_unknown(c, first, e);
}

static bool frames_add(struct frames *f, struct frame frame) {
  if (f->n == f->cap) {
    const size_t cap = f->cap ? 2 * f->cap : 16;
    struct frame *list = realloc(f->list, cap * sizeof(struct frame));
    if (!list) return false;
    f->list = list;
    f->cap = cap;
  }
  f->list[f->n++] = frame;
  f->known &= frame.known;
  f->content += frame.content;  // at most 2^16 times the input: no overflow
  if (frame.content > f->largest) f->largest = frame.content;
  return true;
}

enum status frames_scan(struct frames *f, const unsigned char *in, size_t n, struct error *e) {
  *f = (struct frames){.len = n, .known = true};
  if (n == 0) return fail(e, ERR_TRUNCATED, 0, "it is empty");
  for (size_t at = 0; at < n;) {
    struct cursor c = {.p = in + at, .n = n - at};
    struct frame frame = {.at = in + at};
    if (scan_frame(&c, &frame, at == 0, e)) return e->code;
    frame.len = c.at;
    at += c.at;
    if (!frames_add(f, frame)) return fail(e, ERR_NOMEM, 0, "starting");
  }
  return OK;
}

void frames_close(struct frames *f) {
  free(f->list);
  *f = (struct frames){0};
}

bool frames_fit(const struct frames *f) {
  return f->known && f->largest <= DIRECT_MAX &&
         (f->content <= MODEST || f->content / RATIO_MAX <= f->len);
}

// ---- decoding a frame ---------------------------------------------------------------------

static void decoder_close(struct decoder *d) {
  ZSTD_freeDCtx(d->zstd);
  LZ4F_freeDecompressionContext(d->lz4);
  *d = (struct decoder){0};
}

// Ready for the begin of a frame.
static enum status decoder_begin(struct decoder *d, enum codec codec, struct error *e) {
  if (codec == CODEC_ZSTD) {
    if (!d->zstd && !(d->zstd = ZSTD_createDCtx())) return fail(e, ERR_NOMEM, 0, "decompressing");
    ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
  } else if (d->lz4) {
    LZ4F_resetDecompressionContext(d->lz4);
  } else {
    LZ4F_dctx *made = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)))
      return fail(e, ERR_NOMEM, 0, "decompressing");
    d->lz4 = made;
  }
  return OK;
}

// Memory that ran out, and a frame of which nothing else is to be said.
static enum status zstd_failed(size_t code, struct error *e) {
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation: return fail(e, ERR_NOMEM, 0, "decompressing");
    case ZSTD_error_checksum_wrong: return fail(e, ERR_CORRUPT, 0, "a frame's checksum differs");
    case ZSTD_error_frameParameter_windowTooLarge:
      return fail(e, ERR_CORRUPT, 0, "a frame claims a window that is too large for it");
    default: return damaged(e);
  }
}

static enum status lz4_failed(size_t code, struct error *e) {
  const char *name = LZ4F_getErrorName(code);
  if (strcmp(name, "ERROR_allocation_failed") == 0) return fail(e, ERR_NOMEM, 0, "decompressing");
  if (strcmp(name, "ERROR_contentChecksum_invalid") == 0)
    return fail(e, ERR_CORRUPT, 0, "a frame's checksum differs");
  return damaged(e);
}

static enum status zstd_whole(struct decoder *d, const struct frame *f, unsigned char *out,
                              struct error *e) {
  const size_t got = ZSTD_decompressDCtx(d->zstd, out, (size_t) f->content, f->at, f->len);
  if (ZSTD_isError(got)) return zstd_failed(got, e);
  return got == f->content ? OK : damaged(e);
}

static enum status lz4_whole(struct decoder *d, const struct frame *f, unsigned char *out,
                             struct error *e) {
  const LZ4F_decompressOptions_t options = {.stableDst = 1};
  size_t made = 0, used = 0;
  for (;;) {
    size_t n_out = (size_t) f->content - made, n_in = f->len - used;
    const size_t left = LZ4F_decompress(d->lz4, out + made, &n_out, f->at + used, &n_in, &options);
    if (LZ4F_isError(left)) return lz4_failed(left, e);
    made += n_out;
    used += n_in;
    if (left == 0) return made == f->content && used == f->len ? OK : damaged(e);
    if (n_out == 0 && n_in == 0) return damaged(e);
  }
}

// ---- side by side -------------------------------------------------------------------------

struct unpack_job {
  const struct frame *frame;
  unsigned char *out;
};

static enum status unpack_work(void *ctx, unsigned thread, void *job, struct error *e) {
  const struct unpacker *u = ctx;
  const struct unpack_job *j = job;
  struct decoder *d = &u->decoders[thread];
  if (decoder_begin(d, j->frame->codec, e)) return e->code;
  return j->frame->codec == CODEC_ZSTD ? zstd_whole(d, j->frame, j->out, e)
                                       : lz4_whole(d, j->frame, j->out, e);
}

// The content is where it belongs; the slot is free again.
static enum status unpack_drain(void *ctx, void *job, struct error *e) {
  (void) ctx;
  (void) job;
  (void) e;
  return OK;
}

enum status unpacker_open(struct unpacker *u, const struct frames *frames, unsigned n_threads,
                          void *out) {
  *u = (struct unpacker){.frames = frames, .at = out, .n_threads = n_threads};
  const size_t n_slots = n_slots_of(n_threads);
  const struct ring_ops ops = {.work = unpack_work, .drain = unpack_drain};
  if (ring_open(&u->ring, n_slots, n_threads, ops, u)) return no_memory(&u->err);
  u->jobs = calloc(n_slots, sizeof(struct unpack_job));
  u->decoders = calloc(n_threads, sizeof(struct decoder));
  if (!u->jobs || !u->decoders) return no_memory(&u->err);
  for (size_t i = 0; i < n_slots; i++) u->ring.slots[i].job = &u->jobs[i];
  return OK;
}

static enum status unpacker_status(struct unpacker *u, enum status st) {
  if (st != OK && st != AGAIN && u->err.code == OK) u->err = u->ring.err;
  return st;
}

static enum status unpack_next(struct unpacker *u) {
  const struct frame *f = &u->frames->list[u->next];
  struct slot *s;
  if (f->codec == CODEC_STORED) {
    u->next++;
    return OK;
  }
  const enum status st = ring_claim(&u->ring, &s);
  if (st) return unpacker_status(u, st);
  *(struct unpack_job *) s->job = (struct unpack_job){.frame = f, .out = u->at};
  u->at += f->content;
  u->next++;
  return unpacker_status(u, ring_submit(&u->ring, s, (size_t) f->content));
}

enum status unpacker_run(struct unpacker *u) {
  if (u->err.code) return u->err.code;
  while (u->next < u->frames->n) {
    const enum status st = unpack_next(u);
    if (st) return st;
  }
  return unpacker_status(u, ring_wait(&u->ring));
}

void unpacker_close(struct unpacker *u) {
  ring_close(&u->ring);
  for (unsigned i = 0; u->decoders && i < u->n_threads; i++) decoder_close(&u->decoders[i]);
  free(u->jobs);
  free(u->decoders);
  *u = (struct unpacker){0};
}

// ---- piece by piece -----------------------------------------------------------------------

enum status unstream_open(struct unstream *s, const struct frames *frames, struct sink *sink,
                          uint64_t max) {
  *s = (struct unstream){.frames = frames, .sink = sink, .max = max};
  s->piece = malloc(PIECE_LEN);
  return s->piece ? OK : no_memory(&s->err);
}

// A frame may ask for memory of its window's size: a short input is not believed much.
static enum status allow_window(struct unstream *s) {
  const ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
  const int log = s->frames->len < LONG_INPUT ? 27 : bounds.upperBound;
  if (ZSTD_isError(bounds.error) ||
      ZSTD_isError(ZSTD_DCtx_setParameter(s->decoder.zstd, ZSTD_d_windowLogMax, log)))
    return fail(&s->err, ERR_CODEC, 0, "zstd refused its options");
  return OK;
}

static enum status unstream_begin(struct unstream *s, const struct frame *f) {
  if (decoder_begin(&s->decoder, f->codec, &s->err)) return s->err.code;
  s->begun = true;
  s->used = 0;
  return f->codec == CODEC_ZSTD ? allow_window(s) : OK;
}

// Decodes up to a piece of the frame. *left is 0 when it is complete.
static enum status zstd_piece(struct unstream *s, const struct frame *f, size_t *made,
                              size_t *left) {
  ZSTD_outBuffer out = {s->piece, PIECE_LEN, 0};
  ZSTD_inBuffer in = {f->at, f->len, s->used};
  *left = ZSTD_decompressStream(s->decoder.zstd, &out, &in);
  if (ZSTD_isError(*left)) return zstd_failed(*left, &s->err);
  if (*left && out.pos == 0 && in.pos == s->used) return damaged(&s->err);
  s->used = in.pos;
  *made = out.pos;
  return OK;
}

static enum status lz4_piece(struct unstream *s, const struct frame *f, size_t *made,
                             size_t *left) {
  size_t n_in = f->len - s->used;
  *made = PIECE_LEN;
  *left = LZ4F_decompress(s->decoder.lz4, s->piece, made, f->at + s->used, &n_in, NULL);
  if (LZ4F_isError(*left)) return lz4_failed(*left, &s->err);
  if (*left && *made == 0 && n_in == 0) return damaged(&s->err);
  s->used += n_in;
  return OK;
}

static enum status unstream_piece(struct unstream *s, const struct frame *f) {
  size_t made, left;
  if (!s->begun && unstream_begin(s, f)) return s->err.code;
  if (f->codec == CODEC_ZSTD ? zstd_piece(s, f, &made, &left) : lz4_piece(s, f, &made, &left))
    return s->err.code;
  if (made > s->max - s->made) return fail(&s->err, ERR_LIMIT, 0, "it holds more than `max_size`");
  s->made += made;
  if (made && s->sink->write(s->sink, s->piece, made, &s->err)) return s->err.code;
  if (left) return AGAIN;
  if (s->used != f->len) return damaged(&s->err);
  s->begun = false;
  s->next++;
  return AGAIN;
}

enum status unstream_run(struct unstream *s) {
  if (s->err.code) return s->err.code;
  if (s->next == s->frames->n) return OK;
  const struct frame *f = &s->frames->list[s->next];
  if (f->codec != CODEC_STORED) return unstream_piece(s, f);
  s->next++;
  return AGAIN;
}

void unstream_close(struct unstream *s) {
  decoder_close(&s->decoder);
  free(s->piece);
  *s = (struct unstream){0};
}
