#include "r_walk.h"

#include <R.h>
#include <R_ext/Altrep.h>
#include <Rversion.h>
#include <limits.h>
#include <string.h>

#include "r_altrep.h"
#include "r_attrib.h"
#include "r_carrier.h"
#include "r_chars.h"
#include "r_depth.h"
#include "r_env.h"
#include "r_lazy.h"
#include "r_prefetch.h"
#include "r_progress.h"
#include "r_refs.h"
#include "r_stream.h"

// One traversal, five uses. The functions marked INLINE take the mode as a constant and are
// compiled once for each, so that none pays for another's output.
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum mode {
  LOOK,    // is it plain?
  COUNT,   // the same, and how long is the stream?
  MEMORY,  // into memory of just that length
  BLOCKS,  // to a writer
  HASH     // to a hash; not quite the stream, see walk_hash()
};

enum {
  INTERRUPT_STRIDE = 1 << 20,  // bytes between two looks for an interrupt
  ITEM_COST = 1 << 4,          // what an item counts for beside its numbers and strings
  STRINGS_STRIDE = 1 << 14,    // strings from one look to the next
  PREFETCH = 12,               // so many strings ahead
  AHEAD = 16,                  // so many elements of a list
  PARTS = 8                    // of an element's own elements
};

// Words of the stream that stand for themselves. See R Internals, "Serialization Formats".
enum {
  WORD_SYMBOL = SYMSXP,
  WORD_ATTRIBUTE = LISTSXP | 1 << 10,
  WORD_ALTREP = 238,
  WORD_BASE_ENV = 241,
  WORD_EMPTY_ENV = 242,
  WORD_PACKAGE = 248,
  WORD_NAMESPACE = 249,
  WORD_BASE_NAMESPACE = 250,
  WORD_MISSING = 251,
  WORD_UNBOUND = 252,
  WORD_GLOBAL_ENV = 253,
  WORD_NIL = 254,
  WORD_REF = 255,
  REF_PACKED_MAX = (1 << 23) - 1
};

enum { FLAG_OBJECT = 1 << 8, FLAG_ATTRIBUTES = 1 << 9, FLAG_TAG = 1 << 10, FLAG_S4 = 1 << 16 };

struct walk {
  const struct subject *subject;
  bool foreign;                // met something that is not plain
  bool pointers;               // external pointers are plain
  uint64_t len;                // COUNT: of the stream so far
  unsigned char *at, *end;     // MEMORY: what is left of it
  struct writer *writer;       // BLOCKS
  struct directory *directory; // BLOCKS: of the list whose elements or attributes come next, or NULL
  uint64_t *payload_end;       // BLOCKS: to be told where the next strings end, or NULL
  struct hash *hash;           // HASH
  size_t since_interrupt;
  struct refs refs;
  struct chars_cache chars;
};

static void walk_open(struct walk *w, const struct subject *subject) {
  w->subject = subject;
  w->foreign = false;
  w->pointers = true;
  w->len = 0;
  w->at = w->end = NULL;
  w->writer = NULL;
  w->directory = NULL;
  w->payload_end = NULL;
  w->hash = NULL;
  w->since_interrupt = 0;
  w->chars.ready = false;
  refs_open(&w->refs);
}

static void tick(struct walk *w, size_t cost) {
  if ((w->since_interrupt += cost) < INTERRUPT_STRIDE) return;
  w->since_interrupt = 0;
  progress_look();
}

// ---- where the bytes go -------------------------------------------------------------------

// What is walked cannot change under way; should it, no byte is written past the end.
NORETURN static void throw_changed(const struct walk *w) {
  throw_reason("riffle_error_changed", "it changes while it is being serialized", w->subject);
}

static void check_writer(const struct walk *w, enum status st) {
  if (st != OK) throw_error(&w->writer->err, w->subject);
}

// Turns AGAIN into a look for an interrupt. False: done.
static bool again(const struct walk *w, enum status st) {
  if (st != AGAIN) {
    check_writer(w, st);
    return false;
  }
  progress_look();
  return true;
}

static void put_blocks_slow(struct walk *w, const void *p, size_t n) {
  while (again(w, writer_put(w->writer, &p, &n))) {}
}

// Mostly a word, and there is room: then no more than a store.
INLINE void put_blocks(struct walk *w, const void *p, size_t n) {
  struct writer *to = w->writer;
  if (n > (size_t) (to->end - to->at)) {
    put_blocks_slow(w, p, n);
    return;
  }
  if (n) memcpy(to->at, p, n);
  to->at += n;
}

static inline void put_memory(struct walk *w, const void *p, size_t n) {
  if (n > (size_t) (w->end - w->at)) throw_changed(w);
  if (n) memcpy(w->at, p, n);
  w->at += n;
}

INLINE void put(struct walk *w, const void *p, size_t n, enum mode mode) {
  if (mode == COUNT) w->len += n;
  if (mode == MEMORY) put_memory(w, p, n);
  if (mode == BLOCKS) put_blocks(w, p, n);
  if (mode == HASH) hash_put(w->hash, p, n);
}

INLINE void put_word(struct walk *w, uint32_t word, enum mode mode) { put(w, &word, 4, mode); }

