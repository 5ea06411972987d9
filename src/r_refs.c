#include "r_refs.h"

#include <R.h>
#include <string.h>

void refs_open(struct refs *r) {
  r->entries = r->first;
  r->size = REFS_FIRST;
  r->n = 0;
  memset(r->first, 0, sizeof(r->first));
}

static void insert(struct refs *r, struct ref entry) {
  size_t i = refs_hash(entry.object, r->size);
  while (r->entries[i].number) i = (i + 1) & (r->size - 1);
  r->entries[i] = entry;
}

static void grow(struct refs *r) {
  const struct ref *old = r->entries;
  const size_t old_size = r->size;
  r->size = 4 * old_size;
  r->entries = (struct ref *) R_alloc(r->size, sizeof(struct ref));
  memset(r->entries, 0, r->size * sizeof(struct ref));
  for (size_t i = 0; i < old_size; i++)
    if (old[i].number) insert(r, old[i]);
}

void refs_add(struct refs *r, SEXP x) {
  if (2 * (size_t) r->n >= r->size) grow(r);
  insert(r, (struct ref){x, ++r->n});
}

const SEXP *refs_numbered(const struct refs *r) {
  SEXP *objects = (SEXP *) R_alloc(r->n, sizeof(SEXP));
  for (size_t i = 0; i < r->size; i++)
    if (r->entries[i].number) objects[r->entries[i].number - 1] = r->entries[i].object;
  return objects;
}
