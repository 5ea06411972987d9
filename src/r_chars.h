// r_chars.h - a CHARSXP as its item in the stream, and a cache of those met lately.
//
// An item is i32 flags (the type and the encoding), i32 length (-1 for NA) and the characters.
// A string's address is its key: R keeps one CHARSXP per value, and what is being walked stays
// alive. So few distinct strings, however often repeated, are looked at once.
#ifndef RIFFLE_R_CHARS_H
#define RIFFLE_R_CHARS_H

#include <Rinternals.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter_strings.h"

// Flags of items whose text may have another form in UTF-8, and of that.
enum { CHARS_NATIVE = CHARSXP, CHARS_LATIN1 = CHARSXP | 1 << 14, CHARS_UTF8 = CHARSXP | 1 << 15 };
static inline bool chars_may_translate(uint32_t flags) {
  return flags == CHARS_NATIVE || flags == CHARS_LATIN1;
}

// The string's characters are lent, for as long as the CHARSXP lives.
struct string_item chars_item(SEXP s);

enum {
  CHARS_HEAD = 8,       // flags and length
  CHARS_CACHED = 48,    // the longest item kept in the cache, head included
  CHARS_CACHE_SIZE = 256
};

struct chars_entry {
  SEXP key;
  uint64_t len;  // of the item, head included
  unsigned char bytes[CHARS_CACHED];
};

// Either measured or filled from first to last, never both.
struct chars_cache {
  bool ready;  // the entries have been cleared
  struct chars_entry entries[CHARS_CACHE_SIZE];
};

void chars_cache_clear(struct chars_cache *c);
uint64_t chars_cache_measure(struct chars_entry *e, SEXP s);
bool chars_cache_fill(struct chars_entry *e, SEXP s);

static inline struct chars_entry *chars_cache_slot(struct chars_cache *c, SEXP s) {
  const uint64_t hash = ((uint64_t) (uintptr_t) s >> 3) * 0x9E3779B97F4A7C15u;
  return &c->entries[hash >> 56];
}

// The length of the item of s.
static inline uint64_t chars_cache_len(struct chars_cache *c, SEXP s) {
  struct chars_entry *e = chars_cache_slot(c, s);
  return e->key == s ? e->len : chars_cache_measure(e, s);
}

// The item of s, or NULL if it is longer than CHARS_CACHED.
static inline const struct chars_entry *chars_cache_get(struct chars_cache *c, SEXP s) {
  struct chars_entry *e = chars_cache_slot(c, s);
  return e->key == s || chars_cache_fill(e, s) ? e : NULL;
}

#endif
