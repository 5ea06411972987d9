// format.h - the byte layout of a riffle file: headers and the end block. Pure functions, no I/O.
//
// The specification is inst/FORMAT.md. Every decoder checks its input against the bounds below
// before anyone allocates or copies by it.
#ifndef RIFFLE_FORMAT_H
#define RIFFLE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec.h"
#include "error.h"

enum {
  FORMAT_VERSION = 1,
  FILE_HEADER_LEN = 32,
  BLOCK_HEADER_LEN = 32,
  END_PAYLOAD_LEN = 40,
  END_BLOCK_LEN = BLOCK_HEADER_LEN + END_PAYLOAD_LEN,
  MAX_RAW_LEN = 1 << 24  // the largest raw block any file of this version may declare
};

enum block_kind { BLOCK_BYTES = 1, BLOCK_NUMBERS = 2, BLOCK_STRINGS = 3, BLOCK_INDEX = 4, BLOCK_END = 5 };

// In a block header's codec: the payload is the u32 length of a compressed head, the head, and the
// rest of the packed bytes as they are.
enum { CODEC_HEAD_ONLY = 0x80 };

struct file_header {
  bool big_endian;         // byte order of the stream in the blocks
  uint8_t stream_version;  // R's serialization format, 2 or 3
  bool plain;              // only types that the builder knows
  bool unseen;             // made without a look at the objects: maybe plain, maybe not
  uint32_t max_raw;        // no block's raw length is above this
};

struct block_header {
  uint8_t kind;
  uint8_t codec;
  uint8_t filter;
  uint8_t param;
  uint32_t seq;         // counts from 0
  uint32_t raw_len;     // bytes of R's stream
  uint32_t packed_len;  // after the filter
  uint32_t stored_len;  // after the codec: the payload's length in the file
  uint32_t count;       // elements, for numbers and strings
};

struct end_record {
  uint64_t stream_len;    // bytes of R's stream in all blocks
  uint64_t n_blocks;      // of the stream: those of the index do not count
  uint64_t index_offset;  // in the file; 0: no index
  uint64_t chain;         // XXH3-64 of the hashes of the stream's blocks, in order
};

static inline uint32_t load_u32(const unsigned char *p) {
  return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}
static inline uint64_t load_u64(const unsigned char *p) {
  return load_u32(p) | (uint64_t) load_u32(p + 4) << 32;
}
static inline void store_u32(unsigned char *p, uint32_t v) {
  for (int i = 0; i < 4; i++) p[i] = (unsigned char) (v >> 8 * i);
}
static inline void store_u64(unsigned char *p, uint64_t v) {
  for (int i = 0; i < 8; i++) p[i] = (unsigned char) (v >> 8 * i);
}

bool host_is_big_endian(void);

// The filter may add a little to what it cannot shrink; more than this is no honest block.
static inline size_t max_packed_len(size_t raw_len) { return raw_len + raw_len / 8 + 1024; }

void file_header_encode(const struct file_header *h, unsigned char out[FILE_HEADER_LEN]);
// `n` bytes are there, maybe fewer than a header. ERR_FORMAT: not ours at all.
enum status file_header_decode(const unsigned char *in, size_t n, struct file_header *h,
                               struct error *e);

// `block` begins with room for the header and goes on with stored_len bytes of payload; the hash
// over both goes into its first eight bytes and is returned.
uint64_t block_header_encode(const struct block_header *h, unsigned char *block);
// The fields as they are there.
void block_header_get(const unsigned char *in, struct block_header *h);
// Bounds only: the hash is checked by block_verify(), when the payload is there.
enum status block_header_decode(const unsigned char *in, const struct file_header *f, uint64_t seq,
                                struct block_header *h, struct error *e);
static inline uint64_t block_hash(const unsigned char *block) { return load_u64(block); }
bool block_verify(const unsigned char *block, const struct block_header *h);

// A whole end block, header and all.
void end_block_encode(const struct end_record *r, uint64_t seq, unsigned char out[END_BLOCK_LEN]);
enum status end_block_decode(const unsigned char in[END_BLOCK_LEN], struct end_record *r,
                             struct error *e);

#endif