// The same text in UTF-8 has the same hash, as it is identical().
static void hash_translated(struct walk *w, SEXP s) {
  const void *vmax = vmaxget();
  const char *text = Rf_translateCharUTF8(s);
  const uint32_t head[2] = {CHARS_UTF8, (uint32_t) strlen(text)};
  put(w, head, sizeof(head), HASH);
  put(w, text, head[1], HASH);
  vmaxset(vmax);
}

INLINE void put_string(struct walk *w, SEXP s, enum mode mode) {
  const struct string_item item = chars_item(s);
  if (mode == HASH && chars_may_translate(item.flags) && s != NA_STRING) {
    hash_translated(w, s);
    return;
  }
  put_word(w, item.flags, mode);
  put(w, &item.len, 4, mode);
  if (item.len > 0) put(w, item.chars, (size_t) item.len, mode);
}

// ---- numbers and strings to the writer ----------------------------------------------------

static enum number_type number_type_of(SEXPTYPE type) {
  return type == RAWSXP ? NUMBER_U8 : type == LGLSXP || type == INTSXP ? NUMBER_I32 : NUMBER_F64;
}

// A block at a time: one thread alone works inside the call, and would not hear an interrupt.
static void lend(struct walk *w, const void *p, size_t len, enum number_type type) {
  size_t left = len / number_size(type);
  while (left) {
    const size_t block = BLOCK_LEN / number_size(type);
    size_t n = left < block ? left : block;
    left -= n;
    while (again(w, writer_lend(w->writer, type, &p, &n))) {}
    tick(w, BLOCK_LEN);
  }
}

// Adds a string that the batch does not know. False: it is too long for one.
static bool add_string(struct walk *w, struct string_batch *b, SEXP s) {
  const struct string_item item = chars_item(s);
  if (item.len > BATCH_MAX_CHARS) return false;
  if (string_batch_add(b, &w->writer->table, (uintptr_t) s, item)) return true;
  throw_no_memory("filling a block", w->subject);
}

// Returns how many of the n strings it took: until the batch is full or one is too long.
static R_xlen_t fill_batch(struct walk *w, struct string_batch *b, const SEXP *p, R_xlen_t n) {
  R_xlen_t i = 0;
  for (; i < n && !string_batch_is_full(b); i++) {
    const int64_t code = string_batch_find(b, &w->writer->table, (uintptr_t) p[i]);
    if (code >= 0) {
      string_batch_repeat(b, (uint32_t) code);
      continue;
    }
    if (n - i > PREFETCH) prefetch(p[i + PREFETCH]);
    if (!add_string(w, b, p[i])) break;
  }
  return i;
}

static void batch_strings(struct walk *w, const SEXP *p, R_xlen_t n) {
  for (R_xlen_t i = 0; i < n;) {
    struct string_batch *b;
    while (again(w, writer_batch(w->writer, &b))) {}
    const size_t before = b->stream_len;
    i += fill_batch(w, b, p + i, n - i);
    tick(w, b->stream_len - before);
    if (i == n || string_batch_is_full(b)) continue;
    check_writer(w, writer_begin_bytes(w->writer));
    put_string(w, p[i++], BLOCKS);
  }
  check_writer(w, writer_begin_bytes(w->writer));
}

static void put_strings(struct walk *w, const SEXP *p, R_xlen_t n) {
  for (R_xlen_t i = 0; i < n; i++) {
    if (n - i > PREFETCH) prefetch(p[i + PREFETCH]);
    if (i && i % STRINGS_STRIDE == 0) tick(w, INTERRUPT_STRIDE / 4);
    const struct chars_entry *e = chars_cache_get(&w->chars, p[i]);
    if (e)
      put_blocks(w, e->bytes, e->len);
    else
      put_string(w, p[i], BLOCKS);
  }
}

// ---- numbers and strings to memory --------------------------------------------------------

static void copy_numbers(struct walk *w, const unsigned char *p, size_t len) {
  while (len) {
    const size_t n = len < INTERRUPT_STRIDE ? len : INTERRUPT_STRIDE;
    put_memory(w, p, n);
    p += n;
    len -= n;
    tick(w, n);
  }
}

static void copy_string(struct walk *w, SEXP s) {
  const struct chars_entry *e = chars_cache_get(&w->chars, s);
  if (e && w->end - w->at >= CHARS_CACHED) {
    memcpy(w->at, e->bytes, CHARS_CACHED);  // a fixed length is faster; what is too much goes
    w->at += e->len;
    return;
  }
  put_string(w, s, MEMORY);
}

static void copy_strings(struct walk *w, const SEXP *p, R_xlen_t n) {
  for (R_xlen_t i = 0; i < n; i++) {
    if (n - i > PREFETCH) prefetch(p[i + PREFETCH]);
    if (i % STRINGS_STRIDE == 0) tick(w, INTERRUPT_STRIDE / 4);
    copy_string(w, p[i]);
  }
}

// ---- numbers and strings to a hash --------------------------------------------------------

// ALTREP vectors are taken in pieces rather than expanded: x stays as it is.
enum { REGION = 1 << 9 };  // elements

