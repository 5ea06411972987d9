// directory.h - what the top level of a stream holds and where, so that a part of it can be read
// alone.
//
// The walker fills one while it writes a list of plain data; the index keeps it (index.h).
#ifndef RIFFLE_DIRECTORY_H
#define RIFFLE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

enum {
  DIRECTORY_MAX_PARTS = 1 << 20,
  DIRECTORY_MAX_CLASSES = 64
};

// One element of the list, or the value of one of its attributes.
struct part {
  uint32_t flags;        // the first word of its item in the stream
  uint8_t type;          // R's type number; of a compact (ALTREP) vector that of the vector
  uint64_t length;       // elements
  uint64_t at;           // of the item in the stream
  uint64_t payload_len;  // bytes of stream of its elements, if these lie in one stretch behind the
                         // flags and the length (numbers and strings that are not compact); else 0
  uint32_t n_refs;       // references numbered before it
  uint32_t tag;          // of an attribute: its name's number as a symbol, counted from 1; else 0
  uint32_t class;        // in `classes`, counted from 1; 0: it has none
};

// Where the elements of a part with a payload begin: behind the flags and the length, which is
// three words for a long vector.
static inline uint64_t part_payload_at(const struct part *p) {
  return p->at + (p->length > INT32_MAX ? 16 : 8);
}

// Bytes of stream that an item of `type` has for each element, at least; 0: it has no payload.
unsigned part_element_len(uint8_t type);

// Items one behind the other: u32 flags | u32 length | characters, as in the stream and in its
// byte order, that is this machine's.
struct item_list {
  struct buffer bytes;
  size_t len;  // bytes used
  size_t n;
};

struct directory {
  bool known;                // false: nothing below means anything
  uint32_t flags;            // the first word of the list itself
  size_t n_elements, n_attributes;
  struct buffer parts;       // struct part: the elements, then the attributes, in stream order
  struct item_list symbols;  // by their numbers; length 0: a reference that is no symbol
  struct item_list classes;  // distinct; the names of one are separated by NUL
};

static inline struct part *directory_part(const struct directory *d, size_t i) {
  return (struct part *) d->parts.p + i;
}

// False, here and below: no memory.
bool directory_add(struct directory *d, const struct part *p, bool is_attribute);
bool item_list_add(struct item_list *l, uint32_t flags, const void *chars, size_t len);

struct item {
  uint32_t flags;
  uint32_t len;
  const unsigned char *chars;  // in the list
};
// The item at byte *at, from 0, which moves on to the next one. False: there is no whole one.
bool item_list_next(const struct item_list *l, size_t *at, struct item *item);

// The number of a class, counted from 1, in *number; 0 when there are more than
// DIRECTORY_MAX_CLASSES.
bool directory_class(struct directory *d, const void *names, size_t len, uint32_t *number);
// Safe on a zeroed one.
void directory_close(struct directory *d);

#endif
