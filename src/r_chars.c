#include "r_chars.h"

#include <string.h>

// In the flags of the item: bits 12 on are the string's own.
enum {
  ITEM_BYTES = CHARSXP | 1 << 13,
  ITEM_LATIN1 = CHARS_LATIN1,
  ITEM_UTF8 = CHARS_UTF8,
  ITEM_ASCII = CHARSXP | 1 << 18,
  ITEM_NATIVE = CHARS_NATIVE
};

static bool is_ascii(const char *p, size_t n) {
  uint64_t high = 0;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    high |= word;
  }
  for (; n > 0; p++, n--) high |= (unsigned char) *p;
  return (high & 0x8080808080808080u) == 0;
}

// Only strings that are not ASCII are marked with an encoding.
static uint32_t flags_of(SEXP s, const char *p, size_t n) {
  switch (Rf_getCharCE(s)) {
    case CE_UTF8: return ITEM_UTF8;
    case CE_LATIN1: return ITEM_LATIN1;
    case CE_BYTES: return ITEM_BYTES;
    default: return is_ascii(p, n) ? ITEM_ASCII : ITEM_NATIVE;
  }
}

struct string_item chars_item(SEXP s) {
  if (s == NA_STRING) return (struct string_item){.len = -1, .flags = ITEM_NATIVE};
  const char *p = R_CHAR(s);
  const int n = LENGTH(s);
  return (struct string_item){.chars = p, .len = n, .flags = flags_of(s, p, (size_t) n)};
}

void chars_cache_clear(struct chars_cache *c) {
  for (size_t i = 0; i < CHARS_CACHE_SIZE; i++) c->entries[i].key = NULL;
  c->ready = true;
}

uint64_t chars_cache_measure(struct chars_entry *e, SEXP s) {
  e->key = s;
  e->len = CHARS_HEAD + (s == NA_STRING ? 0 : (uint64_t) LENGTH(s));
  return e->len;
}

bool chars_cache_fill(struct chars_entry *e, SEXP s) {
  const struct string_item item = chars_item(s);
  const size_t n = item.len > 0 ? (size_t) item.len : 0;
  if (n > CHARS_CACHED - CHARS_HEAD) return false;
  memcpy(e->bytes, &item.flags, 4);
  memcpy(e->bytes + 4, &item.len, 4);
  if (n) memcpy(e->bytes + CHARS_HEAD, item.chars, n);
  e->key = s;
  e->len = CHARS_HEAD + n;
  return true;
}
