// r_refs.h - the numbers of the objects that a stream writes once and refers to later.
//
// R numbers symbols and external pointers from 1 on, in the order in which they are first written.
// The table belongs to one .Call: when it grows its memory is R_alloc()'s, so a jump leaks nothing.
#ifndef RIFFLE_R_REFS_H
#define RIFFLE_R_REFS_H

#include <Rinternals.h>
#include <stddef.h>
#include <stdint.h>

struct ref {
  SEXP object;
  uint32_t number;  // 0: the entry is free
};

enum { REFS_FIRST = 32 };

struct refs {
  struct ref *entries;
  size_t size;  // a power of two
  uint32_t n;
  struct ref first[REFS_FIRST];
};

void refs_open(struct refs *r);

// Gives x the next number.
void refs_add(struct refs *r, SEXP x);

// The objects in the order of their numbers, R_alloc'ed.
const SEXP *refs_numbered(const struct refs *r);

static inline size_t refs_hash(SEXP x, size_t size) {
  return (size_t) (((uint64_t) (uintptr_t) x >> 3) * 0x9E3779B97F4A7C15u >> 32) & (size - 1);
}

// The number of x, or 0 if it has none yet.
static inline uint32_t refs_find(const struct refs *r, SEXP x) {
  size_t i = refs_hash(x, r->size);
  while (r->entries[i].number && r->entries[i].object != x) i = (i + 1) & (r->size - 1);
  return r->entries[i].number;
}

#endif
