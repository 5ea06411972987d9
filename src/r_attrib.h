// r_attrib.h - attributes as they are: in the order of their pairlist, with their raw values.
//
// getAttrib() and attributes() show some of them otherwise (compact row names are expanded), so
// they are no use to what must give the same bytes. Since R 4.6 the pairlist itself is out of
// reach, but R_mapAttrib() visits it unchanged.
#ifndef RIFFLE_R_ATTRIB_H
#define RIFFLE_R_ATTRIB_H

#include <Rinternals.h>
#include <Rversion.h>
#include <stdbool.h>

#include "r_prefetch.h"

// Called with `ctx` for each attribute. It must not change the object's attributes.
typedef void attrib_visit(void *ctx, SEXP tag, SEXP value);

#if R_VERSION < R_Version(4, 6, 0)

static inline bool attrib_any(SEXP x) { return ATTRIB(x) != R_NilValue; }

static inline void attrib_each(SEXP x, attrib_visit *visit, void *ctx) {
  for (SEXP a = ATTRIB(x); a != R_NilValue; a = CDR(a)) visit(ctx, TAG(a), CAR(a));
}

static inline void attrib_prefetch(SEXP x) { prefetch(ATTRIB(x)); }
static inline void attrib_prefetch_value(SEXP x) { prefetch(CAR(ATTRIB(x))); }

#else

static inline bool attrib_any(SEXP x) { return ANY_ATTRIB(x); }

void attrib_each(SEXP x, attrib_visit *visit, void *ctx);

static inline void attrib_prefetch(SEXP x) { (void) x; }
static inline void attrib_prefetch_value(SEXP x) { (void) x; }

#endif

#endif