static void hash_region(struct walk *w, SEXP x, R_xlen_t at, R_xlen_t n) {
  union {
    int i[REGION];
    double d[REGION];
    Rcomplex c[REGION];
    Rbyte b[REGION];
  } part;
  R_xlen_t got;
  size_t size = 4;
  switch (TYPEOF(x)) {
    case LGLSXP: got = LOGICAL_GET_REGION(x, at, n, part.i); break;
    case INTSXP: got = INTEGER_GET_REGION(x, at, n, part.i); break;
    case REALSXP: got = REAL_GET_REGION(x, at, n, part.d), size = 8; break;
    case CPLXSXP: got = COMPLEX_GET_REGION(x, at, n, part.c), size = 16; break;
    default: got = RAW_GET_REGION(x, at, n, part.b), size = 1;
  }
  if (got != n) throw_changed(w);
  put(w, &part, (size_t) n * size, HASH);
  tick(w, (size_t) n * size);
}

static void hash_numbers(struct walk *w, SEXP x, size_t len) {
  const unsigned char *p = DATAPTR_OR_NULL(x);
  if (!p) {
    const R_xlen_t n = XLENGTH(x);
    for (R_xlen_t i = 0; i < n; i += REGION) hash_region(w, x, i, n - i < REGION ? n - i : REGION);
    return;
  }
  while (len) {
    const size_t n = len < INTERRUPT_STRIDE ? len : INTERRUPT_STRIDE;
    put(w, p, n, HASH);
    p += n;
    len -= n;
    tick(w, n);
  }
}

INLINE void hash_string(struct walk *w, SEXP s) {
  const struct chars_entry *e = chars_cache_get(&w->chars, s);
  uint32_t flags;
  if (e) memcpy(&flags, e->bytes, 4);
  if (e && (!chars_may_translate(flags) || s == NA_STRING))
    put(w, e->bytes, e->len, HASH);
  else
    put_string(w, s, HASH);
}

// What ALTREP makes may be gone soon, and its address another's: nothing for the cache.
static void hash_fresh_string(struct walk *w, SEXP s) {
  PROTECT(s);
  put_string(w, s, HASH);
  UNPROTECT(1);
}

// Asked for one by one, numbers that are to be strings would keep them: so a copy is asked.
static SEXP copy_of_deferred(SEXP x) {
  SEXP info = PROTECT(Rf_list3(altrep_class(x), altrep_package(x), Rf_ScalarInteger(STRSXP)));
  SEXP copy = altrep_restore(info, R_altrep_data1(x));
  UNPROTECT(1);
  return copy ? copy : x;
}

static void hash_coded(struct walk *w, SEXP data, R_xlen_t n) {
  const SEXP *distinct = STRING_PTR_RO(VECTOR_ELT(data, 0));
  const int *codes = INTEGER_RO(VECTOR_ELT(data, 1));
  PROTECT(data);
  for (R_xlen_t i = 0; i < n; i++) {
    if (i && i % STRINGS_STRIDE == 0) tick(w, INTERRUPT_STRIDE / 4);
    hash_string(w, distinct[codes[i]]);
  }
  UNPROTECT(1);
}

static void hash_strings(struct walk *w, SEXP x, R_xlen_t n) {
  SEXP coded = lazy_codes(x);
  if (coded) {
    hash_coded(w, coded, n);
    return;
  }
  const SEXP *p = DATAPTR_OR_NULL(x);
  SEXP from = p ? x : ALTREP(x) && altrep_form(x) == ALTREP_DATA1 ? copy_of_deferred(x) : x;
  PROTECT(from);
  for (R_xlen_t i = 0; i < n; i++) {
    if (p && n - i > PREFETCH) prefetch(p[i + PREFETCH]);
    if (i && i % STRINGS_STRIDE == 0) tick(w, INTERRUPT_STRIDE / 4);
    if (p)
      hash_string(w, p[i]);
    else
      hash_fresh_string(w, STRING_ELT(from, i));
  }
  UNPROTECT(1);
}

// What a wrapper of an ALTREP vector, or one that knows something, wraps.
static SEXP unwrap(SEXP x) {
  while (ALTREP(x) && altrep_form(x) == ALTREP_WRAPPER) x = R_altrep_data1(x);
  return x;
}

// ---- numbers and strings in any mode ------------------------------------------------------

static void count_strings(struct walk *w, const SEXP *p, R_xlen_t n) {
  uint64_t len = 0;
  for (R_xlen_t i = 0; i < n; i++) {
    if (n - i > PREFETCH) prefetch(p[i + PREFETCH]);
    if (i % STRINGS_STRIDE == 0) tick(w, INTERRUPT_STRIDE / 8);
    len += chars_cache_len(&w->chars, p[i]);
  }
  w->len += len;
}

INLINE void strings(struct walk *w, SEXP x, R_xlen_t n, enum mode mode) {
  if (mode == LOOK || n == 0) return;
  if (!w->chars.ready) chars_cache_clear(&w->chars);
  if (mode == HASH) {
    hash_strings(w, unwrap(x), n);
    return;
  }
  const SEXP *p = STRING_PTR_RO(x);
  if (mode == COUNT) count_strings(w, p, n);
  if (mode == MEMORY) copy_strings(w, p, n);
  if (mode != BLOCKS) return;
  if (n >= STRINGS_MIN && writer_takes_strings(w->writer))
    batch_strings(w, p, n);
  else
    put_strings(w, p, n);
  if (w->payload_end) *w->payload_end = writer_position(w->writer);
  w->payload_end = NULL;
}

