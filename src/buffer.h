// buffer.h - a block of memory that is made larger when asked, without keeping what it held.
#ifndef RIFFLE_BUFFER_H
#define RIFFLE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct buffer {
  unsigned char *p;
  size_t cap;
};

static inline void buffer_close(struct buffer *b) {
  free(b->p);
  *b = (struct buffer){0};
}

static inline bool buffer_reserve(struct buffer *b, size_t n) {
  if (b->p && n <= b->cap) return true;
  buffer_close(b);
  if (!(b->p = malloc(n ? n : 1))) return false;  // nothing is not NULL: arithmetic on it is defined
  b->cap = n;
  return true;
}

// The same, but keeps the first `used` bytes; doubles, so that adding piece by piece is linear.
static inline bool buffer_extend(struct buffer *b, size_t n) {
  if (n <= b->cap) return true;
  const size_t cap = n > 2 * b->cap ? n : 2 * b->cap;
  unsigned char *p = realloc(b->p, cap);
  if (!p) return false;
  *b = (struct buffer){p, cap};
  return true;
}

static inline void buffer_swap(struct buffer *a, struct buffer *b) {
  const struct buffer t = *a;
  *a = *b;
  *b = t;
}

#endif
