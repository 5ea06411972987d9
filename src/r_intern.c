#include "r_intern.h"

#include <R.h>

#include "r_header.h"
#include "r_item.h"
#include "r_prefetch.h"
#include "r_progress.h"
#include "r_stream.h"
#include "strings.h"

enum {
  NAMES_SIZE = 16,     // vectors of names that are remembered
  NAMES_HEAD = 24,     // bytes of stream that choose their place
  CACHE_SIZE = 512,
  CACHE_AFTER = 32,    // fewer strings do not repay the making of the cache
  CACHED_LEN = 16,     // the longest string in it
  ITEM_HEAD = 8,       // flags and length
  AHEAD = 32,          // strings of a block brought near before they are made
  INTERRUPT_STRIDE = 1 << 16
};

struct cached_chars {
  uint64_t low, high;  // the characters, and zeros
  uint32_t flags;
  int32_t len;
  SEXP chars;          // NULL: an empty entry
};

struct cached_names {
  size_t len;
  unsigned char bytes[NAMES_MAX_LEN];  // of the stream
  SEXP names;                      // NULL: an empty entry
};

// ---- unmarked strings ---------------------------------------------------------------------

enum { NAME_LEN_AT = 14, NAME_AT = 18 };  // in a stream's header

static bool is_session_encoding(const char *name) {
  struct header h;
  header_get(&h);
  const size_t len = strlen(name);
  uint32_t n;
  if (h.len < NAME_AT + len) return false;
  memcpy(&n, h.bytes + NAME_LEN_AT, 4);
  return n == len && memcmp(h.bytes + NAME_AT, name, len) == 0;
}

static bool must_convert(struct interner *c) {
  if (c->unmarked == NOT_ASKED)
    c->unmarked = !c->native[0] || is_session_encoding(c->native) ? AS_THEY_ARE : CONVERT;
  return c->unmarked == CONVERT;
}

// R converts it as it reads a stream of its own: one that holds nothing else.
static SEXP convert(const struct interner *c, const char *p, size_t len) {
  const size_t name = strlen(c->native);
  const uint32_t before[] = {3, 0x30500, 0x30500, (uint32_t) name};
  const uint32_t after[] = {STRSXP, 1, CHARSXP, (uint32_t) len};
  const void *vmax = vmaxget();
  unsigned char *stream = (unsigned char *) R_alloc(2 + sizeof(before) + name + sizeof(after) + len, 1);
  unsigned char *at = stream;
  memcpy(at, "B\n", 2);
  memcpy(at += 2, before, sizeof(before));
  memcpy(at += sizeof(before), c->native, name);
  memcpy(at += name, after, sizeof(after));
  memcpy(at += sizeof(after), p, len);
  SEXP chars = STRING_ELT(stream_from_memory(stream, (size_t) (at - stream) + len), 0);
  vmaxset(vmax);
  return chars;
}

// ---- one string ---------------------------------------------------------------------------

static void check_item(const struct interner *c, uint32_t flags, int32_t len) {
  if ((flags & 0xff) != CHARSXP || (flags & FLAG_ATTRIBUTES) || len < -1)
    input_corrupt(c->in, "a string in it is not one");
}

static SEXP make_chars(struct interner *c, uint32_t flags, const char *p, int32_t len) {
  check_item(c, flags, len);
  if (len == -1) return NA_STRING;
  if (len && memchr(p, 0, (size_t) len)) input_corrupt(c->in, "a string in it has an embedded NUL");
  const cetype_t encoding = flags & CHARS_UTF8     ? CE_UTF8
                            : flags & CHARS_LATIN1 ? CE_LATIN1
                            : flags & CHARS_BYTES  ? CE_BYTES
                                                   : CE_NATIVE;
  if (encoding == CE_NATIVE && !(flags & CHARS_ASCII) && must_convert(c))
    return convert(c, p, (size_t) len);
  return Rf_mkCharLenCE(p, len, encoding);
}

SEXP intern_item(struct interner *c, uint32_t flags, const void *chars, int32_t len) {
  return make_chars(c, flags, chars, len);
}

// Room for n bytes, the last one's until the next call.
static void *room(struct interner *c, size_t n) {
  SEXP bytes = VECTOR_ELT(c->keep, KEEP_BYTES);
  if (bytes == R_NilValue || (size_t) XLENGTH(bytes) < n) {
    bytes = Rf_allocVector(RAWSXP, (R_xlen_t) (n + n / 2));
    SET_VECTOR_ELT(c->keep, KEEP_BYTES, bytes);
  }
  return RAW(bytes);
}

