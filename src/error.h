// error.h - how the core half reports failure.
//
// Core functions return a status. The first failure is kept in a struct error, those it causes
// are dropped; the R half turns it into a condition.
#ifndef RIFFLE_ERROR_H
#define RIFFLE_ERROR_H

#include <stdint.h>

enum status {
  OK = 0,
  AGAIN,         // nothing failed: look for an interrupt, then call again
  ERR_NOMEM,
  ERR_IO,        // the system refused; `sys` says why
  ERR_CODEC,     // a compression library refused its own input: a bug or a limit, not bad data
  ERR_CORRUPT,   // bytes that contradict their checksum, their header or each other
  ERR_TRUNCATED, // the file ends before its end block
  ERR_FORMAT,    // not a file of ours
  ERR_VERSION,   // ours, but newer than this code
  ERR_DEPTH,     // nested deeper than the stack is
  ERR_LIMIT,     // more bytes than the caller allows
  ERR_CHANGED    // the object's stream differed between two passes over it
};

#define NO_BLOCK UINT64_MAX

struct error {
  enum status code;
  int sys;           // errno at the failure, or 0
  const char *what;  // a literal that completes "failed while ..." or names what is wrong
  uint64_t block;    // the block's number, or NO_BLOCK
};

static inline enum status fail_block(struct error *e, enum status code, int sys, const char *what,
                                     uint64_t block) {
  if (e->code == OK) *e = (struct error){code, sys, what, block};
  return code;
}

static inline enum status fail(struct error *e, enum status code, int sys, const char *what) {
  return fail_block(e, code, sys, what, NO_BLOCK);
}

#endif