INLINE void numbers(struct walk *w, SEXP x, size_t len, enum mode mode) {
  if (mode == COUNT) w->len += len;
  if (mode == LOOK || mode == COUNT || len == 0) return;
  if (mode == HASH) {
    hash_numbers(w, unwrap(x), len);
    return;
  }
  const void *p = DATAPTR_RO(x);
  if (mode == MEMORY) copy_numbers(w, p, len);
  if (mode == BLOCKS && len >= NUMBERS_MIN_LEN) lend(w, p, len, number_type_of(TYPEOF(x)));
  if (mode == BLOCKS && len < NUMBERS_MIN_LEN) put_blocks(w, p, len);
}

// ---- nearer -------------------------------------------------------------------------------

// A list's elements are brought near in three steps, while those before them are walked: an
// element's header, then what hangs on it, then what hangs on that.

// What hangs on x, whose header is near already.
static void prefetch_parts(SEXP x) {
  attrib_prefetch(x);
  if (TYPEOF(x) != VECSXP || ALTREP(x)) return;
  const R_xlen_t n = XLENGTH(x);
  const SEXP *p = DATAPTR_RO(x);
  for (R_xlen_t i = 0; i < n && i < PARTS; i++) prefetch(p[i]);
}

// What hangs on the parts of x, which are near already.
static void prefetch_parts_of_parts(SEXP x) {
  attrib_prefetch_value(x);
  if (TYPEOF(x) != VECSXP || ALTREP(x)) return;
  const R_xlen_t n = XLENGTH(x);
  const SEXP *p = DATAPTR_RO(x);
  for (R_xlen_t i = 0; i < n && i < PARTS; i++) prefetch_parts(p[i]);
}

// ---- the traversal ------------------------------------------------------------------------

static void look_item(struct walk *w, SEXP x);
static void count_item(struct walk *w, SEXP x);
static void memory_item(struct walk *w, SEXP x);
static void blocks_item(struct walk *w, SEXP x);
static void hash_item(struct walk *w, SEXP x);

// A whole item, by the copy of any_item() for the mode.
INLINE void item(struct walk *w, SEXP x, enum mode mode) {
  switch (mode) {
    case LOOK: look_item(w, x); return;
    case COUNT: count_item(w, x); return;
    case MEMORY: memory_item(w, x); return;
    case BLOCKS: blocks_item(w, x); return;
    case HASH: hash_item(w, x); return;
  }
}

// The traversal ends. What goes to memory has been counted, so that cannot happen there.
INLINE void foreign(struct walk *w, enum mode mode) {
  if (mode == MEMORY) throw_changed(w);
  w->foreign = true;
}

INLINE uint32_t flags_of(SEXP x, uint32_t type, bool attributes) {
  return type | (Rf_isObject(x) ? FLAG_OBJECT : 0) | (attributes ? FLAG_ATTRIBUTES : 0) |
         (Rf_isS4(x) ? FLAG_S4 : 0);
}

// True: x has been written before, and this wrote its number. Else it has one now.
INLINE bool reference(struct walk *w, SEXP x, enum mode mode) {
  const uint32_t number = refs_find(&w->refs, x);
  if (number == 0) {
    refs_add(&w->refs, x);
    return false;
  }
  if (number <= REF_PACKED_MAX) {
    put_word(w, number << 8 | WORD_REF, mode);
  } else {
    put_word(w, WORD_REF, mode);
    put_word(w, number, mode);
  }
  return true;
}

INLINE void symbol(struct walk *w, SEXP x, enum mode mode) {
  if (mode == LOOK) return;
  if (x == R_MissingArg || x == R_UnboundValue) {
    put_word(w, x == R_MissingArg ? WORD_MISSING : WORD_UNBOUND, mode);
    return;
  }
  if (reference(w, x, mode)) return;
  put_word(w, WORD_SYMBOL, mode);
  put_string(w, PRINTNAME(x), mode);
}

// ---- the directory of the top level -------------------------------------------------------

enum {
  DIRECTORY_MAX = 1 << 16,       // elements and symbols; more are not worth their room
  DIRECTORY_CLASS_LEN = 1 << 10, // bytes of an element's class that are told
  DIRECTORY_TRIAL = 1 << 6,      // elements after which it is seen whether they are
  DIRECTORY_MEAN = 1 << 8        // large enough on the average, in bytes of stream, to be found alone
};

// Whether an attribute goes by the element, so that who takes some of these has to cut it as well.
struct beside {
  R_xlen_t n;
  bool found;
};

static void look_beside(void *data, SEXP tag, SEXP value) {
  struct beside *b = data;
  const bool by_element = b->n > 1 && Rf_xlength(value) == b->n;
  b->found |= tag == R_NamesSymbol || tag == R_DimSymbol || tag == R_TspSymbol ||
              (by_element && tag != R_ClassSymbol && tag != R_LevelsSymbol);
}

static bool is_in_one_stretch(SEXP x) {
  switch (TYPEOF(x)) {
    case LGLSXP:
    case INTSXP:
    case REALSXP:
    case CPLXSXP:
    case RAWSXP:
    case STRSXP: break;
    default: return false;
  }
  if ((ALTREP(x) && altrep_form(x) != ALTREP_ORDINARY) || Rf_isS4(x)) return false;
  struct beside beside = {.n = XLENGTH(x)};
  if (attrib_any(x)) attrib_each(x, look_beside, &beside);
  return !beside.found;
}

