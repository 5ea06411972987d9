// parts.h - some of a file's blocks, found through its index, as a reader of them.
//
// The plan says which blocks: those that hold any byte of the wanted spans of the stream. The reader
// gives them in order; between two that do not follow each other the consumer must pass over what
// is missing by reader_skip_to(). No other byte of the file is read.
#ifndef RIFFLE_PARTS_H
#define RIFFLE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "format.h"
#include "index.h"
#include "io.h"
#include "reader.h"

// What a file says of itself before and behind its blocks.
struct contents {
  struct file_header header;
  struct end_record end;
  bool indexed;        // it has an index
  struct index index;  // which is this, checked
  struct coder coder;  // for the index, and then for one reader: made once, it serves again
  uint64_t n_index;    // its blocks
  uint8_t index_codec; // of the first of them
};

// The end block of a file, and that its index can be where it says.
enum status end_load(struct source *s, struct end_record *end, struct error *e);

// Needs a source that can seek. `c` starts as {0}; contents_close() is safe on it at any time. Of the
// first all but the index is there, of the second, if there is one, the index as well.
enum status contents_load_ends(struct contents *c, struct source *s, struct error *e);
enum status contents_load_index(struct contents *c, struct source *s, struct error *e);
void contents_close(struct contents *c);

// Bytes of the stream, from `at` on up to `end`.
struct span {
  uint64_t at, end;
};

// A part that is wanted: whole, or of its elements n from `from` on (counted from 0), if it has a
// payload_len and so many.
struct wish {
  size_t part;
  bool ranged;
  uint64_t from, n;
};

static inline bool part_is_strings(const struct part *p) { return p->type == 16; }
static inline bool part_has_attributes(const struct part *p) { return p->flags & 1 << 9; }
// Where a part and its attributes end; in the last one's case with all that follows.
uint64_t part_end(const struct index *x, size_t part);
// For a range of strings that lie in strings blocks of their own: the block that holds the first one,
// and how many are before that in the block. False: they do not, and the part is read whole.
bool wish_in_blocks(const struct index *x, const struct wish *w, size_t *block, uint64_t *before);

// Runs of blocks, ascending. Starts as {0}.
struct plan {
  struct buffer runs;  // struct run
  size_t n_runs;
};

// Adds the blocks of a span, none of which lies before those added so far. False: no memory.
bool plan_add(struct plan *p, const struct index *x, struct span s);
// Adds the blocks that hold what is wished: none of its parts lies before those added so far.
bool plan_add_wish(struct plan *p, const struct index *x, const struct wish *w);

// Blocks first..end - 1 are all of one kind, numbers or strings, and hold a vector's worth of these
// that need not be read before they are used.
struct deferrable {
  size_t first, end;
  uint64_t stream_end;
  uint64_t count;  // elements, as the blocks tell
};

enum { DEFER_MIN_LEN = 1 << 16 };  // bytes of stream; less is read with what is around it

// The blocks of one kind from `first` on, if they are deferrable.
bool deferrable_at(const struct index *x, size_t first, struct deferrable *d);

// Tells the system that the blocks will be read soon.
void plan_advise(const struct plan *p, const struct index *x, struct source *s);
void plan_close(struct plan *p);

// A reader of the planned blocks. `c`, the plan and the source are lent until parts_close(), which
// closes the reader; another of the same `c` may be opened and closed meanwhile. It is ready to give:
// there is nothing to start or to finish, but reader_wait() for what was promised.
enum status parts_open(struct reader *r, struct source *s, struct contents *c,
                       const struct plan *p, const struct reader_opts *opts);
// Safe on a zeroed or half-opened reader.
void parts_close(struct reader *r, struct contents *c);

// A reader of all blocks, likewise, that does not read deferrable ones ahead: those that the consumer
// passes over by reader_skip_to(), when it comes to them, are not read at all.
enum status parts_open_sparse(struct reader *r, struct source *s, struct contents *c,
                              const struct reader_opts *opts);

#endif
