// frames.h - bytes in memory <-> standard zstd (RFC 8878) and LZ4 frames, as other tools know them.
//
// Long input becomes several frames in sequence, which threads make side by side; every reader of
// the formats takes a sequence as one. The bytes made do not depend on the number of threads.
// AGAIN from any function means: look for an interrupt, then call again.
#ifndef RIFFLE_FRAMES_H
#define RIFFLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec.h"
#include "error.h"
#include "io.h"
#include "ring.h"

// ---- making -------------------------------------------------------------------------------

struct pack_job;

struct packer {
  struct sink *sink;  // lent
  enum codec codec;   // CODEC_ZSTD or CODEC_LZ4
  int level;
  const unsigned char *at;  // what is left of the input, which is lent
  size_t left;
  bool begun;  // a frame was made, if only of nothing
  struct ring ring;
  struct pack_job *jobs;  // one per slot
  void **zstd;            // one compressor per thread, made at first use
  unsigned n_threads;
  struct error err;
};

// How many bytes go into one frame.
size_t pack_frame_len(enum codec codec, int level);

enum status packer_open(struct packer *p, struct sink *sink, enum codec codec, int level,
                        unsigned n_threads, const void *in, size_t n);
// All of it, until it is in the sink.
enum status packer_run(struct packer *p);
void packer_close(struct packer *p);

// ---- what is there ------------------------------------------------------------------------

struct frame {
  const unsigned char *at;
  size_t len;
  enum codec codec;  // CODEC_STORED: a skippable frame, which holds nothing
  bool known;        // its header tells `content`
  uint64_t content;  // bytes that come out
};

struct frames {
  struct frame *list;
  size_t n, cap;
  size_t len;        // of the input
  bool known;        // all contents are
  uint64_t content;  // their sum
  uint64_t largest;  // of one frame
};

// Walks from frame to frame by the lengths of their blocks; decodes nothing. An input cut short is
// ERR_TRUNCATED; a frame that claims more than its blocks could hold, ERR_CORRUPT; what begins as
// no frame does, ERR_FORMAT. Safe to close in any case.
enum status frames_scan(struct frames *f, const unsigned char *in, size_t n, struct error *e);
void frames_close(struct frames *f);

// Whether to make room for all that is claimed and decode side by side (unpacker_*()), or piece by
// piece into a sink (unstream_*()): for contents not known, for a claim that is out of all
// proportion to the input, though it may be true, and for frames that would take long without an
// interrupt.
bool frames_fit(const struct frames *f);

// ---- decoding -----------------------------------------------------------------------------

struct decoder {
  void *zstd, *lz4;  // made at first use
};

struct unpack_job;

struct unpacker {
  const struct frames *frames;  // lent
  unsigned char *at;            // where the next frame's content goes
  size_t next;
  struct ring ring;
  struct unpack_job *jobs;   // one per slot
  struct decoder *decoders;  // one per thread
  unsigned n_threads;
  struct error err;
};

// `out` has room for frames->content bytes, and all frames' contents are known.
enum status unpacker_open(struct unpacker *u, const struct frames *frames, unsigned n_threads,
                          void *out);
enum status unpacker_run(struct unpacker *u);
void unpacker_close(struct unpacker *u);

struct unstream {
  const struct frames *frames;  // lent
  struct sink *sink;            // lent
  uint64_t max, made;           // more than max bytes are ERR_LIMIT
  size_t next;                  // the frame
  size_t used;                  // of its bytes
  bool begun;
  struct decoder decoder;
  unsigned char *piece;
  struct error err;
};

enum status unstream_open(struct unstream *s, const struct frames *frames, struct sink *sink,
                          uint64_t max);
// Decodes a piece; AGAIN: there is more.
enum status unstream_run(struct unstream *s);
void unstream_close(struct unstream *s);

#endif
