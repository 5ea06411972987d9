// r_stream.h - the general pair: R's own serializer and unserializer over a writer and a reader.
//
// Any object. R calls back with the stream piece by piece; out of the order of the pieces the
// writer is told which are numbers and which are strings. Errors are raised as R conditions, so
// these run inside R_ExecWithCleanup().
#ifndef RIFFLE_R_STREAM_H
#define RIFFLE_R_STREAM_H

#include <Rinternals.h>
#include <stddef.h>

#include "hash.h"
#include "r_error.h"
#include "reader.h"
#include "writer.h"

void stream_save(SEXP object, int version, SEXP refhook, struct writer *w,
                 const struct subject *subject);
SEXP stream_read(SEXP refhook, struct reader *r, const struct subject *subject);

// The bare stream: its length, its bytes into exactly len bytes (false if they are not as many),
// and back.
double stream_size(SEXP object, int version);
bool stream_to_memory(SEXP object, int version, unsigned char *out, size_t len);
// The same of version 2 into a hash, without the header, which names R's version.
void stream_hash(SEXP object, struct hash *hash);
SEXP stream_from_memory(const unsigned char *in, size_t len);

#endif
