// r_build.h - plain data out of R's stream, without R's own reader.
//
// Plain: NULL, vectors, strings, lists, pairlists, expression vectors, S4 instances, symbols, the
// ALTREP forms of R itself, external pointers (to nothing), R's own few environments; all with
// their attributes. What is built is what unserialize() would give. No recursion: however deep the
// object is, it does not use up the C stack.
#ifndef RIFFLE_R_BUILD_H
#define RIFFLE_R_BUILD_H

#include <Rinternals.h>
#include <stdbool.h>
#include <stddef.h>

#include "parts.h"
#include "r_error.h"
#include "reader.h"

enum build_what {
  BUILD_PLAIN,     // the header says that it is plain: anything else is an error
  BUILD_DATA,      // external pointers and environments are errors, too
  BUILD_IF_PLAIN   // NULL if it is not plain, or not in a binary format: R's reader must see
};

// The object of a file. opts.build of the reader is set for the first two.
SEXP build_read(struct reader *r, const struct subject *subject, enum build_what what);

// Parts of the object of a file with a directory: a list of the n values that are wished, whose parts
// ascend. `r` reads the blocks planned for just these. NULL: one of them refers to an object outside,
// and can be read only with the whole.
SEXP build_parts(struct reader *r, const struct subject *subject, const struct index *x,
                 const struct wish *wishes, size_t n, bool data_only);

// ---- what is read later ----

enum { PAYLOAD_DEPTH = 8 };

// The elements of a vector, which lie in blocks of their own.
struct payload {
  SEXPTYPE type;
  R_xlen_t n;
  uint64_t at, end;  // in the stream
  int depth;         // whose it is: of the object's element where[0] element where[1], and so on
  R_xlen_t where[PAYLOAD_DEPTH];
};

// Makes a vector whose elements are those, without attributes.
typedef SEXP build_defer(void *ctx, const struct payload *p);

// The object of a file whose header says that it is plain, each long vector made by defer(). `r` reads
// by parts_open_sparse(). NULL: R's reader must see, or a whole read tell what is wrong.
SEXP build_deferred(struct reader *r, const struct subject *subject, const struct index *x,
                    bool data_only, build_defer *defer, void *ctx);

// The elements, out of a reader of their blocks: a vector. Of strings with `coded`, where few are
// distinct, a list of these and an integer vector that tells which each element is, from 0.
SEXP build_payload(struct reader *r, const struct subject *subject, const struct index *x,
                   const struct payload *p, bool coded);

// The object of a bare stream, or NULL when it is not plain, or not in a binary format. With
// data_only that is an error.
SEXP build_from_memory(const unsigned char *p, size_t n, const struct subject *subject,
                       bool data_only);

#endif
