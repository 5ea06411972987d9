#include "strings.h"

#include <string.h>

enum {
  TABLE_FIRST_SIZE = 1 << 10,
  ITEMS_FIRST = 1 << 8,
  TRIAL = 1 << 10,       // a batch is judged after so many strings, and for good
  LONG_TRIAL = 1 << 13   // after so many
};

void string_table_close(struct string_table *t) {
  buffer_close(&t->entries);
  *t = (struct string_table){0};
}

void string_batch_close(struct string_batch *b) {
  buffer_close(&b->items);
  buffer_close(&b->codes);
}

static struct string_entry *entries_of(const struct string_table *t) {
  return (struct string_entry *) t->entries.p;
}

static bool table_resize(struct string_table *t, size_t size) {
  struct buffer fresh = {calloc(size, sizeof(struct string_entry)),
                         size * sizeof(struct string_entry)};
  if (!fresh.p) return false;
  const struct string_entry *old = entries_of(t);
  struct string_entry *now = (struct string_entry *) fresh.p;
  for (size_t k = 0; k < t->size; k++) {
    if (old[k].batch != t->batch) continue;
    size_t i = string_hash(old[k].key, size);
    while (now[i].batch == t->batch) i = (i + 1) & (size - 1);
    now[i] = old[k];
  }
  buffer_close(&t->entries);
  t->entries = fresh;
  t->size = size;
  return true;
}

// Numbers from 1 on tell the batches' entries apart; after four billion the table is cleared.
static bool table_next_batch(struct string_table *t) {
  if (t->size == 0) {
    t->batch = 1;
    return table_resize(t, TABLE_FIRST_SIZE);
  }
  if (++t->batch == 0) {
    memset(t->entries.p, 0, t->entries.cap);
    t->batch = 1;
  }
  return true;
}

bool string_batch_start(struct string_batch *b, struct string_table *t) {
  b->n_items = b->n = b->stream_len = 0;
  b->plain = false;
  return table_next_batch(t) && buffer_reserve(&b->codes, BATCH_MAX_STRINGS * sizeof(uint32_t)) &&
         buffer_reserve(&b->items, ITEMS_FIRST * sizeof(struct string_item));
}

static bool add_entry(struct string_table *t, uintptr_t key, uint32_t code, size_t n_items) {
  if (2 * n_items >= t->size && !table_resize(t, 4 * t->size)) return false;
  struct string_entry *entries = entries_of(t);
  size_t i = string_hash(key, t->size);
  while (entries[i].batch == t->batch) i = (i + 1) & (t->size - 1);
  entries[i] = (struct string_entry){key, code, t->batch};
  return true;
}

static bool room_for_items(struct string_batch *b, size_t n) {
  return buffer_extend(&b->items, n * sizeof(struct string_item));
}

// From codes to one item per string.
static bool become_plain(struct string_batch *b) {
  if (!room_for_items(b, b->n)) return false;
  struct string_item *items = (struct string_item *) b->items.p;
  const uint32_t *codes = (const uint32_t *) b->codes.p;
  // A code is never above its position, so going backwards overwrites nothing still needed.
  for (size_t i = b->n; i-- > 0;) items[i] = items[codes[i]];
  b->n_items = b->n;
  b->plain = true;
  return true;
}

// Nearly all strings so far differ, or half of many.
static bool repeats_nothing(const struct string_batch *b) {
  return (b->n >= TRIAL && b->n_items > b->n - b->n / 8) ||
         (b->n >= LONG_TRIAL && b->n_items > b->n / 2);
}

bool string_batch_add(struct string_batch *b, struct string_table *t, uintptr_t key,
                      struct string_item item) {
  if (!b->plain && repeats_nothing(b) && !become_plain(b)) return false;
  if (!room_for_items(b, b->n_items + 1)) return false;
  const uint32_t code = (uint32_t) b->n_items++;
  ((struct string_item *) b->items.p)[code] = item;
  b->stream_len += 8 + (item.len > 0 ? (size_t) item.len : 0);
  if (b->plain) {
    b->n++;
    return true;
  }
  ((uint32_t *) b->codes.p)[b->n++] = code;
  return add_entry(t, key, code, b->n_items);
}

struct string_array string_batch_array(const struct string_batch *b) {
  return (struct string_array){(const struct string_item *) b->items.p, b->n_items,
                               b->plain ? NULL : (const uint32_t *) b->codes.p, b->n};
}