static uint32_t class_number(struct walk *w, struct directory *d, SEXP x) {
  if (!Rf_isObject(x)) return 0;
  SEXP names = PROTECT(Rf_getAttrib(x, R_ClassSymbol));
  char joined[DIRECTORY_CLASS_LEN];
  size_t len = 0;
  for (R_xlen_t i = 0; TYPEOF(names) == STRSXP && i < XLENGTH(names); i++) {
    const char *name = R_CHAR(STRING_ELT(names, i));
    const size_t n = strlen(name) + 1;
    if (n > sizeof(joined) - len) break;
    memcpy(joined + len, name, n);
    len += n;
  }
  UNPROTECT(1);
  uint32_t number;
  if (len == 0) return 0;
  if (!directory_class(d, joined, len - 1, &number)) throw_no_memory("writing the index", w->subject);
  return number;
}

static uint32_t first_word(SEXP x) {
  const bool compact = ALTREP(x) && altrep_form(x) != ALTREP_ORDINARY;
  return compact ? flags_of(x, WORD_ALTREP, false) : flags_of(x, TYPEOF(x), attrib_any(x));
}

// An item of the top level, noted in the directory. Nothing below it is.
static void noted_item(struct walk *w, SEXP x, struct directory *d, uint32_t tag) {
  struct part p = {.type = (uint8_t) TYPEOF(x),
                   .length = (uint64_t) Rf_xlength(x),
                   .at = writer_position(w->writer),
                   .n_refs = w->refs.n,
                   .tag = tag,
                   .class = class_number(w, d, x)};
  const bool one = is_in_one_stretch(x);
  uint64_t end = 0;
  w->payload_end = one && TYPEOF(x) == STRSXP ? &end : NULL;
  blocks_item(w, x);
  w->payload_end = NULL;
  if (one && TYPEOF(x) != STRSXP) p.payload_len = part_element_len(p.type) * p.length;
  if (end) p.payload_len = end - part_payload_at(&p);
  p.flags = first_word(x);
  if (!directory_add(d, &p, tag != 0)) throw_no_memory("writing the index", w->subject);
}

// Then the index would not repay its room, and the directory is given up.
static bool are_small(struct walk *w, R_xlen_t n) {
  if (writer_position(w->writer) / DIRECTORY_MEAN >= (uint64_t) n) return false;
  directory_close(&w->writer->index.directory);
  return true;
}

// The directory is that of this list, not of those in it.
static struct directory *take_directory(struct walk *w) {
  struct directory *d = w->directory;
  w->directory = NULL;
  return d;
}

// ---- the traversal, on --------------------------------------------------------------------

INLINE void attribute(struct walk *w, SEXP tag, SEXP value, enum mode mode) {
  put_word(w, WORD_ATTRIBUTE, mode);
  symbol(w, tag, mode);
  item(w, value, mode);
}

static void look_attribute(void *w, SEXP tag, SEXP value) { attribute(w, tag, value, LOOK); }
static void count_attribute(void *w, SEXP tag, SEXP value) { attribute(w, tag, value, COUNT); }
static void memory_attribute(void *w, SEXP tag, SEXP value) { attribute(w, tag, value, MEMORY); }
static void blocks_attribute(void *w, SEXP tag, SEXP value) { attribute(w, tag, value, BLOCKS); }
static void noted_attribute(void *data, SEXP tag, SEXP value) {
  struct walk *w = data;
  struct directory *d = take_directory(w);
  put_word(w, WORD_ATTRIBUTE, BLOCKS);
  symbol(w, tag, BLOCKS);
  noted_item(w, value, d, refs_find(&w->refs, tag));
  w->directory = d;
}
static void hash_attribute(void *w, SEXP tag, SEXP value) { attribute(w, tag, value, HASH); }

INLINE void attributes(struct walk *w, SEXP x, enum mode mode) {
  depth_check(w->subject);
  switch (mode) {
    case LOOK: attrib_each(x, look_attribute, w); break;
    case COUNT: attrib_each(x, count_attribute, w); break;
    case MEMORY: attrib_each(x, memory_attribute, w); break;
    case BLOCKS: attrib_each(x, w->directory ? noted_attribute : blocks_attribute, w); break;
    case HASH: attrib_each(x, hash_attribute, w); break;
  }
  put_word(w, WORD_NIL, mode);
}

static void hash_environment(struct walk *w, SEXP x);

INLINE void environment(struct walk *w, SEXP x, enum mode mode) {
  if (x == R_GlobalEnv)
    put_word(w, WORD_GLOBAL_ENV, mode);
  else if (x == R_BaseEnv)
    put_word(w, WORD_BASE_ENV, mode);
  else if (x == R_EmptyEnv)
    put_word(w, WORD_EMPTY_ENV, mode);
  else if (x == R_BaseNamespace)
    put_word(w, WORD_BASE_NAMESPACE, mode);
  else if (mode == HASH)
    hash_environment(w, x);
  else
    foreign(w, mode);
}

// The level bits of a cell other than S4's: those of arguments and of frames, never of data.
static bool has_levels(SEXP cell) {
#if R_VERSION < R_Version(4, 5, 0)
  return (LEVELS(cell) & ~(FLAG_S4 >> 12)) != 0;
#else
  (void) cell;
  return false;
#endif
}

