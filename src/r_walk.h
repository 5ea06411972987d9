// r_walk.h - plain data -> the stream that R's serializer would write, or only its length.
//
// Plain are NULL, vectors of every type, lists, pairlists, expression vectors of such, symbols,
// S4 instances, the attributes of all these, the special environments (global, base, empty, base
// namespace), the ALTREP classes of base R in their compact form, and external pointers. Not
// plain, so left to R's serializer as a whole: other environments, closures, language, weak
// references, ALTREP classes of packages, memory maps, and, in R < 4.5, pairlist cells with
// level bits (since then no function tells them; data has none).
//
// The bytes are those of serialize(x, NULL, xdr = FALSE) but for the growable flag of a vector,
// which is left out, as R does itself since 4.6. The object is not changed: wrapped vectors are
// not copied, compact ones not expanded.
//
// Errors are raised as R conditions, so whoever owns anything runs these inside
// R_ExecWithCleanup(). Lists nested so deep that R's C stack would run out are an error; how deep
// that is depends on the stack: some 30,000 with the usual 8 MB. Pairlists may be of any length.
#ifndef RIFFLE_R_WALK_H
#define RIFFLE_R_WALK_H

#include <Rinternals.h>
#include <stdbool.h>
#include <stddef.h>

#include "hash.h"
#include "r_error.h"
#include "r_header.h"
#include "writer.h"

// A quick look ahead; does not touch the elements of vectors. Without `pointers` external pointers
// are not plain: a refhook would have to be asked about them.
bool walk_look(SEXP x, bool pointers, const struct subject *subject);

// The length of the stream, header included; negative if x is not plain.
double walk_size(SEXP x, const struct header *h, const struct subject *subject);

// Writes the stream, exactly len bytes, to `out`; len is walk_size()'s.
void walk_to_memory(SEXP x, const struct header *h, unsigned char *out, size_t len,
                    const struct subject *subject);

// Hands the stream to the writer. False: x is not plain, and what was handed over is of no use.
// Large vectors and the characters of strings are lent: x must live unchanged until
// writer_finish(), or writer_close().
bool walk_save(SEXP x, bool pointers, const struct header *h, struct writer *w,
               const struct subject *subject);

// Puts a stream into the hash that is the same for equal objects. Of data it is that of version 2,
// which has no ALTREP forms, without the header: all vectors are written element by element, and
// strings are written in UTF-8 unless they are bytes. Unlike the others it takes code and
// environments, too, in a form of its own: functions without byte code, without source references
// and without flags for the compiler; an environment's bindings in the order of their names, those
// that are promises not forced. False: x holds something else (`...`, a promise, a weak
// reference), and what was put is of no use.
bool walk_hash(SEXP x, struct hash *hash, const struct subject *subject);

#endif
