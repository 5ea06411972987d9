#include "r_error.h"

#include <R.h>
#include <stdio.h>
#include <string.h>

#include "r_connection.h"
#include "r_eval.h"
#include "sniff.h"

// R's own half of this is abort() and abort_argument() in R/error.R; neither returns.
static void call_r(const char *function, SEXP a, SEXP b, SEXP c) {
  eval_own(Rf_lang4(Rf_install(function), a, b, c));
  Rf_error("internal error: %s() returned", function);
}

void throw_reason(const char *class, const char *reason, const struct subject *subject) {
  const size_t len = strlen(subject->doing) + sizeof("Can't  ");
  char *start = R_alloc(len, 1);  // it may name a column
  snprintf(start, len, "Can't %s ", subject->doing);
  SEXP c = PROTECT(Rf_mkString(class));
  SEXP what = PROTECT(Rf_allocVector(STRSXP, 3));
  SET_STRING_ELT(what, 0, Rf_mkChar(start));
  SET_STRING_ELT(what, 1, Rf_mkChar(subject->path ? subject->path : subject->thing));
  SET_STRING_ELT(what, 2, Rf_mkChar(reason));
  SEXP quote = PROTECT(Rf_ScalarLogical(subject->path != NULL));
  call_r("abort", c, what, quote);
  Rf_error("unreachable");
}

void warn_reason(const char *reason, const struct subject *subject) {
  SEXP what = PROTECT(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(what, 0, Rf_mkChar(subject->path ? subject->path : subject->thing));
  SET_STRING_ELT(what, 1, Rf_mkChar(reason));
  SEXP quote = PROTECT(Rf_ScalarLogical(subject->path != NULL));
  eval_own(Rf_lang3(Rf_install("warn"), what, quote));
  UNPROTECT(2);
}

static const char *class_of(enum status code) {
  switch (code) {
    case ERR_NOMEM: return "riffle_error_memory";
    case ERR_IO: return "riffle_error_io";
    case ERR_CORRUPT: return "riffle_error_corrupt";
    case ERR_TRUNCATED: return "riffle_error_corrupt";
    case ERR_FORMAT: return "riffle_error_format";
    case ERR_VERSION: return "riffle_error_version";
    case ERR_DEPTH: return "riffle_error_depth";
    case ERR_LIMIT: return "riffle_error_limit";
    default: return "riffle_error_internal";
  }
}

void throw_error(const struct error *e, const struct subject *subject) {
  char reason[512];
  connection_go_on(subject->connection);
  if (e->block != NO_BLOCK)
    snprintf(reason, sizeof(reason), "block %llu %s", (unsigned long long) e->block, e->what);
  else if (e->sys && strcmp(e->what, "opening") == 0)
    snprintf(reason, sizeof(reason), "%s", strerror(e->sys));
  else if (e->sys)
    snprintf(reason, sizeof(reason), "%s failed: %s", e->what, strerror(e->sys));
  else if (e->code == ERR_NOMEM)
    snprintf(reason, sizeof(reason), "memory ran out while %s", e->what);
  else
    snprintf(reason, sizeof(reason), "%s", e->what);
  throw_reason(class_of(e->code), reason, subject);
}

void throw_no_memory(const char *what, const struct subject *subject) {
  const struct error e = {.code = ERR_NOMEM, .what = what, .block = NO_BLOCK};
  throw_error(&e, subject);
}

void throw_not_ours(const unsigned char *first, size_t n, const struct subject *subject) {
  char reason[512];
  snprintf(reason, sizeof(reason), "it is %s", sniff(first, n));
  throw_reason("riffle_error_format", reason, subject);
}

void throw_argument(const char *name, const char *takes, SEXP value) {
  SEXP n = PROTECT(Rf_mkString(name));
  SEXP t = PROTECT(Rf_mkString(takes));
  SEXP quoted = PROTECT(Rf_lang2(Rf_install("quote"), value));
  call_r("abort_argument", n, t, quoted);
  Rf_error("unreachable");
}
