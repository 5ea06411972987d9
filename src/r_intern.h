// r_intern.h - the strings of R's stream -> CHARSXPs, each distinct one made as rarely as possible.
//
// In a strings block every distinct string is made once. Strings among bytes go through a small
// cache of short ones, told by their bytes without asking R.
#ifndef RIFFLE_R_INTERN_H
#define RIFFLE_R_INTERN_H

#include <Rinternals.h>

#include "r_input.h"

enum {
  NATIVE_NAME_MAX = 63,
  NAMES_MAX_LEN = 160  // bytes of stream of names that are remembered
};

struct cached_chars;
struct cached_names;

struct interner {
  struct input *in;
  char native[NATIVE_NAME_MAX + 1];  // encoding of the stream's unmarked strings; "": not known
  enum { NOT_ASKED, AS_THEY_ARE, CONVERT } unmarked;
  size_t n_read;               // strings among bytes, so far
  struct cached_chars *cache;  // R_alloc'ed when it pays
  struct cached_names *names;  // likewise
  SEXP keep;                   // a list whose elements KEEP_* protect what is held
  SEXP *made;                  // R_alloc'ed: the strings of a block
  size_t made_cap;
};

enum { KEEP_CACHED, KEEP_BYTES, KEEP_NAMES, KEEP_INTERN };  // elements of `keep` that are used here

// The next item of the stream, a string. Its flags word is read here, too.
SEXP intern_read(struct interner *c);
// One that was read elsewhere.
SEXP intern_item(struct interner *c, uint32_t flags, const void *chars, int32_t len);
// The elements of the character vector x.
void intern_fill(struct interner *c, SEXP x);
// The same out of strings blocks, of which the first `before` strings are passed over and any number
// may be left.
void intern_fill_range(struct interner *c, SEXP x, size_t before);

// n strings out of strings blocks: a list of the distinct ones and of the number of each, from 0;
// or, where these are many or nobody has counted them, a character vector.
SEXP intern_coded(struct interner *c, R_xlen_t n);

// The next item, a short character vector without attributes, if it is the same as one of the last
// that came by here: then that one, not to be given away. Else NULL, and nothing is taken.
SEXP intern_same_names(struct interner *c);
// The item that began at `at` and has just been read is `names`.
void intern_remember_names(struct interner *c, const unsigned char *at, SEXP names);

#endif
