// info.h - what is in a file, without making the object: its blocks are walked and counted.
//
// Of a riffle file that has one the index is read; of others and of qs2 files only headers are, and
// the first block, whose stream begins with what wrote it. Asked to validate, the walk reads
// everything and verifies every checksum. Of an RDS file the first bytes are unpacked, and all of
// them to validate; what bzip2, xz and lzma packed is left to R, which has these libraries: without
// i->head, given before the walk, nothing is told of such a stream.
#ifndef RIFFLE_INFO_H
#define RIFFLE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "error.h"
#include "format.h"
#include "io.h"
#include "parts.h"

enum info_format { INFO_RIFFLE, INFO_QS2, INFO_RDS };
// Of an RDS file; others have a codec per block.
enum info_packing {
  PACKING_NONE,
  PACKING_GZIP,
  PACKING_ZSTD,
  PACKING_BZIP2,  // this and what follows R unpacks
  PACKING_XZ,
  PACKING_LZMA
};
enum info_check { CHECK_NOT_DONE, CHECK_VALID, CHECK_NOT_STORED };

enum {
  INFO_MAX_GROUPS = 128,  // more than kinds * filters * codecs
  INFO_HEAD = 64,
  INFO_STEPS_PER_LOOK = 1 << 6  // for an interrupt
};

#define INFO_UNKNOWN UINT64_MAX

// The blocks of one kind, filter and codec. Stored bytes are those in the file, headers included.
struct info_group {
  uint8_t kind, filter, codec;  // of qs2: bytes, 1 if shuffled, zstd
  uint64_t count, stream_len, stored_len;
};

// What the first bytes of a stream tell.
struct stream_head {
  char encoding;  // 'B', 'X' or 'A'
  bool big_endian;
  uint32_t version;    // of the serialization format
  uint32_t r_version;  // 4.2.1 is 0x040201
};

struct info {
  struct source *source;  // lent
  bool validate;
  enum info_format format;
  enum info_packing packing;
  unsigned format_version;
  bool plain, unseen;     // riffle: of its header
  uint64_t n_shuffled;    // qs2: blocks
  enum info_check check;
  uint64_t stream_len;    // INFO_UNKNOWN: it takes unpacking it all
  uint64_t n_blocks;      // of the stream; of RDS gzip members or zstd frames, or INFO_UNKNOWN
  struct info_group groups[INFO_MAX_GROUPS];  // none for an RDS file
  size_t n_groups;
  struct stream_head stream;  // not of what R unpacks, without head
  struct error err;
  unsigned char first[INFO_HEAD];  // the file's first bytes
  size_t n_first;

  // For the walk alone.
  enum status (*step)(struct info *i);
  void (*close)(struct info *i);
  bool done;
  uint64_t at;
  struct contents contents;    // riffle
  bool may_shuffle, big_endian;  // qs2
  uint64_t hash;
  unsigned char head[INFO_HEAD];  // the stream's first bytes
  size_t n_head;
  bool has_head;  // it was given
  void *hasher;                // XXH3 state
  struct buffer block, raw;
  struct coder coder;
  void *unpacker;              // RDS
};

// The source stays the caller's until info_close(). Nothing is read yet.
enum status info_open(struct info *i, struct source *source, bool validate);
// Reads and counts. AGAIN: look for an interrupt and call again. ERR_FORMAT: i->head, or
// i->first if there is none, tells what it may be.
enum status info_walk(struct info *i);
// Safe on a zeroed or half-opened one.
void info_close(struct info *i);

// NULL: there is none of that number. Names as in inst/FORMAT.md.
const char *info_kind_name(uint8_t kind);
const char *info_filter_name(uint8_t kind, uint8_t filter);
const char *info_qs2_filter_name(uint8_t filter);
const char *info_codec_name(uint8_t codec);
const char *info_packing_name(enum info_packing packing);

// False if they do not begin a stream.
bool stream_head_decode(const unsigned char *p, size_t n, struct stream_head *h);

// ---- for the formats: info_riffle.c, info_qs2.c, info_rds.c --------------------------------

// Each is called once, when `first` is there, and sets i->step, which then takes one step of the
// walk at a time until it sets i->done.
enum status info_begin_riffle(struct info *i);
enum status info_begin_qs2(struct info *i);
enum status info_begin_rds(struct info *i);

// Exactly n bytes of the file, or ERR_TRUNCATED.
enum status info_bytes(struct info *i, uint64_t at, void *p, size_t n);
// Adds blocks to their group.
enum status info_count(struct info *i, struct info_group blocks);
// Takes i->head as the stream's first bytes.
enum status info_take_head(struct info *i);

#endif
