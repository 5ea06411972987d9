// io.h - where bytes go and come from: a file, memory, or (by the same few functions) anything.
//
// A sink takes bytes in order. What it was given becomes real at commit(); sink_close()
// without a commit leaves no trace of it. A source yields bytes in order, and anywhere if it can
// seek. All functions are called by one thread at a time, which may be any thread.
#ifndef RIFFLE_IO_H
#define RIFFLE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct sink {
  enum status (*write)(struct sink *s, const void *p, size_t n, struct error *e);
  // Forgets what was written, to begin anew; NULL where that cannot be done (a pipe).
  enum status (*reset)(struct sink *s, struct error *e);
  // Overwrites n bytes at `at`, all written before; NULL where that cannot be done.
  enum status (*patch)(struct sink *s, uint64_t at, const void *p, size_t n, struct error *e);
  enum status (*commit)(struct sink *s, struct error *e);
  void (*close)(struct sink *s);
  bool producer_only;  // write() runs on the thread that opened the sink, and no other
  void *ctx;           // of a sink made elsewhere
  struct {
    int fd;
    char *temp;         // the file being written, or NULL: written in place (a pipe, a device)
    char *target;       // what `temp` is renamed to
    bool replaces;      // there is a file of the target's name
    uint64_t at, begun; // bytes written, and how many of them the disk has been told of
    unsigned char held[1 << 14];  // not written yet
    size_t n_held;
    bool may_signal;    // a pipe or socket: writing can raise SIGPIPE
  } file;
  struct {
    struct chunk *first, *last;
    size_t len;
  } memory;
};

// A file is written beside `path` and renamed onto it when committed; of a symbolic link the
// target is replaced. It gets the old file's permissions, or those of a newly created file.
// What is no regular file (fifo, device, /dev/stdout) is written directly. AGAIN: a fifo has no
// reader yet; call again.
enum status sink_file(struct sink *s, const char *path, struct error *e);
// Collects everything; sink_move() then hands it over.
void sink_memory(struct sink *s);
// Copies a memory sink's sink->memory.len bytes to `out`, giving up its memory on the way.
void sink_move(struct sink *s, void *out);

static inline void sink_close(struct sink *s) {
  if (s->close) s->close(s);
  *s = (struct sink){0};
}

enum { SOURCE_PEEK = 64 };

struct source {
  // Reads up to n bytes at the cursor; *got is less than n only at the end, or with AGAIN: a pipe
  // had no more to give for a while.
  enum status (*read)(struct source *s, void *p, size_t n, size_t *got, struct error *e);
  void (*close)(struct source *s);
  bool can_seek;
  uint64_t len;               // if can_seek
  uint64_t at;                // the cursor
  const unsigned char *bytes; // all of them, if they are in memory; else NULL
  void *ctx;                  // of a source made elsewhere
  int fd;
  unsigned char peeked[SOURCE_PEEK];  // read, but not taken yet, if it cannot seek
  size_t n_peeked;
  unsigned char *owned;       // freed at close; while slurping, `len` of `cap` bytes are filled
  size_t cap;
};

enum status source_file(struct source *s, const char *path, struct error *e);
void source_memory(struct source *s, const void *p, size_t n);
// Reads what is left of a source that cannot seek into memory, behind the n bytes that were read of
// it before, and becomes a source of all that. AGAIN: call again.
enum status source_slurp(struct source *s, const void *first, size_t n, struct error *e);
// The same piece by piece, and no further than the caller likes: n bytes that were read are put
// behind those kept before, and in the end the source is one of all of them.
enum status source_keep(struct source *s, const void *p, size_t n, struct error *e);
void source_become_kept(struct source *s);
// Needs can_seek. *got is less than n only at the end. The cursor stays.
enum status source_read_at(struct source *s, uint64_t at, void *p, size_t n, size_t *got,
                           struct error *e);

// The same, but fewer than n are ERR_TRUNCATED.
enum status source_read_exactly(struct source *s, uint64_t at, void *p, size_t n, struct error *e);
// Whether `path` is a regular file, which opening and closing does not change.
bool source_can_reopen(const char *path);
// Tells the system that these bytes will be read soon. Does nothing where there is no way to.
void source_advise(struct source *s, uint64_t at, uint64_t n);
// A source of the same file or memory that closes nothing: it lives no longer than `s`. For files
// that can seek.
struct source source_lend(const struct source *s);

// Up to n bytes at the cursor: those that source_peek() looked at first.
enum status source_read(struct source *s, void *p, size_t n, size_t *got, struct error *e);
// The next n bytes, at most SOURCE_PEEK, which stay to be read; *got is less than n only at the end,
// or with AGAIN.
enum status source_peek(struct source *s, size_t n, const unsigned char **p, size_t *got,
                        struct error *e);

static inline void source_close(struct source *s) {
  if (s->close) s->close(s);
  *s = (struct source){0};
}

#endif