static SEXP read_uncached(struct interner *c) {
  struct input *in = c->in;
  const uint32_t flags = input_word(in);
  const int32_t len = (int32_t) input_word(in);
  check_item(c, flags, len);
  if (len <= in->end - in->at) {
    const char *p = (const char *) in->at;
    if (len > 0) in->at += len;
    return make_chars(c, flags, p, len);
  }
  input_check_length(in, (uint64_t) len, 1);
  void *p = room(c, (size_t) len);
  input_bytes(in, p, (size_t) len);
  return make_chars(c, flags, p, len);
}

static void start_cache(struct interner *c) {
  SET_VECTOR_ELT(c->keep, KEEP_CACHED, Rf_allocVector(STRSXP, CACHE_SIZE));
  c->cache = (struct cached_chars *) R_alloc(CACHE_SIZE, sizeof(struct cached_chars));
  memset(c->cache, 0, CACHE_SIZE * sizeof(struct cached_chars));
}

static SEXP read_cached(struct interner *c, uint32_t flags, int32_t len) {
  static const uint64_t mask[9] = {0,
                                   0xff,
                                   0xffff,
                                   0xffffff,
                                   0xffffffff,
                                   0xffffffffff,
                                   0xffffffffffff,
                                   0xffffffffffffff,
                                   UINT64_MAX};
  uint64_t low, high;
  const unsigned char *p = c->in->at + ITEM_HEAD;
  memcpy(&low, p, 8);
  memcpy(&high, p + 8, 8);
  low &= mask[len < 8 ? len : 8];
  high &= mask[len < 8 ? 0 : len - 8];
  const uint64_t hash = (low ^ high * 3 ^ (uint64_t) len << 56 ^ flags) * 0x9E3779B97F4A7C15u;
  const size_t i = (size_t) (hash >> 55);
  struct cached_chars *e = &c->cache[i];
  c->in->at += ITEM_HEAD + len;
  if (e->chars && e->low == low && e->high == high && e->len == len && e->flags == flags)
    return e->chars;
  SEXP chars = make_chars(c, flags, (const char *) p, len);
  SET_STRING_ELT(VECTOR_ELT(c->keep, KEEP_CACHED), (R_xlen_t) i, chars);
  *e = (struct cached_chars){low, high, flags, len, chars};
  return chars;
}

SEXP intern_read(struct interner *c) {
  const struct input *in = c->in;
  if (c->cache && in->end - in->at >= ITEM_HEAD + CACHED_LEN) {
    const uint32_t flags = input_word_at(in, in->at);
    const int32_t len = (int32_t) input_word_at(in, in->at + 4);
    if (len >= 0 && len <= CACHED_LEN) return read_cached(c, flags, len);
  } else if (c->n_read++ == CACHE_AFTER) {
    start_cache(c);
  }
  return read_uncached(c);
}

// ---- a character vector -------------------------------------------------------------------

static void reserve_made(struct interner *c, size_t n) {
  if (n <= c->made_cap) return;
  c->made = (SEXP *) R_alloc(n, sizeof(SEXP));
  c->made_cap = n;
}

// Whether the items' characters lie one behind the other and none is NUL.
static bool are_clean(const struct string_array *a) {
  if (a->n == 0) return true;
  const char *at = a->items[0].chars;
  for (size_t i = 0; i < a->n; i++) {
    if (a->items[i].chars != at) return false;
    at += a->items[i].len > 0 ? a->items[i].len : 0;
  }
  return at == a->items[0].chars || !memchr(a->items[0].chars, 0, (size_t) (at - a->items[0].chars));
}

// A string is reachable from x before the next one is made. R waits for memory in each call, and
// the processor gets on to the next one only if there is little between them.
static void put_items(struct interner *c, SEXP x, R_xlen_t at, const struct string_array *a,
                      size_t from, size_t end) {
  const bool clean = are_clean(a);
  for (size_t i = from; i < end; i++) {
    const struct string_item *item = &a->items[i];
    if (i + AHEAD < a->n) prefetch_bytes(a->items[i + AHEAD].chars);  // another thread wrote them
    const bool simple = clean && item->flags == (CHARSXP | CHARS_ASCII) && item->len >= 0;
    SEXP chars = simple ? Rf_mkCharLenCE(item->chars, item->len, CE_NATIVE)
                        : make_chars(c, item->flags, item->chars, item->len);
    SET_STRING_ELT(x, at++, chars);
  }
}

