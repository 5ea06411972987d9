// r_open.h - a file of any format that riffle knows -> a reader of the stream in it.
//
// Errors are raised as R conditions, so whoever owns an opening runs these inside
// R_ExecWithCleanup(), and closes it in the cleanup.
#ifndef RIFFLE_R_OPEN_H
#define RIFFLE_R_OPEN_H

#include <Rinternals.h>
#include <stdbool.h>

#include "r_connection.h"
#include "r_error.h"
#include "reader.h"
#include "sniff.h"

struct opening {
  const char *path;   // NULL: the connection, or the raw vector `input`
  SEXP input;
  struct connection connection;
  unsigned n_threads;
  bool verify_all;
  struct subject subject;
  enum file_format format;  // after opening_open()
  bool ascii;               // R's stream is in the ASCII format
  struct source source;
  struct reader reader;
  struct error err;         // the source's
};

// `connection` is R_NilValue, or what is read instead of path and input. What is returned must be
// protected until the call ends. `o` stays where it is.
SEXP opening_connect(struct opening *o, SEXP connection);
// False: what it is compressed by is known to R's gzfile() alone.
bool opening_open(struct opening *o);
// Begins anew; the source can seek.
void opening_rewind(struct opening *o);
NORETURN void opening_throw(struct opening *o);
// Only a look at the stream tells whether the builder can take it.
bool opening_is_unseen(const struct opening *o);
// Our header says that it can.
bool opening_is_plain(const struct opening *o);
// Of a gzip'ed file the reader knows no more than a bound.
double opening_total(const struct opening *o);
// To be called when the object has been read: nothing may be left.
void opening_finish(struct opening *o);
// Never calls R.
void opening_close(struct opening *o);

#endif
