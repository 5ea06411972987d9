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

#include "r_error.h"
#include "reader.h"

// The object of a file. Anything that is not plain is an error; with data_only so is all that is
// not data: external pointers and environments, too. The reader was opened with opts.build.
SEXP build_read(struct reader *r, const struct subject *subject, bool data_only);

// The object of a bare stream, or NULL when it is not plain, or not in this machine's binary
// format: then R's reader must see. With data_only that is an error.
SEXP build_from_memory(const unsigned char *p, size_t n, const struct subject *subject,
                       bool data_only);

#endif