static void put_codes(struct interner *c, SEXP x, R_xlen_t at, const struct string_array *a,
                      size_t from, size_t end) {
  if (a->n_items == 0) return;  // before a string that is too long for a block
  reserve_made(c, a->n_items);
  memset(c->made, 0, a->n_items * sizeof(SEXP));
  for (size_t i = from; i < end; i++) {
    SEXP *made = &c->made[a->codes[i]];
    if (!*made) {
      const struct string_item *item = &a->items[a->codes[i]];
      *made = make_chars(c, item->flags, item->chars, item->len);
    }
    SET_STRING_ELT(x, at++, *made);
  }
}

// Strings from..end - 1 of a block become elements of x from `at` on.
static void put_block(struct interner *c, SEXP x, R_xlen_t at, const struct string_array *a,
                      size_t from, size_t end) {
  if (a->codes)
    put_codes(c, x, at, a, from, end);
  else
    put_items(c, x, at, a, from, end);
  progress_look();
}

void intern_fill(struct interner *c, SEXP x) {
  const R_xlen_t n = XLENGTH(x);
  for (R_xlen_t i = 0; i < n;) {
    const struct string_array *block = NULL;
    if (c->in->at == c->in->end) block = input_strings(c->in, (size_t) (n - i));
    if (block) {
      put_block(c, x, i, block, 0, block->n);
      i += (R_xlen_t) block->n;
      continue;
    }
    SET_STRING_ELT(x, i++, intern_read(c));
    if (i % INTERRUPT_STRIDE == 0) progress_look();
  }
}

void intern_fill_range(struct interner *c, SEXP x, size_t before) {
  const R_xlen_t n = XLENGTH(x);
  for (R_xlen_t i = 0; i < n;) {
    const struct string_array *block = input_strings(c->in, SIZE_MAX);
    if (!block || before >= block->n) input_corrupt(c->in, "its strings are not where its index says");
    const size_t left = block->n - before, k = (size_t) (n - i) < left ? (size_t) (n - i) : left;
    put_block(c, x, i, block, before, before + k);
    i += (R_xlen_t) k;
    before = 0;
  }
}

// ---- a character vector by its distinct strings -------------------------------------------

enum {
  DISTINCT_MAX = 1 << 16,
  DISTINCT_SHARE = 4,  // at most one in so many
  DISTINCT_FIRST = 1 << 6
};

// R has one object for each string, so the address tells.
struct distinct {
  SEXP codes;     // protected by the owner, as is `strings`
  SEXP strings;   // n of them are there
  PROTECT_INDEX strings_index;
  int n, max;
  int *table;     // 1 + the code, or 0
  size_t size;    // a power of two
};

static void distinct_open(struct distinct *d, R_xlen_t n) {
  const R_xlen_t most = n / DISTINCT_SHARE;
  *d = (struct distinct){.max = most < DISTINCT_MAX ? (int) most : DISTINCT_MAX, .size = 16};
  while (d->size < 2 * (size_t) d->max) d->size *= 2;
  d->table = (int *) R_alloc(d->size, sizeof(int));
  memset(d->table, 0, d->size * sizeof(int));
  PROTECT(d->codes = Rf_allocVector(INTSXP, n));
  PROTECT_WITH_INDEX(d->strings = Rf_allocVector(STRSXP, DISTINCT_FIRST), &d->strings_index);
}

// The first `len` of them, at least, in a vector of that length.
static void distinct_resize(struct distinct *d, R_xlen_t len) {
  PROTECT(d->strings);
  SEXP strings = Rf_allocVector(STRSXP, len);
  for (int i = 0; i < d->n; i++) SET_STRING_ELT(strings, i, STRING_ELT(d->strings, i));
  UNPROTECT(1);
  REPROTECT(d->strings = strings, d->strings_index);
}

