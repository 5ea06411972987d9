// An RDS file: R's stream as it is, or packed as a whole by gzip, zstd, bzip2 or xz.
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "info.h"

enum { PIECE = 1 << 16 };

// Unpacks piece by piece. Input before `in_at` of the n_in bytes is used up.
struct unpacker {
  z_stream gzip;
  ZSTD_DStream *zstd;
  size_t in_at, n_in;
  bool between;   // at the border of two members or frames, or at the end
  bool all_have_checks;
  unsigned char in[PIECE], out[PIECE];
};

static enum status is_truncated(struct info *i) {
  return fail(&i->err, ERR_TRUNCATED, 0, "it is truncated: its compressed data ends too early");
}

static enum status is_corrupt(struct info *i) {
  return fail(&i->err, ERR_CORRUPT, 0, "it is corrupt (its compressed data does not decode)");
}

// At least one byte of input, or none at the end of the file.
static enum status fill(struct info *i, struct unpacker *u) {
  if (u->in_at < u->n_in) return OK;
  u->in_at = 0;
  if (source_read_at(i->source, i->at, u->in, PIECE, &u->n_in, &i->err)) return i->err.code;
  i->at += u->n_in;
  return OK;
}

// What follows the last member is ignored, as in reading: whether it has to do with the file is for
// validation to ask.
static enum status end_here(struct info *i, struct unpacker *u) {
  u->n_in = u->in_at = 0;
  i->at = i->source->len;
  return OK;
}

// The bytes at the cursor are those that a member or frame begins with.
static enum status begin_member(struct info *i, struct unpacker *u) {
  unsigned char b[5] = {0};
  size_t got;
  if (source_read_at(i->source, i->at - u->n_in + u->in_at, b, sizeof(b), &got, &i->err))
    return i->err.code;
  const bool is_gzip = i->packing == PACKING_GZIP;
  const bool begins = is_gzip ? !memcmp(b, "\x1f\x8b", 2) : !memcmp(b, "\x28\xb5\x2f\xfd", 4);
  if (!begins && is_gzip && i->n_blocks && !i->validate) return end_here(i, u);
  if (!begins) return fail(&i->err, ERR_CORRUPT, 0, "bytes were added behind its end");
  u->all_have_checks &= is_gzip || b[4] & 4;  // bit 2 of the frame's descriptor
  u->between = false;
  if (is_gzip && inflateReset(&u->gzip) != Z_OK) return is_corrupt(i);
  i->n_blocks++;
  return OK;
}

static enum status inflate_some(struct info *i, struct unpacker *u, size_t *n) {
  u->gzip.next_in = u->in + u->in_at;
  u->gzip.avail_in = (unsigned) (u->n_in - u->in_at);
  u->gzip.next_out = u->out + *n;
  u->gzip.avail_out = (unsigned) (PIECE - *n);
  const int rc = inflate(&u->gzip, Z_NO_FLUSH);
  u->in_at = u->n_in - u->gzip.avail_in;
  *n = PIECE - u->gzip.avail_out;
  if (rc == Z_MEM_ERROR) return fail(&i->err, ERR_NOMEM, 0, "decompressing");
  if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) return is_corrupt(i);
  u->between = rc == Z_STREAM_END;
  return OK;
}

static enum status zstd_some(struct info *i, struct unpacker *u, size_t *n) {
  ZSTD_inBuffer in = {u->in, u->n_in, u->in_at};
  ZSTD_outBuffer out = {u->out, PIECE, *n};
  const size_t rc = ZSTD_decompressStream(u->zstd, &out, &in);
  u->in_at = in.pos;
  *n = out.pos;
  if (ZSTD_isError(rc)) return is_corrupt(i);
  u->between = rc == 0;
  return OK;
}

// The next bytes into u->out: a full piece, or less at the end.
static enum status unpack(struct info *i, struct unpacker *u, size_t *n) {
  for (*n = 0; *n < PIECE;) {
    if (fill(i, u)) return i->err.code;
    if (u->n_in == 0 && u->between) return OK;
    const size_t had = *n;
    if (u->between && begin_member(i, u)) return i->err.code;
    if (u->between) return OK;
    if (i->packing == PACKING_GZIP ? inflate_some(i, u, n) : zstd_some(i, u, n))
      return i->err.code;
    // Both may hold output back when no input is left, so this looks at what they gave.
    if (u->n_in == 0 && *n == had && !u->between) return is_truncated(i);
  }
  return OK;
}

static enum status finish(struct info *i) {
  struct unpacker *u = i->unpacker;
  if (i->validate) i->check = u->all_have_checks ? CHECK_VALID : CHECK_NOT_STORED;
  i->done = true;
  return OK;
}

static enum status take_head(struct info *i, const unsigned char *p, size_t n) {
  i->n_head = n < INFO_HEAD ? n : INFO_HEAD;
  memmove(i->head, p, i->n_head);
  return info_take_head(i);
}

static enum status step(struct info *i) {
  struct unpacker *u = i->unpacker;
  size_t n;
  if (unpack(i, u, &n)) return i->err.code;
  if (i->n_head == 0 && take_head(i, u->out, n)) return i->err.code;
  if (!i->validate) {
    i->n_blocks = i->stream_len = INFO_UNKNOWN;
    return finish(i);
  }
  i->stream_len += n;
  return n < PIECE ? finish(i) : OK;
}

static void close_unpacker(struct info *i) {
  struct unpacker *u = i->unpacker;
  if (i->packing == PACKING_GZIP) inflateEnd(&u->gzip);
  ZSTD_freeDStream(u->zstd);
  free(u);
}

static enum status open_unpacker(struct info *i) {
  struct unpacker *u = calloc(1, sizeof(*u));
  if (!u) return fail(&i->err, ERR_NOMEM, 0, "decompressing");
  i->unpacker = u;
  i->close = close_unpacker;
  u->between = u->all_have_checks = true;
  const bool ready = i->packing == PACKING_GZIP ? inflateInit2(&u->gzip, 31) == Z_OK
                                                : (u->zstd = ZSTD_createDStream()) != NULL;
  if (!ready) return fail(&i->err, ERR_NOMEM, 0, "decompressing");
  i->step = step;
  return OK;
}

static enum status nothing(struct info *i) {
  i->done = true;
  return OK;
}

// Of a file that may be an RDS file.
static enum info_packing packing_of(const unsigned char *p) {
  switch (p[0]) {
    case 0x1f: return PACKING_GZIP;
    case 0x28: return PACKING_ZSTD;
    case 0xfd: return PACKING_XZ;
    case 0x5d: return PACKING_LZMA;
    default: return p[1] == 'Z' ? PACKING_BZIP2 : PACKING_NONE;
  }
}

enum status info_begin_rds(struct info *i) {
  i->format = INFO_RDS;
  i->packing = packing_of(i->first);
  if (i->packing == PACKING_GZIP || i->packing == PACKING_ZSTD) return open_unpacker(i);
  i->step = nothing;
  i->n_blocks = i->stream_len = INFO_UNKNOWN;
  if (i->packing != PACKING_NONE) return i->has_head ? take_head(i, i->head, i->n_head) : OK;
  i->check = CHECK_NOT_STORED;
  i->stream_len = i->source->len;
  return take_head(i, i->first, i->n_first);
}
