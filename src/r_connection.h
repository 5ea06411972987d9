// r_connection.h - R's connections as sinks and sources (io.h), by R's own writeBin(), readBin().
//
// Both are called by way of R/connection.R, so errors of theirs come back as a reason. Every other
// jump that begins in there (an interrupt, a restart, a condition caught further out) is held up
// until the core has returned: read() or write() fail, and throw_error(), which sees the failure in
// the end, lets the jump go on. So none crosses a frame of the core.
#ifndef RIFFLE_R_CONNECTION_H
#define RIFFLE_R_CONNECTION_H

#include <Rinternals.h>
#include <setjmp.h>
#include <stdbool.h>

#include "io.h"

struct subject;

struct connection {
  SEXP con;         // NULL: there is none
  SEXP namespace;   // ours
  SEXP token;       // of the jump that is held up
  SEXP buffer;      // a sink's bytes that are not written yet
  size_t n_held;    // how many
  int n_silent;     // reads in a row that gave nothing, though more may come
  bool ours;        // opened for this call alone: it may be read beyond the object
  bool packed;      // what R can't read of it is damage: a compressed file
  bool jumped;
  jmp_buf here;     // where a jump is held up
  char reason[256]; // what failed, for struct error
};

bool connection_is(SEXP x);
// `con` is open, in binary mode, and has its attributes "subject", "ours" and "packed" from R/connection.R. What is
// returned protects all that c holds, and must be protected until the call ends. The subject's
// errors are those of the connection from here on.
SEXP connection_open(struct connection *c, SEXP con, struct subject *subject);

// Written in pieces of about a MiB, by R's thread alone; commit writes what is left and flushes.
// Neither opens or closes the connection.
void connection_sink(struct sink *s, struct connection *c);
// Gives what it is asked for and reads no further. AGAIN while a connection that does not block
// has nothing to give.
void connection_source(struct source *s, struct connection *c);

// Lets a jump that is held up go on; returns if there is none. `c` may be NULL.
void connection_go_on(struct connection *c);

#endif
