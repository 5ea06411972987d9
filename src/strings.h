// strings.h - collects the strings of one block, each distinct one once.
//
// The producer adds strings one by one under a key, an address that tells equal strings quickly.
// While values repeat, a string is an item and a code; when nearly all differ the batch gives the
// codes up and is a plain list of items. The lookup table is the producer's and serves one batch
// after the other; the batch itself travels to a worker.
#ifndef RIFFLE_STRINGS_H
#define RIFFLE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "filter_strings.h"

enum {
  BATCH_MAX_STRINGS = 1 << 15,
  BATCH_MAX_STREAM = 1 << 20,  // bytes of stream; also the largest raw length of a block
  BATCH_MAX_CHARS = 1 << 16    // a longer string goes into bytes blocks
};

struct string_table {
  struct buffer entries;  // struct string_entry[size]
  size_t size;            // a power of two, or 0
  uint32_t batch;         // entries of another batch are empty
};

struct string_batch {
  struct buffer items;  // struct string_item[]
  struct buffer codes;  // uint32_t[]
  size_t n_items, n;
  size_t stream_len;
  bool plain;           // no codes: item i is string i
};

struct string_entry {
  uintptr_t key;
  uint32_t code;
  uint32_t batch;
};

void string_table_close(struct string_table *t);
void string_batch_close(struct string_batch *b);

// Empties the batch and makes room. False: no memory.
bool string_batch_start(struct string_batch *b, struct string_table *t);

// Adds a string under a new key. False: no memory.
bool string_batch_add(struct string_batch *b, struct string_table *t, uintptr_t key,
                      struct string_item item);

struct string_array string_batch_array(const struct string_batch *b);

static inline bool string_batch_is_full(const struct string_batch *b) {
  return b->n == BATCH_MAX_STRINGS || b->stream_len + BATCH_MAX_CHARS + 8 > BATCH_MAX_STREAM;
}

static inline size_t string_hash(uintptr_t key, size_t size) {
  return (size_t) ((key >> 3) * 0x9E3779B97F4A7C15u >> 32) & (size - 1);
}

static inline const struct string_item *string_batch_item(const struct string_batch *b,
                                                          uint32_t code) {
  return (const struct string_item *) b->items.p + code;
}

// The code under which `key` is known in this batch, or -1.
static inline int64_t string_batch_find(const struct string_batch *b, const struct string_table *t,
                                        uintptr_t key) {
  if (b->plain) return -1;
  const struct string_entry *entries = (const struct string_entry *) t->entries.p;
  for (size_t i = string_hash(key, t->size);; i = (i + 1) & (t->size - 1)) {
    if (entries[i].batch != t->batch) return -1;
    if (entries[i].key == key) return entries[i].code;
  }
}

// Adds one more string equal to the item of that code.
static inline void string_batch_repeat(struct string_batch *b, uint32_t code) {
  const int32_t len = string_batch_item(b, code)->len;
  ((uint32_t *) b->codes.p)[b->n++] = code;
  b->stream_len += 8 + (len > 0 ? (size_t) len : 0);
}

#endif
