// container.h - how blocks lie in a file: riffle's own format, qs2's, gzip members, or none at all.
//
// The reader and the writer fill, order and hand out blocks; a container knows what surrounds them
// and what is in one. Its functions are called by reader.c and writer.c alone. Each says which
// thread runs it: the owner's (R's), or any.
#ifndef RIFFLE_CONTAINER_H
#define RIFFLE_CONTAINER_H

#include "reader.h"
#include "writer.h"

// ---- reading ------------------------------------------------------------------------------

struct piece {
  struct buffer buffer;        // unused if the source is in memory
  const unsigned char *bytes;
  size_t len;
  size_t n_users;              // jobs that point into it, and the reader itself; the owner's
  struct piece *next;          // in the list of spares
};

struct read_job {
  const unsigned char *block;  // the block as it is in the file, in `piece`
  size_t block_len;
  struct block_header header;  // riffle's own; of others the kind is BLOCK_BYTES
  uint64_t skipped;            // bytes of stream before it that are not read; cut() may set it
  size_t raw_len;              // bytes of stream; cut() sets it, and decode() may correct it
  size_t from;                 // of the block's bytes the first one that is handed out; raw_len of them
                               // may be fewer than it has, if it is one of numbers
  uint64_t seq;                // for blocks that are decoded one after the other
  bool goes_on;                // decode() saw bytes behind the stream
  struct piece *piece;
  void *dest;                  // where the bytes go, or NULL: `raw`, or where they are already
  bool held;                   // not submitted yet: numbers that wait for their destination
  bool as_strings;             // decode into `strings` rather than bytes
  struct buffer raw;
  const unsigned char *view;   // the decoded bytes, if dest is NULL
  struct block_strings strings;
};

struct container_in {
  // Owner: reads what comes before the first block and checks what can be told of the rest.
  enum status (*start)(struct reader *r);
  // Owner: the next block, whole, its bounds checked, into j; or the end, as r->ended.
  enum status (*cut)(struct reader *r, struct read_job *j);
  // Any thread, side by side: the block's bytes to j->dest or j->view, or its strings.
  enum status (*decode)(struct reader *r, struct coder *c, struct read_job *j, struct error *e);
  // Owner, when no thread runs any more: frees r->state. NULL if there is none.
  void (*close)(struct reader *r);
  bool may_go_on;  // bytes after the object are no error, but noted in r->goes_on
  bool checks_late;      // a checksum follows the bytes it is of: they are read to the end
  unsigned max_threads;  // more are of no use; 0: any number is
};

// Of the reader, for cut() and start():
// n bytes of the file from piece_at on, all in one piece. A pipe is asked for no more than that.
enum status reader_need(struct reader *r, size_t n);
// What there is from piece_at on, at most n bytes, all in one piece: *got, which is 0 only at the
// end. A pipe is asked for no more than n.
enum status reader_some(struct reader *r, size_t n, size_t *got);
enum status reader_truncated(struct reader *r);
// Goes to byte `at` of the file, from where on it reads no further than `end`. The source can seek.
enum status reader_seek(struct reader *r, uint64_t at, uint64_t end);
// Passes n bytes that are there. The source can seek.
void reader_skip(struct reader *r, uint64_t n);
// Where piece_at is in a source that can seek.
uint64_t reader_file_at(const struct reader *r);
// Takes a source that cannot seek into memory, and goes back to byte `at`; nothing if it can.
enum status reader_slurp(struct reader *r, size_t at);
// Begins anew with the blocks from byte `at` on. Needs a source that can seek.
void reader_rewind(struct reader *r, size_t at);

enum { READER_BLOCKS_PER_LOOK = 1 << 4 };  // for an interrupt

extern const struct container_in riffle_in;
extern const struct container_in qs2_in;
// One or more gzip members, one after the other, are one stream; what follows them is ignored.
extern const struct container_in gunzip_in;
// The file is the stream.
extern const struct container_in bare_in;

// ---- writing ------------------------------------------------------------------------------

struct container_out {
  bool typed;  // numbers and strings get blocks of their own; else all is bytes
  // Owner: what comes before the first block. May be NULL.
  enum status (*begin)(struct writer *w, const struct writer_opts *opts);
  // Any thread, side by side: a whole block into `out`. *hash is what chain() is given.
  enum status (*encode)(struct writer *w, struct coder *c, const struct block_input *in,
                        struct buffer *out, size_t *len, uint64_t *hash, struct error *e);
  // One thread at a time, in the order of the blocks, before one is written. May be NULL.
  enum status (*chain)(struct writer *w, const unsigned char *block, size_t len, uint64_t hash,
                       struct error *e);
  // Owner: what comes after the last block. May be NULL.
  enum status (*finish)(struct writer *w);
};

extern const struct container_out riffle_out;
// Needs a sink with patch(). The level is zstd's.
extern const struct container_out qs2_out;
// The file is the stream.
extern const struct container_out bare_out;
// Each block is a gzip member. The level is zlib's, taken as 0 to 9.
extern const struct container_out gzip_out;

#endif
