// scan.h - where the bytes of a stream belong: the tree of its items, down to a depth.
//
// The stream is that of R's serializer in native byte order, whole and in memory. Nothing of it is
// made into an object, so no promise is forced, no binding called, and a cycle is the reference
// that the stream has for it. Every byte of an item is its node's; what the children of a node do
// not take is the node's own (flags, lengths, the data of a vector).
#ifndef RIFFLE_SCAN_H
#define RIFFLE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

// What a node is to its parent. R/sizes.R has their names in this order.
enum scan_kind {
  SCAN_ROOT,
  SCAN_ELEMENT,
  SCAN_ATTRIBUTE,
  SCAN_SLOT,
  SCAN_SRCREF,       // an attribute that holds source references
  SCAN_ENVIRONMENT,  // of a closure or a promise
  SCAN_ENCLOSURE,    // of an environment
  SCAN_BINDING,
  SCAN_ACTIVE,  // a binding that calls a function: the function
  SCAN_FORMALS,
  SCAN_BODY,
  SCAN_VALUE,       // of a promise
  SCAN_EXPRESSION,  // of a promise, or what byte code was compiled from
  SCAN_PROTECTED,   // by an external pointer
  SCAN_TAG          // of an external pointer
};

// Bytes of an item that are in the outermost things of a sort. An environment that belongs to
// source references is not counted.
struct scan_tally {
  uint64_t environments, bytecode, srcrefs;
};

#define SCAN_NO_NODE UINT32_MAX

struct scan_node {
  uint64_t len;       // bytes, flags and all
  uint64_t name_at;   // offset of the name, a CHARSXP item, or 0
  uint64_t class_at;  // offset of the class, a STRSXP item, or 0
  struct scan_tally in;
  uint32_t parent;  // a lower number, or SCAN_NO_NODE
  uint32_t target;  // type 255: the node of what is referred to, or SCAN_NO_NODE
  uint32_t index;   // among the elements, from 0
  uint8_t kind;     // enum scan_kind
  uint8_t level;    // the root's is 0
  uint8_t type;     // as in the stream: R's SEXPTYPE, or 238 and above
};

struct scan_ref;

struct scan {
  const unsigned char *base, *at, *end;
  struct scan_node *nodes;  // owned; the root first, children after their parent, in stream order
  size_t n_nodes, nodes_cap;
  struct scan_ref *refs;  // owned
  size_t n_refs, refs_cap;
  unsigned max_level;
  unsigned nested;
  struct error err;
};

// Scans the one item in the `n` bytes that follow a stream's header. Nodes are made for the root
// (level 0) and `depth` levels below, 255 at most. The bytes stay the caller's and must outlive the
// scan. ERR_CORRUPT: not a stream, or nested deeper than R's own recursion could have written.
enum status scan_run(struct scan *s, const unsigned char *bytes, size_t n, unsigned depth);

// A CHARSXP item at an offset that a node gave: its flags and characters. NULL: NA.
const char *scan_chars(const struct scan *s, uint64_t at, uint32_t *flags, size_t *len);

// The offset of the next CHARSXP item.
uint64_t scan_chars_end(const struct scan *s, uint64_t at);

// How many strings the STRSXP item at that offset has; *first is the offset of the first.
uint64_t scan_strings(const struct scan *s, uint64_t at, uint64_t *first);

void scan_close(struct scan *s);

#endif
