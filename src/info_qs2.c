// A qs2 file is a header of 24 bytes and blocks to the file's end: u32 length and one zstd frame.
// The header has a hash of all that follows it, or 0.
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "info.h"

enum {
  HEADER_LEN = 24,
  BLOCK_RAW_MAX = 1 << 20,
  FRAME_HEADER_MAX = 18
};

static uint64_t load(const struct info *i, const unsigned char *p, int n) {
  uint64_t v = 0;
  for (int k = 0; k < n; k++) v |= (uint64_t) p[k] << 8 * (i->big_endian ? n - 1 - k : k);
  return v;
}

static enum status bad_block(struct info *i, const char *what) {
  return fail_block(&i->err, ERR_CORRUPT, 0, what, i->n_blocks);
}

static enum status finish(struct info *i) {
  i->done = true;
  if (i->n_blocks == 0) return fail(&i->err, ERR_TRUNCATED, 0, "it is truncated");
  if (i->hash == 0)
    i->check = CHECK_NOT_STORED;
  else if (i->validate)
    i->check = CHECK_VALID;
  return info_take_head(i);
}

// The stream's first bytes. Shuffled are all first bytes of eight, then all second ones, and so on.
static void take_head(struct info *i, size_t raw_len, bool shuffled) {
  const size_t eights = shuffled ? raw_len / 8 : 0;
  i->n_head = raw_len < INFO_HEAD ? raw_len : INFO_HEAD;
  for (size_t k = 0; k < i->n_head; k++)
    i->head[k] = i->raw.p[k < 8 * eights ? k % 8 * eights + k / 8 : k];
}

// Decodes the block that is in i->block.
static enum status decode(struct info *i, size_t n, uint64_t *raw_len) {
  if (!buffer_reserve(&i->raw, BLOCK_RAW_MAX))
    return fail(&i->err, ERR_NOMEM, 0, "reading a block");
  const size_t len = ZSTD_decompress(i->raw.p, BLOCK_RAW_MAX, i->block.p, n);
  if (ZSTD_isError(len) || (*raw_len != ZSTD_CONTENTSIZE_UNKNOWN && *raw_len != len))
    return bad_block(i, "is corrupt (it does not decode)");
  *raw_len = len;
  return OK;
}

static enum status check_length(struct info *i, uint32_t word, size_t n) {
  if (n == 0 || n > ZSTD_compressBound(BLOCK_RAW_MAX))
    return bad_block(i, "is corrupt (impossible length)");
  if (word >> 31 && !i->may_shuffle)
    return bad_block(i, "is corrupt (it is shuffled, in a file without)");
  if (n > i->source->len - i->at - 4)
    return fail(&i->err, ERR_TRUNCATED, 0, "it is truncated");
  return OK;
}

// The frame, or only its header: *raw_len is what that tells.
static enum status read_frame(struct info *i, size_t n, bool whole, uint64_t *raw_len) {
  const size_t want = whole || n < FRAME_HEADER_MAX ? n : FRAME_HEADER_MAX;
  if (!buffer_reserve(&i->block, ZSTD_compressBound(BLOCK_RAW_MAX)))
    return fail(&i->err, ERR_NOMEM, 0, "reading a block");
  if (info_bytes(i, i->at + 4, i->block.p, want)) return i->err.code;
  *raw_len = ZSTD_getFrameContentSize(i->block.p, want);
  if (*raw_len == ZSTD_CONTENTSIZE_ERROR ||
      (*raw_len != ZSTD_CONTENTSIZE_UNKNOWN && *raw_len > BLOCK_RAW_MAX))
    return bad_block(i, "is corrupt (it does not decode)");
  return OK;
}

static enum status walk_step(struct info *i) {
  unsigned char head[4];
  uint64_t raw_len;
  if (i->at == i->source->len) return finish(i);
  if (info_bytes(i, i->at, head, sizeof(head))) return i->err.code;
  const uint32_t word = (uint32_t) load(i, head, 4);
  const size_t n = word & 0x7fffffff;
  const bool shuffled = word >> 31, is_first = i->n_blocks == 0;
  if (check_length(i, word, n) || read_frame(i, n, false, &raw_len))
    return i->err.code;
  // Without a hash decoding is what can be tried.
  const bool needed = is_first || raw_len == ZSTD_CONTENTSIZE_UNKNOWN || (i->validate && !i->hash);
  if (needed && (read_frame(i, n, true, &raw_len) || decode(i, n, &raw_len))) return i->err.code;
  if (is_first) take_head(i, raw_len, shuffled);
  i->n_shuffled += shuffled;
  i->at += 4 + n;
  return info_count(i, (struct info_group){.count = 1,
                                           .kind = BLOCK_BYTES,
                                           .filter = shuffled,
                                           .codec = CODEC_ZSTD,
                                           .stream_len = raw_len,
                                           .stored_len = 4 + n});
}

// All bytes after the header, a stretch at a time.
static enum status hash_step(struct info *i) {
  const uint64_t left = i->source->len - i->at;
  const size_t n = left < BLOCK_RAW_MAX ? (size_t) left : BLOCK_RAW_MAX;
  if (!buffer_reserve(&i->raw, BLOCK_RAW_MAX))
    return fail(&i->err, ERR_NOMEM, 0, "reading a block");
  if (info_bytes(i, i->at, i->raw.p, n)) return i->err.code;
  XXH3_64bits_update(i->hasher, i->raw.p, n);
  i->at += n;
  if (n < left) return OK;
  const XXH64_hash_t hash = XXH3_64bits_digest(i->hasher);
  if (i->hash != (hash ? hash : 1))
    return fail(&i->err, ERR_CORRUPT, 0, "it is corrupt (its hash differs)");
  i->at = HEADER_LEN;
  i->step = walk_step;
  return OK;
}

// The lengths of the blocks lead to the end of the file, or it was cut: that is told first.
static enum status length_step(struct info *i) {
  unsigned char head[4];
  if (i->at == i->source->len) {
    if (i->at == HEADER_LEN) return fail(&i->err, ERR_TRUNCATED, 0, "it is truncated");
    i->at = HEADER_LEN;
    i->step = hash_step;
    return OK;
  }
  if (info_bytes(i, i->at, head, sizeof(head))) return i->err.code;
  const uint64_t n = load(i, head, 4) & 0x7fffffff;
  if (n > i->source->len - i->at - 4) return fail(&i->err, ERR_TRUNCATED, 0, "it is truncated");
  i->at += 4 + n;
  return OK;
}

enum status info_begin_qs2(struct info *i) {
  const unsigned char *p = i->first;
  static const unsigned char zeros[8];
  i->format = INFO_QS2;
  if (i->n_first < HEADER_LEN) return fail(&i->err, ERR_TRUNCATED, 0, "it is truncated");
  if (p[4] != 1 || p[5] != 1)
    return fail(&i->err, ERR_VERSION, 0, "it is a qs2 file of a version that riffle does not know");
  if (p[6] < 1 || p[6] > 2 || p[7] > 1 || (i->validate && memcmp(p + 8, zeros, 8)))
    return fail(&i->err, ERR_CORRUPT, 0, "its header makes no sense");
  i->format_version = p[4];
  i->big_endian = p[6] == 1;
  i->may_shuffle = p[7];
  i->hash = load(i, p + 16, 8);
  i->at = HEADER_LEN;
  i->step = i->validate && i->hash ? length_step : walk_step;
  return OK;
}
