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

// The object of a bare stream, or NULL when it is not plain, or not in a binary format. With
// data_only that is an error.
SEXP build_from_memory(const unsigned char *p, size_t n, const struct subject *subject,
                       bool data_only);

#endif