// R's hash tables keep any object as a tag.
static bool is_odd_tag(SEXP tag) { return tag != R_NilValue && TYPEOF(tag) != SYMSXP; }

INLINE void cell(struct walk *w, SEXP x, enum mode mode) {
  const bool has_attributes = attrib_any(x);
  const SEXP tag = TAG(x);
  if (mode != HASH && is_odd_tag(tag)) {
    foreign(w, mode);
    return;
  }
  if (mode != MEMORY && mode != HASH && has_levels(x)) w->foreign = true;
  put_word(w, flags_of(x, LISTSXP, has_attributes) | (tag != R_NilValue ? FLAG_TAG : 0), mode);
  if (has_attributes) attributes(w, x, mode);
  if (tag != R_NilValue) item(w, tag, mode);
  item(w, CAR(x), mode);
}

// The cells one after the other, then the NULL that ends them.
INLINE void pairlist(struct walk *w, SEXP x, enum mode mode) {
  depth_check(w->subject);
  for (; TYPEOF(x) == LISTSXP && !w->foreign; x = CDR(x)) {
    tick(w, ITEM_COST);
    cell(w, x, mode);
  }
  if (w->foreign) return;
  if (x != R_NilValue)
    foreign(w, mode);
  else
    put_word(w, WORD_NIL, mode);
}

INLINE void list(struct walk *w, SEXP x, R_xlen_t n, enum mode mode) {
  depth_check(w->subject);
  if (n == 0) return;
  if (mode == HASH && !DATAPTR_OR_NULL(x)) {
    foreign(w, mode);  // an ALTREP class that makes its elements when asked
    return;
  }
  const SEXP *p = mode == HASH ? DATAPTR_OR_NULL(x) : DATAPTR_RO(x);
  struct directory *noted = mode == BLOCKS ? take_directory(w) : NULL;
  for (R_xlen_t i = 0; i < n && i < AHEAD; i++) prefetch(p[i]);
  for (R_xlen_t i = 0; i < n && !w->foreign; i++) {
    if (n - i > AHEAD) prefetch(p[i + AHEAD]);
    if (n - i > AHEAD / 2) prefetch_parts(p[i + AHEAD / 2]);
    if (n - i > AHEAD / 4) prefetch_parts_of_parts(p[i + AHEAD / 4]);
    if (noted && i % DIRECTORY_TRIAL == DIRECTORY_TRIAL - 1 && are_small(w, i)) noted = NULL;
    if (noted)
      noted_item(w, p[i], noted, 0);
    else
      item(w, p[i], mode);
  }
  if (noted) w->directory = noted;
}

INLINE void pointer(struct walk *w, SEXP x, enum mode mode) {
  if (!w->pointers) {
    foreign(w, mode);
    return;
  }
  depth_check(w->subject);
  if (reference(w, x, mode)) return;
  const bool has_attributes = attrib_any(x);
  put_word(w, flags_of(x, EXTPTRSXP, has_attributes), mode);
  item(w, R_ExternalPtrProtected(x), mode);
  item(w, R_ExternalPtrTag(x), mode);
  if (has_attributes) attributes(w, x, mode);
}

INLINE void s4(struct walk *w, SEXP x, enum mode mode) {
  const bool has_attributes = attrib_any(x);
  depth_check(w->subject);
  put_word(w, flags_of(x, S4SXP, has_attributes), mode);
  if (has_attributes) attributes(w, x, mode);
}

INLINE void put_length(struct walk *w, R_xlen_t n, enum mode mode) {
  if (n <= INT_MAX) {
    put_word(w, (uint32_t) n, mode);
    return;
  }
  put_word(w, UINT32_MAX, mode);
  put_word(w, (uint32_t) ((uint64_t) n >> 32), mode);
  put_word(w, (uint32_t) n, mode);
}

INLINE void vector(struct walk *w, SEXP x, SEXPTYPE type, enum mode mode) {
  const bool has_attributes = attrib_any(x);
  const R_xlen_t n = XLENGTH(x);
  put_word(w, flags_of(x, type, has_attributes), mode);
  put_length(w, n, mode);
  switch (type) {
    case STRSXP: strings(w, x, n, mode); break;
    case VECSXP:
    case EXPRSXP: list(w, mode == HASH ? unwrap(x) : x, n, mode); break;
    case REALSXP: numbers(w, x, (size_t) n * 8, mode); break;
    case CPLXSXP: numbers(w, x, (size_t) n * 16, mode); break;
    case RAWSXP: numbers(w, x, (size_t) n, mode); break;
    default: numbers(w, x, (size_t) n * 4, mode); break;  // integer, logical
  }
  if (has_attributes) attributes(w, x, mode);
}

// A wrapper's state is a pair of its two parts. A deferred string's is a pair already: a list cell
// that ends in a vector, which is found nowhere else.
INLINE void altrep_state(struct walk *w, SEXP x, enum altrep_form form, enum mode mode) {
  SEXP state = R_altrep_data1(x);
  const bool is_pair = TYPEOF(state) == LISTSXP;
  if (form == ALTREP_WRAPPER || is_pair) put_word(w, LISTSXP, mode);
  item(w, is_pair ? CAR(state) : state, mode);
  if (form == ALTREP_WRAPPER) item(w, R_altrep_data2(x), mode);
  if (is_pair) item(w, CDR(state), mode);
}

