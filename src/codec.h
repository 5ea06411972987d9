// codec.h - stored, lz4, zstd, gzip: general compression of one buffer.
#ifndef RIFFLE_CODEC_H
#define RIFFLE_CODEC_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "error.h"

// The values are those of the block header.
enum codec { CODEC_STORED = 0, CODEC_LZ4 = 1, CODEC_ZSTD = 2 };

// One thread's library state, made at first use. Start as {0}; safe to close at any time.
struct codec_state {
  void *zstd_compress;
  void *zstd_decompress;
  void *deflate;
};

void codec_close(struct codec_state *s);

// The levels a codec takes: zstd's own range; lz4 1 (fast), then 2 to 12 (its HC levels).
int codec_level_min(enum codec c);
int codec_level_max(enum codec c);

// Compresses n bytes to fewer than n (`out` has room for n). *out_len is 0 if they do not shrink.
enum status codec_compress(struct codec_state *s, enum codec c, int level, const void *in, size_t n,
                           void *out, size_t *out_len, struct error *e);

// Decompresses to exactly out_len bytes; anything else is ERR_CORRUPT.
enum status codec_decompress(struct codec_state *s, enum codec c, const void *in, size_t n,
                             void *out, size_t out_len, struct error *e);

// A whole zstd frame, its content's size in it: into at most `cap` bytes, also where that does not
// shrink them.
enum status codec_compress_frame(struct codec_state *s, int level, const void *in, size_t n,
                                 void *out, size_t cap, size_t *out_len, struct error *e);
// One zstd frame of exactly n bytes, to at most `cap`.
enum status codec_decompress_frame(struct codec_state *s, const void *in, size_t n, void *out,
                                   size_t cap, size_t *out_len);
// Compresses n bytes, less than 2 GiB, to a whole gzip member in `out`. The level is zlib's, 0 to 9,
// and always the same for one codec_state.
enum status codec_gzip(struct codec_state *s, int level, const void *in, size_t n,
                       struct buffer *out, size_t *out_len, struct error *e);

#endif
