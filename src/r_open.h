// r_open.h - a file of any format that riffle knows -> a reader of the stream in it.
//
// Errors are raised as R conditions, so whoever owns an opening runs these inside
// R_ExecWithCleanup(), and closes it in the cleanup.
#ifndef RIFFLE_R_OPEN_H
#define RIFFLE_R_OPEN_H

#include <Rinternals.h>
#include <stdbool.h>

#include "r_error.h"
#include "reader.h"
#include "sniff.h"

struct opening {
  const char *path;   // NULL: the raw vector `input`
  SEXP input;
  unsigned n_threads;
  bool verify_all;
  struct subject subject;
  enum file_format format;  // after opening_open()
  struct source source;
  struct reader reader;
  struct error err;         // the source's
};

void opening_open(struct opening *o);
// Begins anew; the source can seek.
void opening_rewind(struct opening *o);
NORETURN void opening_throw(struct opening *o);
// Only a look at the stream tells whether the builder can take it.
bool opening_is_unseen(const struct opening *o);
// Our header says that it can.
bool opening_is_plain(const struct opening *o);
// To be called when the object has been read: nothing may be left.
void opening_finish(struct opening *o);
// Never calls R.
void opening_close(struct opening *o);

#endif