// The class, the state and, unlike other items, always the attributes.
INLINE void altrep(struct walk *w, SEXP x, enum altrep_form form, enum mode mode) {
  const uint32_t type[3] = {INTSXP, 1, TYPEOF(x)};
  depth_check(w->subject);
  put_word(w, flags_of(x, WORD_ALTREP, false), mode);
  put_word(w, LISTSXP, mode);
  symbol(w, altrep_class(x), mode);
  put_word(w, LISTSXP, mode);
  symbol(w, altrep_package(x), mode);
  put_word(w, LISTSXP, mode);
  put(w, type, sizeof(type), mode);
  put_word(w, WORD_NIL, mode);
  altrep_state(w, x, form, mode);
  attributes(w, x, mode);
}

// ---- code and environments, which only the hash walks --------------------------------------

// Where code was written does not count, as it does not for identical().
static bool is_srcref(SEXP tag) {
  const char *name = R_CHAR(PRINTNAME(tag));
  return strcmp(name, "srcref") == 0 || strcmp(name, "srcfile") == 0 ||
         strcmp(name, "wholeSrcref") == 0;
}

static void note_attribute(void *any, SEXP tag, SEXP value) {
  (void) value;
  if (!is_srcref(tag)) *(bool *) any = true;
}

static void code_attribute(void *w, SEXP tag, SEXP value) {
  if (!is_srcref(tag)) attribute(w, tag, value, HASH);
}

// Flags and attributes of a call or a function.
static void hash_code_head(struct walk *w, SEXP x, SEXPTYPE type, bool has_tag) {
  bool any = false;
  attrib_each(x, note_attribute, &any);
  put_word(w, flags_of(x, type, any) | (has_tag ? FLAG_TAG : 0), HASH);
  if (!any) return;
  attrib_each(x, code_attribute, w);
  put_word(w, WORD_NIL, HASH);
}

// Of the call that makes a function, the fourth part is its source reference, or NULL.
static bool has_srcref_part(SEXP x) {
  return TYPEOF(CAR(x)) == SYMSXP && strcmp(R_CHAR(PRINTNAME(CAR(x))), "function") == 0 &&
         Rf_length(x) == 4;
}

static void hash_call(struct walk *w, SEXP x) {
  depth_check(w->subject);
  hash_code_head(w, x, LANGSXP, TAG(x) != R_NilValue);
  if (TAG(x) != R_NilValue) hash_item(w, TAG(x));
  hash_item(w, CAR(x));
  if (!has_srcref_part(x)) {
    hash_item(w, CDR(x));
    return;
  }
  cell(w, CDR(x), HASH);
  cell(w, CDDR(x), HASH);
  put_word(w, LISTSXP, HASH);
  put_word(w, WORD_NIL, HASH);
  put_word(w, WORD_NIL, HASH);
}

static void hash_closure(struct walk *w, SEXP x) {
  depth_check(w->subject);
  hash_code_head(w, x, CLOSXP, true);
  hash_item(w, closure_env(x));
  hash_item(w, closure_formals(x));
  SEXP body = PROTECT(closure_body(x));
  hash_item(w, body);
  UNPROTECT(1);
}

static void hash_code(struct walk *w, SEXP x, SEXPTYPE type) {
  switch (type) {
    case LANGSXP: hash_call(w, x); break;
    case CLOSXP: hash_closure(w, x); break;
    case BCODESXP: hash_item(w, R_BytecodeExpr(x)); break;
    case BUILTINSXP:
    case SPECIALSXP: stream_hash(x, w->hash); break;  // R alone knows its name
    default: foreign(w, HASH);
  }
}

static void hash_names(struct walk *w, uint32_t type, SEXP names) {
  const uint32_t head[3] = {type, 0, (uint32_t) XLENGTH(names)};
  put(w, head, sizeof(head), HASH);
  for (R_xlen_t i = 0; i < XLENGTH(names); i++) put_string(w, STRING_ELT(names, i), HASH);
}

static void hash_binding(struct walk *w, SEXP env, SEXP name) {
  const struct binding b = env_binding(env, name);
  if (b.kind == BINDING_ODD) {
    foreign(w, HASH);
    return;
  }
  PROTECT(b.value);
  put_word(w, (uint32_t) b.kind | (b.locked ? FLAG_OBJECT : 0), HASH);
  symbol(w, name, HASH);
  hash_item(w, b.value);
  if (b.kind == BINDING_DELAYED) hash_item(w, b.env);
  UNPROTECT(1);
}

// R writes its hash table as it lies in memory. Here the bindings come in the order of their names.
static void hash_bindings(struct walk *w, SEXP x) {
  R_xlen_t n;
  const SEXP *symbols = env_symbols(x, &n);
  const uint32_t head[2] = {ENVSXP, R_EnvironmentIsLocked(x)};
  put(w, head, sizeof(head), HASH);
  hash_item(w, env_parent(x));
  put_word(w, (uint32_t) n, HASH);
  for (R_xlen_t i = 0; i < n && !w->foreign; i++) hash_binding(w, x, symbols[i]);
  attributes(w, x, HASH);
}

