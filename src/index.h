// index.h - the index of a file: where its blocks are, what the top level holds, and what is kept
// beside the object. Pure functions, no I/O; inst/FORMAT.md has the layout.
#ifndef RIFFLE_INDEX_H
#define RIFFLE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "directory.h"
#include "error.h"
#include "format.h"

enum {
  INDEX_HEAD_MAX = 128,       // bytes of the stream's own header, at most
  INDEX_META_MAX = 1 << 20
};

// A block of the stream.
struct index_block {
  uint64_t at;         // of its header in the file
  uint64_t stream_at;  // of its first byte in the stream
  uint32_t raw_len, stored_len, count;  // as in its header
  uint8_t kind, codec, filter;
};

struct index {
  uint64_t chain;          // of the end block: whose index this is
  struct buffer blocks;    // struct index_block, n_blocks of them
  size_t n_blocks;
  struct directory directory;
  unsigned char head[INDEX_HEAD_MAX];  // the stream's first bytes: its header
  size_t n_head;
  struct buffer meta;      // a stream of R's, or nothing
  size_t meta_len;
};

static inline const struct index_block *index_block(const struct index *x, size_t i) {
  return (const struct index_block *) x->blocks.p + i;
}

// Adds a block behind the last one: `at` and `stream_at` are set by what came before. False: no
// memory.
bool index_add_block(struct index *x, const struct block_header *h);

// The bytes of the index: *len of them in `out`. A directory of more than DIRECTORY_MAX_PARTS is
// left out; meta of more than INDEX_META_MAX is ERR_LIMIT.
enum status index_encode(const struct index *x, struct buffer *out, size_t *len, struct error *e);

// From the bytes of a file's index, whose blocks end at `end_at` in the file and have `stream_len`
// bytes of stream: checks that the blocks lie one behind the other and fill both exactly, and that
// every part lies in the stream, in order, with references and classes that there are. Else
// ERR_CORRUPT. `x` starts as {0}, and is that again after a failure. The memory taken is bounded by
// end_at, n and DIRECTORY_MAX_PARTS, whatever the bytes say.
enum status index_decode(struct index *x, const unsigned char *p, size_t n, uint64_t end_at,
                         uint64_t stream_len, uint32_t max_raw, struct error *e);

// The number of the block that holds byte `stream_at`, which is below the stream's length.
size_t index_find(const struct index *x, uint64_t stream_at);

// Safe on a zeroed one.
void index_close(struct index *x);

#endif
