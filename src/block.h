// block.h - one block, both ways: filter, codec, checksum.
//
// Everything here works on one block alone and keeps its scratch memory in the caller's structs,
// so any number of threads can run side by side.
#ifndef RIFFLE_BLOCK_H
#define RIFFLE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "codec.h"
#include "error.h"
#include "filter_numbers.h"
#include "filter_strings.h"
#include "filter_structure.h"
#include "format.h"

// One thread's scratch memory. Start as {0}.
struct coder {
  struct codec_state codec;
  struct buffer packed;
  struct buffer scratch;
};
void coder_close(struct coder *c);

struct block_opts {
  enum codec codec;
  int level;
  bool filter;  // use the filters for numbers, strings and structure
};

// What goes into a block; `raw` and the strings' characters are lent for the call.
struct block_input {
  enum block_kind kind;  // bytes, numbers, strings or index
  uint32_t seq;
  const void *raw;             // bytes, numbers, index
  size_t raw_len;              // bytes of stream, or of the index
  enum number_type type;       // numbers
  struct string_array strings; // strings
};

// Writes the whole block, header and all, into `out`: *len bytes. Returns its hash in *hash.
enum status block_encode(struct coder *c, const struct block_opts *opts,
                         const struct block_input *in, struct buffer *out, size_t *len,
                         uint64_t *hash, struct error *e);

// `block` is header and payload as in the file, its bounds checked by block_header_decode().
// Verifies the checksum, then writes the h->raw_len bytes of stream to `out`.
enum status block_decode(struct coder *c, const unsigned char *block, const struct block_header *h,
                         void *out, struct error *e);

// The same, but of a block of numbers only bytes from..end - 1 are sure to be written, in their places.
enum status block_decode_part(struct coder *c, const unsigned char *block,
                              const struct block_header *h, size_t from, size_t end, void *out,
                              struct error *e);

// The h->packed_len bytes of a block of the index, likewise.
enum status block_decode_index(struct coder *c, const unsigned char *block,
                               const struct block_header *h, void *out, struct error *e);

// Verifies the checksum and nothing else.
enum status block_check(const unsigned char *block, const struct block_header *h, struct error *e);

// The strings of a strings block without making the stream of them. `array` points into the
// other members and into `block`.
struct block_strings {
  struct string_array array;
  struct buffer packed, items, codes, scratch;
};
void block_strings_close(struct block_strings *s);
enum status block_decode_strings(struct coder *c, const unsigned char *block,
                                 const struct block_header *h, struct block_strings *s,
                                 struct error *e);

#endif
