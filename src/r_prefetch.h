// r_prefetch.h - brings an object near before it is looked at.
//
// What R keeps for an object starts at its address: some 48 bytes of header, then the elements of a
// vector. It is scattered over memory, so a walk spends most of its time waiting for the next one.
#ifndef RIFFLE_R_PREFETCH_H
#define RIFFLE_R_PREFETCH_H

#include <Rinternals.h>

static inline void prefetch_bytes(const void *p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#else
  (void) p;
#endif
}

static inline void prefetch(SEXP x) {
  prefetch_bytes(x);
  prefetch_bytes((const char *) x + 48);
}

#endif
