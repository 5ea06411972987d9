// r_lazy.h - vectors that are read when they are first used.
//
// An ALTREP class for each type of vector (riffle_int, riffle_str, ...). Its data1 is an external
// pointer to where in a file the elements are, which holds the file open (r_handle.h); its data2 is
// NULL until these have been read, and then an ordinary vector: the pointer lets the file go. Of
// strings of which few are distinct data2 is a list of the distinct ones and an integer vector, which
// tells for each element which it is, until something needs them side by side.
//
// To R's serializer, as to our own, they are ordinary vectors: the classes have no state. Reading
// raises what reading a file raises, names the column in it, and leaves the vector as it was.
#ifndef RIFFLE_R_LAZY_H
#define RIFFLE_R_LAZY_H

#include <Rinternals.h>
#include <R_ext/Rdynload.h>

// Makes the classes; once, when the package is loaded.
void lazy_init(DllInfo *dll);

// The distinct strings of a string vector of ours and an integer vector, which tells for each element
// which it is, from 0, in a list to be protected; reads it, if need be. NULL: of another class, or
// the strings are side by side.
SEXP lazy_codes(SEXP x);

#endif
