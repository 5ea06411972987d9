#include "directory.h"

#include <string.h>

enum { ITEM_HEAD = 8 };

bool directory_add(struct directory *d, const struct part *p, bool is_attribute) {
  const size_t n = d->n_elements + d->n_attributes;
  if (!buffer_extend(&d->parts, (n + 1) * sizeof(*p))) return false;
  *directory_part(d, n) = *p;
  if (is_attribute)
    d->n_attributes++;
  else
    d->n_elements++;
  return true;
}

unsigned part_element_len(uint8_t type) {
  switch (type) {
    case 10:
    case 13: return 4;
    case 14: return 8;
    case 15: return 16;
    case 16: return ITEM_HEAD;
    case 24: return 1;
    default: return 0;
  }
}

bool item_list_add(struct item_list *l, uint32_t flags, const void *chars, size_t len) {
  const uint32_t head[] = {flags, (uint32_t) len};
  if (len > INT32_MAX || !buffer_extend(&l->bytes, l->len + ITEM_HEAD + len)) return false;
  memcpy(l->bytes.p + l->len, head, ITEM_HEAD);
  if (len) memcpy(l->bytes.p + l->len + ITEM_HEAD, chars, len);
  l->len += ITEM_HEAD + len;
  l->n++;
  return true;
}

bool item_list_next(const struct item_list *l, size_t *at, struct item *item) {
  uint32_t head[2];
  if (l->len - *at < ITEM_HEAD) return false;
  memcpy(head, l->bytes.p + *at, ITEM_HEAD);
  if (head[1] > l->len - *at - ITEM_HEAD) return false;
  *item = (struct item){head[0], head[1], l->bytes.p + *at + ITEM_HEAD};
  *at += ITEM_HEAD + head[1];
  return true;
}

bool directory_class(struct directory *d, const void *names, size_t len, uint32_t *number) {
  struct item item;
  size_t at = 0;
  for (uint32_t i = 1; item_list_next(&d->classes, &at, &item); i++) {
    *number = i;
    if (item.len == len && (len == 0 || memcmp(item.chars, names, len) == 0)) return true;
  }
  *number = 0;
  if (d->classes.n == DIRECTORY_MAX_CLASSES) return true;
  if (!item_list_add(&d->classes, 0, names, len)) return false;
  *number = (uint32_t) d->classes.n;
  return true;
}

void directory_close(struct directory *d) {
  buffer_close(&d->parts);
  buffer_close(&d->symbols.bytes);
  buffer_close(&d->classes.bytes);
  *d = (struct directory){0};
}
