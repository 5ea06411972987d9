// writer.h - a stream of bytes, numbers and strings -> blocks -> ring -> sink, in order.
// What the blocks are made to is the container's (container.h): a file of riffle's, or another.
//
// The producer (R's serializer by its callbacks, or the walker) hands over the stream piece by
// piece; what it calls numbers or strings is cut into blocks of their own. AGAIN from any function
// means: look for an interrupt, then call again with what is left.
#ifndef RIFFLE_WRITER_H
#define RIFFLE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "block.h"
#include "error.h"
#include "index.h"
#include "io.h"
#include "ring.h"
#include "strings.h"

enum {
  BYTES_BLOCK_LEN = 1 << 20, // raw bytes of a bytes block
  BLOCK_LEN = 1 << 18,       // of a numbers block
  NUMBERS_MIN_LEN = 1 << 11, // a shorter payload stays among the bytes around it
  STRINGS_MIN = 1 << 8       // as many strings, likewise
};

struct container_out;

struct writer_opts {
  const struct container_out *container;  // NULL: riffle's own
  struct block_opts block;
  unsigned n_threads;
  uint8_t stream_version;
  bool plain, unseen;  // of the file header
};

struct write_job;

struct writer {
  struct sink *sink;       // lent; the writer's until writer_finish()
  const struct container_out *container;
  struct block_opts block;
  struct ring ring;
  struct write_job *jobs;  // one per slot
  struct coder *coders;    // one per thread
  unsigned n_coders;
  struct error err;        // the first failure seen by the producer

  struct slot *slot;       // the block being filled, or NULL
  unsigned char *at, *end; // room in it, if its bytes are copied
  enum block_kind kind;    // of the block to fill
  enum number_type type;
  struct string_table table;

  uint64_t n_blocks;       // submitted
  uint64_t stream_len;
  void *chain;             // XXH3 state; the container's, on the draining thread
  uint64_t file_len;       // likewise: of what has been written
  struct index index;      // its blocks likewise; the rest is the owner's, before writer_finish()
};

// Writes the file header. `sink` is open and stays the caller's.
enum status writer_open(struct writer *w, struct sink *sink, const struct writer_opts *opts);

// Copies *n bytes from *p on and advances both.
enum status writer_put_slow(struct writer *w, const void **p, size_t *n);
static inline enum status writer_put(struct writer *w, const void **p, size_t *n) {
  if (*n <= (size_t) (w->end - w->at)) {
    if (*n == 0) return OK;  // before the first block both pointers may be NULL
    memcpy(w->at, *p, *n);
    *p = (const char *) *p + *n;
    w->at += *n;
    *n = 0;
    return OK;
  }
  return writer_put_slow(w, p, n);
}

// What follows by writer_put() are bytes of structure, or the elements of one numeric vector.
enum status writer_begin_bytes(struct writer *w);
enum status writer_begin_numbers(struct writer *w, enum number_type type);

// *count numbers whose memory stays as it is until writer_finish(): nothing is copied.
enum status writer_lend(struct writer *w, enum number_type type, const void **p, size_t *count);

// Strings have blocks of their own; else they are put as the bytes of the stream.
bool writer_takes_strings(const struct writer *w);
// The batch to fill with the strings that follow; string_batch_is_full() tells when to ask again.
// Their characters stay as they are until writer_finish(), or are copied by writer_keep().
enum status writer_batch(struct writer *w, struct string_batch **batch);
// A copy of n characters (at most BATCH_MAX_CHARS) that lives as long as the batch just given.
const char *writer_keep(struct writer *w, const void *p, size_t n);

// The bytes of stream that were handed over so far.
uint64_t writer_position(const struct writer *w);

// Writes what is left and the end block, and waits for it. The sink is not committed.
enum status writer_finish(struct writer *w);

// Stops the threads and frees everything. Safe on a zeroed or half-opened writer.
void writer_close(struct writer *w);

#endif
