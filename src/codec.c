#define ZLIB_CONST  // its input is const
#include "codec.h"

#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { GZIP_WRAPPER = 16, GZIP_MEM_LEVEL = 8 };  // of deflateInit2(); 9 makes larger files

void codec_close(struct codec_state *s) {
  ZSTD_freeCCtx(s->zstd_compress);
  ZSTD_freeDCtx(s->zstd_decompress);
  if (s->deflate) deflateEnd(s->deflate);
  free(s->deflate);
  *s = (struct codec_state){0};
}

int codec_level_min(enum codec c) { return c == CODEC_ZSTD ? ZSTD_minCLevel() : 1; }

int codec_level_max(enum codec c) {
  return c == CODEC_ZSTD ? ZSTD_maxCLevel() : c == CODEC_LZ4 ? LZ4HC_CLEVEL_MAX : INT_MAX;
}

enum status codec_compress_frame(struct codec_state *s, int level, const void *in, size_t n,
                                 void *out, size_t cap, size_t *out_len, struct error *e) {
  if (!s->zstd_compress && !(s->zstd_compress = ZSTD_createCCtx()))
    return fail(e, ERR_NOMEM, 0, "compressing a block");
  *out_len = ZSTD_compressCCtx(s->zstd_compress, out, cap, in, n, level);
  if (!ZSTD_isError(*out_len)) return OK;
  if (ZSTD_getErrorCode(*out_len) == ZSTD_error_memory_allocation)
    return fail(e, ERR_NOMEM, 0, "compressing a block");
  return fail(e, ERR_CODEC, 0, "compressing a block with zstd");
}

static enum status zstd_compress(struct codec_state *s, int level, const void *in, size_t n,
                                 void *out, size_t *out_len, struct error *e) {
  if (!s->zstd_compress && !(s->zstd_compress = ZSTD_createCCtx()))
    return fail(e, ERR_NOMEM, 0, "compressing a block");
  const size_t len = ZSTD_compressCCtx(s->zstd_compress, out, n - 1, in, n, level);
  if (!ZSTD_isError(len)) {
    *out_len = len;
    return OK;
  }
  switch (ZSTD_getErrorCode(len)) {
    case ZSTD_error_dstSize_tooSmall: return OK;
    case ZSTD_error_memory_allocation: return fail(e, ERR_NOMEM, 0, "compressing a block");
    default: return fail(e, ERR_CODEC, 0, "compressing a block with zstd");
  }
}

static void lz4_compress(int level, const void *in, size_t n, void *out, size_t *out_len) {
  const int len = level < 2 ? LZ4_compress_default(in, out, (int) n, (int) n - 1)
                            : LZ4_compress_HC(in, out, (int) n, (int) n - 1, level);
  *out_len = len > 0 ? (size_t) len : 0;  // 0 from lz4: the output has no room
}

enum status codec_compress(struct codec_state *s, enum codec c, int level, const void *in, size_t n,
                           void *out, size_t *out_len, struct error *e) {
  *out_len = 0;
  if (c == CODEC_STORED || n < 2) return OK;
  if (c == CODEC_ZSTD) return zstd_compress(s, level, in, n, out, out_len, e);
  if (n <= LZ4_MAX_INPUT_SIZE) lz4_compress(level, in, n, out, out_len);
  return OK;
}

enum status codec_decompress_frame(struct codec_state *s, const void *in, size_t n, void *out,
                                   size_t cap, size_t *out_len) {
  if (!s->zstd_decompress && !(s->zstd_decompress = ZSTD_createDCtx())) return ERR_NOMEM;
  *out_len = ZSTD_decompressDCtx(s->zstd_decompress, out, cap, in, n);
  if (!ZSTD_isError(*out_len)) return OK;
  return ZSTD_getErrorCode(*out_len) == ZSTD_error_memory_allocation ? ERR_NOMEM : ERR_CORRUPT;
}

static enum status zstd_decompress(struct codec_state *s, const void *in, size_t n, void *out,
                                   size_t out_len, struct error *e) {
  if (!s->zstd_decompress && !(s->zstd_decompress = ZSTD_createDCtx()))
    return fail(e, ERR_NOMEM, 0, "decompressing a block");
  const size_t len = ZSTD_decompressDCtx(s->zstd_decompress, out, out_len, in, n);
  if (len == out_len) return OK;
  if (ZSTD_isError(len) && ZSTD_getErrorCode(len) == ZSTD_error_memory_allocation)
    return fail(e, ERR_NOMEM, 0, "decompressing a block");
  return fail(e, ERR_CORRUPT, 0, "its zstd frame does not decode");
}

enum status codec_decompress(struct codec_state *s, enum codec c, const void *in, size_t n,
                             void *out, size_t out_len, struct error *e) {
  switch (c) {
    case CODEC_STORED:
      if (n != out_len) return fail(e, ERR_CORRUPT, 0, "its lengths disagree");
      if (n) memcpy(out, in, n);
      return OK;
    case CODEC_LZ4:
      if (n > INT_MAX || out_len > INT_MAX) return fail(e, ERR_CORRUPT, 0, "its lengths disagree");
      if (LZ4_decompress_safe(in, out, (int) n, (int) out_len) == (int) out_len) return OK;
      return fail(e, ERR_CORRUPT, 0, "its lz4 data does not decode");
    case CODEC_ZSTD: return zstd_decompress(s, in, n, out, out_len, e);
  }
  return fail(e, ERR_VERSION, 0, "its codec is unknown");
}

static enum status deflate_ready(struct codec_state *s, int level, struct error *e) {
  if (s->deflate)
    return deflateReset(s->deflate) == Z_OK ? OK : fail(e, ERR_CODEC, 0, "compressing with zlib");
  z_stream *z = calloc(1, sizeof(*z));
  if (!z) return fail(e, ERR_NOMEM, 0, "compressing a block");
  const int rc = deflateInit2(z, level, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER, GZIP_MEM_LEVEL,
                              Z_DEFAULT_STRATEGY);
  if (rc == Z_OK) {
    s->deflate = z;
    return OK;
  }
  free(z);
  if (rc == Z_MEM_ERROR) return fail(e, ERR_NOMEM, 0, "compressing a block");
  return fail(e, ERR_CODEC, 0, "compressing with zlib");
}

enum status codec_gzip(struct codec_state *s, int level, const void *in, size_t n,
                       struct buffer *out, size_t *out_len, struct error *e) {
  if (deflate_ready(s, level, e)) return e->code;
  z_stream *z = s->deflate;
  const size_t most = deflateBound(z, (uLong) n);
  if (!buffer_reserve(out, most)) return fail(e, ERR_NOMEM, 0, "compressing a block");
  z->next_in = in;
  z->avail_in = (uInt) n;
  z->next_out = out->p;
  z->avail_out = (uInt) most;
  if (deflate(z, Z_FINISH) != Z_STREAM_END) return fail(e, ERR_CODEC, 0, "compressing with zlib");
  *out_len = most - z->avail_out;
  return OK;
}