// The code of a string; -1: there are too many.
static int distinct_code(struct distinct *d, SEXP chars) {
  size_t i = string_hash((uintptr_t) chars, d->size);
  for (; d->table[i]; i = (i + 1) & (d->size - 1))
    if (STRING_ELT(d->strings, d->table[i] - 1) == chars) return d->table[i] - 1;
  if (d->n == d->max) return -1;
  PROTECT(chars);
  if (d->n == XLENGTH(d->strings)) distinct_resize(d, 2 * (R_xlen_t) d->n);
  SET_STRING_ELT(d->strings, d->n, chars);
  UNPROTECT(1);
  d->table[i] = ++d->n;
  return d->n - 1;
}

// False: there are too many distinct strings in or before the block.
static bool code_block(struct interner *c, struct distinct *d, R_xlen_t at,
                       const struct string_array *a) {
  const void *vmax = vmaxget();
  if (!a->codes) return false;
  int *codes = (int *) R_alloc(a->n_items, sizeof(int)), *out = INTEGER(d->codes) + at;
  for (size_t i = 0; i < a->n_items; i++) {
    const struct string_item *item = &a->items[i];
    codes[i] = distinct_code(d, make_chars(c, item->flags, item->chars, item->len));
    if (codes[i] < 0) return false;
  }
  for (size_t i = 0; i < a->n; i++) out[i] = codes[a->codes[i]];
  vmaxset(vmax);
  progress_look();
  return true;
}

// All n strings as a character vector: the first `at` have codes, `block` is next.
static SEXP uncoded(struct interner *c, const struct distinct *d, R_xlen_t at,
                    const struct string_array *block) {
  const R_xlen_t n = XLENGTH(d->codes);
  SEXP x = PROTECT(Rf_allocVector(STRSXP, n));
  for (R_xlen_t i = 0; i < at; i++)
    SET_STRING_ELT(x, i, STRING_ELT(d->strings, INTEGER_ELT(d->codes, i)));
  while (block) {
    put_block(c, x, at, block, 0, block->n);
    at += (R_xlen_t) block->n;
    block = at < n ? input_strings(c->in, (size_t) (n - at)) : NULL;
  }
  if (at < n) input_corrupt(c->in, "its strings are not where its index says");
  UNPROTECT(1);
  return x;
}

SEXP intern_coded(struct interner *c, R_xlen_t n) {
  struct distinct d;
  distinct_open(&d, n);
  for (R_xlen_t at = 0; at < n;) {
    const struct string_array *block = input_strings(c->in, (size_t) (n - at));
    if (!block) input_corrupt(c->in, "its strings are not where its index says");
    if (!code_block(c, &d, at, block)) {
      SEXP x = uncoded(c, &d, at, block);
      UNPROTECT(2);
      return x;
    }
    at += (R_xlen_t) block->n;
  }
  distinct_resize(&d, d.n);
  SEXP coded = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(coded, 0, d.strings);
  SET_VECTOR_ELT(coded, 1, d.codes);
  UNPROTECT(3);
  return coded;
}

// ---- names that many lists have in common -------------------------------------------------

static struct cached_names *names_place(struct interner *c, const unsigned char *at) {
  uint64_t word[NAMES_HEAD / 8];
  memcpy(word, at, NAMES_HEAD);
  const uint64_t hash = (word[0] ^ word[1] * 3 ^ word[2] * 5) * 0x9E3779B97F4A7C15u;
  return &c->names[hash >> 60];
}

SEXP intern_same_names(struct interner *c) {
  struct input *in = c->in;
  if (!c->names || in->end - in->at < NAMES_MAX_LEN) return NULL;
  const struct cached_names *e = names_place(c, in->at);
  if (!e->names || memcmp(e->bytes, in->at, e->len) != 0) return NULL;
  in->at += e->len;
  return e->names;
}

void intern_remember_names(struct interner *c, const unsigned char *at, SEXP names) {
  const ptrdiff_t len = c->in->at - at;
  if (len < NAMES_HEAD || len > NAMES_MAX_LEN) return;
  if (!c->names) {
    SET_VECTOR_ELT(c->keep, KEEP_NAMES, Rf_allocVector(VECSXP, NAMES_SIZE));
    c->names = (struct cached_names *) R_alloc(NAMES_SIZE, sizeof(struct cached_names));
    memset(c->names, 0, NAMES_SIZE * sizeof(struct cached_names));
  }
  struct cached_names *e = names_place(c, at);
  e->len = (size_t) len;
  memcpy(e->bytes, at, (size_t) len);
  e->names = names;
  SET_VECTOR_ELT(VECTOR_ELT(c->keep, KEEP_NAMES), e - c->names, names);
}
