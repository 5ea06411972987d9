#include "column.h"

#include <string.h>

#include "le.h"

enum { COLUMN_HEAD = 6 };

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

size_t column_bound(enum number_type type, size_t n) {
  return COLUMN_HEAD + max_size(numbers_bound(type, n), number_size(type) * n);
}

size_t column_put(enum number_type type, const void *values, size_t n, unsigned char *out,
                         void *scratch, size_t *dense) {
  struct packed p = {0};
  if (n) numbers_encode(type, values, n, out + COLUMN_HEAD, scratch, &p);
  if (p.filter == FILTER_NONE) {
    p.len = number_size(type) * n;
    if (n) memcpy(out + COLUMN_HEAD, values, p.len);
  }
  out[0] = p.filter;
  out[1] = p.param;
  le_store32(out + 2, (uint32_t) p.len);
  if (p.hint == PACKED_DENSE) *dense += p.len;
  return COLUMN_HEAD + p.len;
}

const unsigned char *input_take(struct input *in, size_t n) {
  if (n > in->left) return NULL;
  const unsigned char *p = in->at;
  in->at += n;
  in->left -= n;
  return p;
}

enum status column_get(struct input *in, enum number_type type, size_t n, void *values,
                              void *scratch) {
  const unsigned char *head = input_take(in, COLUMN_HEAD);
  if (!head) return ERR_CORRUPT;
  size_t len = le_load32(head + 2);
  const unsigned char *body = input_take(in, len);
  if (!body) return ERR_CORRUPT;
  if (head[0] != FILTER_NONE && n)
    return numbers_decode(head[0], head[1], type, body, len, n, values, scratch);
  if (head[0] != FILTER_NONE || len != number_size(type) * n) return ERR_CORRUPT;
  if (n) memcpy(values, body, len);
  return OK;
}
