// r_error.h - failures -> classed R conditions, each one whole sentence.
#ifndef RIFFLE_R_ERROR_H
#define RIFFLE_R_ERROR_H

#include <Rinternals.h>

#include "error.h"

#if defined(__GNUC__)
#define NORETURN __attribute__((noreturn))
#else
#define NORETURN
#endif

struct connection;

// "Can't <doing> <subject>: <reason>." `doing` is "read" or "save", or "read column 'a' of"; `path`
// NULL: `thing` instead.
struct subject {
  const char *doing;
  const char *path;
  const char *thing;
  struct connection *connection;  // or NULL
};

// Of a connection: lets the jump go on that made the core fail, if there was one.
NORETURN void throw_error(const struct error *e, const struct subject *subject);
// What completes "memory ran out while ...".
NORETURN void throw_no_memory(const char *what, const struct subject *subject);
// The file's first bytes say more than e->what does.
NORETURN void throw_not_ours(const unsigned char *first, size_t n, const struct subject *subject);
// "<subject>: <reason>."
void warn_reason(const char *reason, const struct subject *subject);
NORETURN void throw_reason(const char *class, const char *reason, const struct subject *subject);
// "`name` must be <takes>, not <value>."
NORETURN void throw_argument(const char *name, const char *takes, SEXP value);

#endif
