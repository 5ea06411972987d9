// reader.h - source -> blocks -> ring -> the stream's bytes, ahead of the consumer.
//
// The consumer (R's unserializer by its callbacks, or the builder) takes the stream in order, as
// bytes, or as the numbers and strings that the blocks hold. Every block's checksum is verified
// before a byte of it is handed out; every length is checked against its bound before it is used.
// AGAIN from any function means: look for an interrupt, then call again with what is left.
#ifndef RIFFLE_READER_H
#define RIFFLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "block.h"
#include "error.h"
#include "format.h"
#include "io.h"
#include "ring.h"

struct container_in;

struct reader_opts {
  unsigned n_threads;
  bool verify_all;  // every checksum, before the first byte is handed out
  bool build;       // the consumer takes numbers and strings by reader_numbers(), reader_strings()
  const struct container_in *container;  // NULL: riffle's own
  uint64_t max_len;  // of the stream: more is ERR_LIMIT; 0: no limit
  bool exact;        // not a byte of the file is read behind the object (container bare_in)
};

struct piece;
struct read_job;

enum { READER_HEAD = 16 };

struct reader {
  struct source *source;     // lent
  const struct container_in *container;
  void *state;               // the container's
  struct reader_opts opts;
  struct file_header header; // valid after reader_start()
  struct ring ring;
  struct read_job *jobs;     // one per slot
  struct coder *coders;      // one per thread
  struct error err;          // the first failure seen by the consumer

  struct piece *piece;       // the stretch of the file that is being cut into blocks
  size_t piece_at;           // the next block in it
  struct piece *spare;       // pieces to use again
  uint64_t n_blocks;         // cut so far
  unsigned n_numbers;        // blocks of numbers handed out
  uint64_t stream_len;       // in these blocks
  uint64_t stream_total;     // in all blocks, or a bound; UINT64_MAX: not known yet
  uint64_t taken;            // in the blocks that were handed out
  uint64_t skipped;          // of the stream, between these blocks
  uint64_t skip_to;          // the consumer has no use for what is before that in the stream
  uint64_t read_end;         // the file is not read beyond this; 0: to its end
  void *chain;               // XXH3 state; the container's
  bool ended;                // the last block has been cut, and what follows it agrees
  uint64_t index_at;         // where the index begins in the file; 0: there is none, or not known yet
  unsigned n_index;          // blocks of the index passed
  bool index_damaged;        // after reader_finish(): what it says cannot be trusted
  bool unverified;           // after reader_start(): the file has no checksum
  bool goes_on;              // after reader_finish(): there was more than the object
  bool verified;             // verify_all is done, or was not asked for
  size_t wanted;             // by the consumer, for cut(): opts.exact
  bool open;                 // the ring's oldest slot is what at..end or reader_strings() shows

  const unsigned char *at, *end;  // the current block's bytes not yet taken
  unsigned char head[READER_HEAD];               // what reader_head() took out of short blocks
  const unsigned char *after_head, *after_end;   // what comes after that; NULL: nothing
};

// reader_open() makes the reader; reader_start() reads the header and, where the source can seek,
// the end block: a file cut short is found out here.
enum status reader_open(struct reader *r, struct source *source, const struct reader_opts *opts);
enum status reader_start(struct reader *r);
// The file's first bytes, as many as were read: for saying what it is, if it is not ours.
const unsigned char *reader_first_bytes(const struct reader *r, size_t *n);

// The next n bytes of the stream. *n is what is still missing, *p where it goes.
enum status reader_get_slow(struct reader *r, void **p, size_t *n);
static inline enum status reader_get(struct reader *r, void **p, size_t *n) {
  if (*n <= (size_t) (r->end - r->at)) {
    if (*n == 0) return OK;  // before the first block both pointers may be NULL
    memcpy(*p, r->at, *n);
    *p = (char *) *p + *n;
    r->at += *n;
    *n = 0;
    return OK;
  }
  return reader_get_slow(r, p, n);
}

// For opts.build. The next *n bytes of the stream are numbers and go to *p, whose memory stays
// until reader_wait(): where they have blocks of their own, workers write them there later.
enum status reader_numbers(struct reader *r, void **p, size_t *n);
// All that reader_numbers() promised is there.
enum status reader_wait(struct reader *r);

// For opts.build, at the border of a block. The strings of the next block, if it is a strings
// block and has at most `most` of them, else NULL in *out. They stay until the next call.
enum status reader_strings(struct reader *r, size_t most, const struct string_array **out);

// The stream's first n bytes, at most READER_HEAD, or as many as there are, to be in at..end: blocks
// may be shorter. Nothing has been taken before.
enum status reader_head(struct reader *r, size_t n);
// Where in the stream r->at is.
static inline uint64_t reader_position(const struct reader *r) {
  return r->skipped + r->taken - (uint64_t) (r->end - r->at);
}
// Goes on at byte `to` of the stream, which is not before reader_position(), and is in a block that
// is read, or where one begins or ends, or the end of the stream.
enum status reader_skip_to(struct reader *r, uint64_t to);
// Whether there is anything left of the stream: then it is in at..end.
enum status reader_more(struct reader *r, bool *more);

// The consumer is done: nothing may be left of the stream, and all of it was as the end says. Of a
// container that may go on, what is left is told by r->goes_on, unless opts.exact.
enum status reader_finish(struct reader *r);

// Stops the threads and frees everything. Safe on a zeroed or half-opened reader.
void reader_close(struct reader *r);

#endif