static void hash_environment(struct walk *w, SEXP x) {
  depth_check(w->subject);
  if (reference(w, x, HASH)) return;
  if (R_IsPackageEnv(x)) {
    SEXP name = PROTECT(R_PackageEnvName(x));
    hash_names(w, WORD_PACKAGE, name);
    UNPROTECT(1);
  } else if (R_IsNamespaceEnv(x)) {
    SEXP spec = PROTECT(R_NamespaceEnvSpec(x));
    hash_names(w, WORD_NAMESPACE, spec);
    UNPROTECT(1);
  } else {
    hash_bindings(w, x);
  }
}

// ---- any item -----------------------------------------------------------------------------

INLINE void any_item(struct walk *w, SEXP x, enum mode mode) {
  if (w->foreign) return;
  const SEXPTYPE type = TYPEOF(x);
  const enum altrep_form form = mode != HASH && ALTREP(x) ? altrep_form(x) : ALTREP_ORDINARY;
  tick(w, ITEM_COST);
  if (form == ALTREP_FOREIGN) {
    foreign(w, mode);
    return;
  }
  if (form != ALTREP_ORDINARY) {
    altrep(w, x, form, mode);
    return;
  }
  switch (type) {
    case NILSXP: put_word(w, WORD_NIL, mode); break;
    case SYMSXP: symbol(w, x, mode); break;
    case ENVSXP: environment(w, x, mode); break;
    case LISTSXP: pairlist(w, x, mode); break;
    case EXTPTRSXP: pointer(w, x, mode); break;
    case S4SXP: s4(w, x, mode); break;
    case CHARSXP: put_string(w, x, mode); break;
    case LGLSXP:
    case INTSXP:
    case REALSXP:
    case CPLXSXP:
    case STRSXP:
    case VECSXP:
    case EXPRSXP:
    case RAWSXP: vector(w, x, type, mode); break;
    default:
      if (mode == HASH)
        hash_code(w, x, type);
      else
        foreign(w, mode);
  }
}

static void look_item(struct walk *w, SEXP x) { any_item(w, x, LOOK); }
static void count_item(struct walk *w, SEXP x) { any_item(w, x, COUNT); }
static void memory_item(struct walk *w, SEXP x) { any_item(w, x, MEMORY); }
static void blocks_item(struct walk *w, SEXP x) { any_item(w, x, BLOCKS); }
static void hash_item(struct walk *w, SEXP x) { any_item(w, x, HASH); }

// ---- what r_walk.h declares ---------------------------------------------------------------

bool walk_look(SEXP x, bool pointers, const struct subject *subject) {
  struct walk w;
  walk_open(&w, subject);
  w.pointers = pointers;
  look_item(&w, x);
  return !w.foreign;
}

double walk_size(SEXP x, const struct header *h, const struct subject *subject) {
  struct walk w;
  walk_open(&w, subject);
  put(&w, h->bytes, h->len, COUNT);
  count_item(&w, x);
  return w.foreign ? -1 : (double) w.len;
}

void walk_to_memory(SEXP x, const struct header *h, unsigned char *out, size_t len,
                    const struct subject *subject) {
  struct walk w;
  walk_open(&w, subject);
  w.at = out;
  w.end = out + len;
  put(&w, h->bytes, h->len, MEMORY);
  memory_item(&w, x);
  if (w.at != w.end) throw_changed(&w);
}

// Of a list that is not too long; the writer keeps it if it comes with an index.
static void begin_directory(struct walk *w, SEXP x) {
  if (TYPEOF(x) != VECSXP || (ALTREP(x) && altrep_form(x) != ALTREP_ORDINARY)) return;
  if (XLENGTH(x) > DIRECTORY_MAX) return;
  w->directory = &w->writer->index.directory;
  w->directory->flags = first_word(x);
}

static void add_symbol(struct walk *w, SEXP x) {
  struct item_list *symbols = &w->writer->index.directory.symbols;
  const bool is_symbol = TYPEOF(x) == SYMSXP;
  const struct string_item name = is_symbol ? chars_item(PRINTNAME(x)) : (struct string_item){0};
  if (!item_list_add(symbols, name.flags, name.chars, name.len > 0 ? (size_t) name.len : 0))
    throw_no_memory("writing the index", w->subject);
}

// Whoever reads a part alone needs the names that came before it.
static void end_directory(struct walk *w) {
  if (!w->directory || w->refs.n > DIRECTORY_MAX) return;
  const void *vmax = vmaxget();
  const SEXP *numbered = refs_numbered(&w->refs);
  for (uint32_t i = 0; i < w->refs.n; i++) add_symbol(w, numbered[i]);
  vmaxset(vmax);
  w->directory->known = true;
}

bool walk_save(SEXP x, bool pointers, const struct header *h, struct writer *writer,
               const struct subject *subject) {
  struct walk w;
  walk_open(&w, subject);
  w.pointers = pointers;
  w.writer = writer;
  put(&w, h->bytes, h->len, BLOCKS);
  begin_directory(&w, x);
  blocks_item(&w, x);
  if (!w.foreign) end_directory(&w);
  return !w.foreign;
}

bool walk_hash(SEXP x, struct hash *hash, const struct subject *subject) {
  struct walk w;
  walk_open(&w, subject);
  w.hash = hash;
  hash_item(&w, x);
  return !w.foreign;
}
