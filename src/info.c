#include "info.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "filter_layout.h"
#include "sniff.h"

// ---- names --------------------------------------------------------------------------------

#define NAME(names, i) ((i) < sizeof(names) / sizeof(*names) ? names[i] : NULL)

const char *info_kind_name(uint8_t kind) {
  static const char *const names[] = {NULL, "bytes", "numbers", "strings", "index"};
  return NAME(names, kind);
}

const char *info_filter_name(uint8_t kind, uint8_t filter) {
  static const char *const bytes[] = {"none", "structure"};
  static const char *const strings[] = {"none", "items", "dictionary"};
  static const char *const numbers[] = {[FILTER_NONE] = "none",
                                        [FILTER_CONSTANT] = "constant",
                                        [FILTER_RANGE] = "range",
                                        [FILTER_RANGE_NA] = "range with NA",
                                        [FILTER_DELTA] = "delta",
                                        [FILTER_DELTA_NA] = "delta with NA",
                                        [FILTER_DICTIONARY] = "dictionary",
                                        [FILTER_SHUFFLE] = "shuffle",
                                        [FILTER_SCALED] = "scaled",
                                        [FILTER_SCALED_DELTA] = "scaled delta",
                                        [FILTER_SPLIT] = "split"};
  switch (kind) {
    case BLOCK_BYTES: return NAME(bytes, filter);
    case BLOCK_NUMBERS: return NAME(numbers, filter);
    case BLOCK_STRINGS: return NAME(strings, filter);
    case BLOCK_INDEX: return filter == FILTER_NONE ? "none" : NULL;
    default: return NULL;
  }
}

const char *info_qs2_filter_name(uint8_t filter) {
  static const char *const names[] = {"none", "shuffle"};
  return NAME(names, filter);
}

const char *info_codec_name(uint8_t codec) {
  static const char *const names[] = {
      [CODEC_STORED] = "none", [CODEC_LZ4] = "lz4", [CODEC_ZSTD] = "zstd"};
  return NAME(names, codec);
}

const char *info_packing_name(enum info_packing packing) {
  static const char *const names[] = {[PACKING_NONE] = "none",
                                      [PACKING_GZIP] = "gzip",
                                      [PACKING_ZSTD] = "zstd",
                                      [PACKING_BZIP2] = "bzip2",
                                      [PACKING_XZ] = "xz",
                                      [PACKING_LZMA] = "lzma"};
  return NAME(names, (unsigned) packing);
}

// ---- the stream's head --------------------------------------------------------------------

static uint32_t load_u32_big(const unsigned char *p) {
  return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static bool binary_head(const unsigned char *p, bool big, struct stream_head *h) {
  h->big_endian = big;
  h->version = big ? load_u32_big(p) : load_u32(p);
  h->r_version = big ? load_u32_big(p + 4) : load_u32(p + 4);
  return h->version == 2 || h->version == 3;
}

static bool text_head(const unsigned char *p, size_t n, struct stream_head *h) {
  char text[INFO_HEAD + 1];
  unsigned version, r_version;
  if (n > INFO_HEAD) n = INFO_HEAD;
  memcpy(text, p, n);
  text[n] = '\0';
  if (sscanf(text, "%3u %9u", &version, &r_version) != 2) return false;
  h->version = version;
  h->r_version = r_version;
  return version == 2 || version == 3;
}

bool stream_head_decode(const unsigned char *p, size_t n, struct stream_head *h) {
  *h = (struct stream_head){0};
  if (n < 2 || p[1] != '\n' || !memchr("ABX", p[0], 3)) return false;
  h->encoding = (char) p[0];
  if (h->encoding == 'A') return text_head(p + 2, n - 2, h);
  if (n < 10) return false;
  if (h->encoding == 'X') return binary_head(p + 2, true, h);
  return binary_head(p + 2, false, h) || binary_head(p + 2, true, h);
}

enum status info_take_head(struct info *i) {
  // What is in another format's file may be anything.
  if (i->format != INFO_RIFFLE && sniff_format(i->head, i->n_head) != FORMAT_STREAM)
    return fail(&i->err, ERR_FORMAT, 0, "what is in it is no stream of R's");
  if (stream_head_decode(i->head, i->n_head, &i->stream)) return OK;
  return fail(&i->err, ERR_CORRUPT, 0, "its stream does not begin as one of R's");
}

// ---- the walk -----------------------------------------------------------------------------

enum status info_bytes(struct info *i, uint64_t at, void *p, size_t n) {
  return source_read_exactly(i->source, at, p, n, &i->err);
}

static struct info_group *group_of(struct info *i, const struct info_group *block) {
  for (size_t k = 0; k < i->n_groups; k++) {
    struct info_group *g = &i->groups[k];
    if (g->kind == block->kind && g->filter == block->filter && g->codec == block->codec) return g;
  }
  if (i->n_groups == INFO_MAX_GROUPS) return NULL;
  struct info_group *g = &i->groups[i->n_groups++];
  *g = (struct info_group){block->kind, block->filter, block->codec, 0, 0, 0};
  return g;
}

enum status info_count(struct info *i, struct info_group blocks) {
  struct info_group *g = group_of(i, &blocks);
  if (!g) return fail(&i->err, ERR_CORRUPT, 0, "it has more kinds of blocks than there are");
  g->count += blocks.count;
  g->stream_len += blocks.stream_len;
  g->stored_len += blocks.stored_len;
  if (blocks.kind != BLOCK_INDEX) i->n_blocks += blocks.count;
  i->stream_len += blocks.stream_len;
  return OK;
}

static enum status begin(struct info *i) {
  if (!i->source->can_seek) {
    const enum status st = source_slurp(i->source, NULL, 0, &i->err);
    if (st) return st;
  }
  if (source_read_at(i->source, 0, i->first, INFO_HEAD, &i->n_first, &i->err)) return i->err.code;
  switch (sniff_format(i->first, i->n_first)) {
    case FORMAT_RIFFLE: return info_begin_riffle(i);
    case FORMAT_QS2: return info_begin_qs2(i);
    case FORMAT_GZIP:
    case FORMAT_PACKED:
    case FORMAT_STREAM: return info_begin_rds(i);
    default: return fail(&i->err, ERR_FORMAT, 0, "it is of no known format");
  }
}

enum status info_open(struct info *i, struct source *source, bool validate) {
  *i = (struct info){.source = source, .validate = validate};
  if (!(i->hasher = XXH3_createState())) return fail(&i->err, ERR_NOMEM, 0, "opening");
  XXH3_64bits_reset(i->hasher);
  return OK;
}

enum status info_walk(struct info *i) {
  if (i->err.code) return i->err.code;
  if (!i->step) {
    const enum status st = begin(i);
    if (st) return st;
  }
  for (int n = 0; !i->done; n++) {
    if (n == INFO_STEPS_PER_LOOK) return AGAIN;
    if (i->step(i)) return i->err.code;
  }
  return OK;
}

void info_close(struct info *i) {
  if (i->close) i->close(i);
  XXH3_freeState(i->hasher);
  contents_close(&i->contents);
  buffer_close(&i->block);
  buffer_close(&i->raw);
  coder_close(&i->coder);
  *i = (struct info){0};
}
