#include "r_carrier.h"

#include <R.h>
#include <Rversion.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "r_item.h"

// ---- streams of our own -------------------------------------------------------------------

enum { PERSIST_WORDS = 3 };  // a persistent reference: its type, 0, and the length of its name, 0

struct carrier {
  uint32_t head[2];   // the first words of the item, before its references
  size_t n_head;
  uint32_t cell;      // a word before each pair of references; 0: none
  size_t n_refs;
  SEXP refs;          // a list of what they stand for, from `first` on
  R_xlen_t first;
  size_t word;        // the next one of the stream
  size_t ref;         // the next one to restore
};

static const uint32_t header[] = {2, 0x20300, 0x20300};  // format, its writer, its first reader
enum { HEADER_WORDS = sizeof(header) / sizeof(header[0]) };

static uint32_t word_at(const struct carrier *c, size_t i) {
  static const uint32_t persist[PERSIST_WORDS] = {ITEM_PERSIST, 0, 0};
  if (i < HEADER_WORDS) return header[i];
  if ((i -= HEADER_WORDS) < c->n_head) return c->head[i];
  i -= c->n_head;
  const size_t before = c->cell ? 1 : 0;
  const size_t group = before + 2 * PERSIST_WORDS;
  if (i / group >= c->n_refs / 2) return ITEM_NIL;
  i %= group;
  return i < before ? c->cell : persist[(i - before) % PERSIST_WORDS];
}

static void carrier_bytes(R_inpstream_t stream, void *buf, int len) {
  struct carrier *c = (struct carrier *) stream->data;
  if (len == 2) {
    memcpy(buf, "B\n", 2);
    return;
  }
  const uint32_t word = word_at(c, c->word++);
  if (len != sizeof(word)) Rf_error("internal error: R's reader asked for %d bytes", len);
  memcpy(buf, &word, sizeof(word));
}

static int carrier_char(R_inpstream_t stream) {
  (void) stream;
  Rf_error("internal error: R's reader asked for a character");
}

static SEXP carrier_hook(SEXP name, SEXP data) {
  (void) name;
  struct carrier *c = (struct carrier *) (void *) data;
  return VECTOR_ELT(c->refs, c->first + (R_xlen_t) c->ref++);
}

static SEXP carrier_read(struct carrier *c) {
  struct R_inpstream_st in;
  // R passes the hook's data on and never looks at it.
  R_InitInPStream(&in, (R_pstream_data_t) c, R_pstream_binary_format, carrier_char, carrier_bytes,
                  carrier_hook, (SEXP) (void *) c);
  return R_Unserialize(&in);
}

// ---- attributes ---------------------------------------------------------------------------

enum {
  ATTRIBUTE_CELL = LISTSXP | FLAG_TAG,
  MOST_SIMPLE = 12  // setAttrib() walks along the list
};

static bool has_attributes(SEXP x) {
#if R_VERSION >= R_Version(4, 5, 0)
  return ANY_ATTRIB(x);
#else
  return ATTRIB(x) != R_NilValue;
#endif
}

static void restore_by_carrier(SEXP target, uint32_t flags, SEXP pairs, R_xlen_t first,
                               R_xlen_t n) {
  const uint32_t bits = flags & (FLAG_OBJECT | FLAG_S4);
  struct carrier c = {.head = {VECSXP | bits | (n ? FLAG_ATTRIBUTES : 0), 0},
                      .n_head = 2,
                      .cell = ATTRIBUTE_CELL,
                      .n_refs = 2 * (size_t) n,
                      .refs = pairs,
                      .first = first};
  PROTECT(target);
  SEXP carrier = PROTECT(carrier_read(&c));
  SHALLOW_DUPLICATE_ATTRIB(target, carrier);
  UNPROTECT(2);
}

static bool is_plain_vector(SEXP x) {
  switch (TYPEOF(x)) {
    case LGLSXP:
    case INTSXP:
    case REALSXP:
    case CPLXSXP:
    case STRSXP:
    case RAWSXP:
    case VECSXP:
    case EXPRSXP: return true;
    default: return false;
  }
}

// What is known of the attributes before the one that is looked at.
struct seen {
  bool class, dim, dimnames;
};

static bool is_simple_dim(SEXP target, SEXP value, const struct seen *seen) {
  if (TYPEOF(value) != INTSXP || XLENGTH(value) < 1 || XLENGTH(value) > 8 || seen->dimnames)
    return false;
  double product = 1;
  for (R_xlen_t i = 0; i < XLENGTH(value); i++) {
    const int extent = INTEGER_ELT(value, i);
    if (extent < 0) return false;
    product *= extent;
  }
  return product == (double) XLENGTH(target);
}

static bool is_simple_class(SEXP target, SEXP value) {
  if (TYPEOF(value) != STRSXP || XLENGTH(value) < 1) return false;
  if (TYPEOF(target) == INTSXP) return true;
  for (R_xlen_t i = 0; i < XLENGTH(value); i++)
    if (strcmp(R_CHAR(STRING_ELT(value, i)), "factor") == 0) return false;
  return true;
}

// c(NA, n), which says that the names are the numbers 1 to n, or strings.
static bool are_simple_row_names(SEXP value) {
  if (TYPEOF(value) == STRSXP) return true;
  return TYPEOF(value) == INTSXP && XLENGTH(value) == 2 && INTEGER_ELT(value, 0) == NA_INTEGER;
}

// Whether setAttrib() appends exactly this value under this tag.
static bool is_simple(SEXP target, SEXP tag, SEXP value, struct seen *seen) {
  if (value == R_NilValue) return false;
  if (tag == R_ClassSymbol) {
    seen->class = true;
    return is_simple_class(target, value);
  }
  if (tag == R_DimNamesSymbol || tag == R_TspSymbol ||
      strcmp(R_CHAR(PRINTNAME(tag)), "comment") == 0)
    return false;
  if (tag != R_NamesSymbol && tag != R_DimSymbol && tag != R_RowNamesSymbol) return true;
  if (!is_plain_vector(target) || has_attributes(value)) return false;
  if (tag == R_NamesSymbol)
    return TYPEOF(value) == STRSXP && XLENGTH(value) == XLENGTH(target) && !seen->dim;
  if (tag == R_RowNamesSymbol) return are_simple_row_names(value);
  seen->dim = true;
  return is_simple_dim(target, value, seen);
}

static bool is_repeated(SEXP pairs, R_xlen_t first, R_xlen_t i, SEXP tag) {
  for (R_xlen_t j = 0; j < i; j++)
    if (VECTOR_ELT(pairs, first + 2 * j) == tag) return true;
  return false;
}

static bool are_simple(SEXP target, uint32_t flags, SEXP pairs, R_xlen_t first, R_xlen_t n) {
  if (n > MOST_SIMPLE || TYPEOF(target) == LISTSXP) return false;
  const bool is_instance = TYPEOF(target) == S4SXP;  // made as an S4 object
  if (is_instance != ((flags & FLAG_S4) != 0)) return false;
  struct seen seen = {0};
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP tag = VECTOR_ELT(pairs, first + 2 * i);
    if (is_repeated(pairs, first, i, tag) ||
        !is_simple(target, tag, VECTOR_ELT(pairs, first + 2 * i + 1), &seen))
      return false;
  }
  return (seen.class || Rf_isObject(target)) == ((flags & FLAG_OBJECT) != 0);
}

// A value that something else refers to would be searched for `target`, or copied later.
static void set_simple(SEXP target, SEXP pairs, R_xlen_t at) {
  SEXP value = PROTECT(VECTOR_ELT(pairs, at + 1));
  SET_VECTOR_ELT(pairs, at + 1, R_NilValue);
  Rf_setAttrib(target, VECTOR_ELT(pairs, at), value);
  UNPROTECT(1);
}

void attributes_restore(SEXP target, uint32_t flags, SEXP pairs, R_xlen_t first, R_xlen_t n) {
  if (!are_simple(target, flags, pairs, first, n)) {
    restore_by_carrier(target, flags, pairs, first, n);
    return;
  }
  PROTECT(target);
  for (R_xlen_t i = 0; i < n; i++) set_simple(target, pairs, first + 2 * i);
  UNPROTECT(1);
}

// ---- ALTREP -------------------------------------------------------------------------------

static bool is_vector(SEXP x) {
  return Rf_isVectorAtomic(x) || TYPEOF(x) == VECSXP || TYPEOF(x) == EXPRSXP;
}

static bool dim_fits(SEXP dim, R_xlen_t n) {
  if (TYPEOF(dim) != INTSXP || XLENGTH(dim) == 0) return false;
  double product = 1;
  for (R_xlen_t i = 0; i < XLENGTH(dim); i++) {
    if (INTEGER_ELT(dim, i) < 0) return false;  // NA is the least integer
    product *= INTEGER_ELT(dim, i);
  }
  return product == (double) n;
}

static bool dimnames_fit(SEXP dimnames, SEXP dim) {
  if (TYPEOF(dimnames) != VECSXP || TYPEOF(dim) != INTSXP || XLENGTH(dimnames) != XLENGTH(dim))
    return false;
  for (R_xlen_t i = 0; i < XLENGTH(dim); i++) {
    SEXP names = VECTOR_ELT(dimnames, i);
    if (names != R_NilValue && (!is_vector(names) || XLENGTH(names) != INTEGER_ELT(dim, i)))
      return false;
  }
  return true;
}

bool attributes_fit(SEXP x) {
  SEXP dim = Rf_getAttrib(x, R_DimSymbol), dimnames = Rf_getAttrib(x, R_DimNamesSymbol);
  SEXP tsp = Rf_getAttrib(x, R_TspSymbol), class = Rf_getAttrib(x, R_ClassSymbol);
  const R_xlen_t n = Rf_xlength(x);
  if (dim != R_NilValue && !dim_fits(dim, n)) return false;
  if (dimnames != R_NilValue && !dimnames_fit(dimnames, dim)) return false;
  if (tsp != R_NilValue && (TYPEOF(tsp) != REALSXP || XLENGTH(tsp) != 3)) return false;
  if (class != R_NilValue && TYPEOF(class) != STRSXP) return false;
  if (!is_vector(x) || dimnames != R_NilValue) return true;
  SEXP names = Rf_getAttrib(x, R_NamesSymbol);
  return names == R_NilValue || (TYPEOF(names) == STRSXP && XLENGTH(names) <= n);
}

static bool is_whole(double v) { return v == (double) (int64_t) v; }

// Length, first value and step of 1:n and the like.
static bool is_sequence(SEXP state, bool of_integers) {
  if (TYPEOF(state) != REALSXP || XLENGTH(state) != 3) return false;
  const double n = REAL_ELT(state, 0), first = REAL_ELT(state, 1), step = REAL_ELT(state, 2);
  if (!(n >= 1 && n <= R_XLEN_T_MAX && is_whole(n)) || !(step == 1 || step == -1)) return false;
  const double last = first + step * (n - 1);
  const double limit = of_integers ? INT_MAX : R_XLEN_T_MAX;
  if (!(first >= -limit && first <= limit && last >= -limit && last <= limit)) return false;
  return !of_integers || is_whole(first);
}

// A cell whose tail is a vector of whole numbers: what a wrapper and a deferred string write.
static bool is_cell(SEXP state, R_xlen_t n) {
  return TYPEOF(state) == LISTSXP && TYPEOF(CDR(state)) == INTSXP && XLENGTH(CDR(state)) == n;
}

static bool is_known(const char *class, int type, SEXP state) {
  static const struct {
    const char *class;
    int type;
  } wrappers[] = {{"wrap_integer", INTSXP}, {"wrap_real", REALSXP}, {"wrap_string", STRSXP},
                  {"wrap_logical", LGLSXP}, {"wrap_complex", CPLXSXP}, {"wrap_raw", RAWSXP},
                  {"wrap_list", VECSXP}};
  if (strcmp(class, "compact_intseq") == 0) return type == INTSXP && is_sequence(state, true);
  if (strcmp(class, "compact_realseq") == 0) return type == REALSXP && is_sequence(state, false);
  if (strcmp(class, "deferred_string") == 0)
    return type == STRSXP && is_cell(state, 1) &&
           (TYPEOF(CAR(state)) == INTSXP || TYPEOF(CAR(state)) == REALSXP);
  for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
    if (strcmp(class, wrappers[i].class) == 0)
      return type == wrappers[i].type && is_cell(state, 2) && TYPEOF(CAR(state)) == type;
  return false;
}

// The class's name, its package's name, the type of its vectors.
static bool is_info(SEXP info) {
  if (TYPEOF(info) != LISTSXP || TYPEOF(CDR(info)) != LISTSXP || TYPEOF(CDDR(info)) != LISTSXP)
    return false;
  SEXP type = CADDR(info);
  return TYPEOF(CAR(info)) == SYMSXP && TYPEOF(CADR(info)) == SYMSXP && TYPEOF(type) == INTSXP &&
         XLENGTH(type) == 1 && strcmp(R_CHAR(PRINTNAME(CADR(info))), "base") == 0;
}

SEXP altrep_restore(SEXP info, SEXP state) {
  if (!is_info(info) ||
      !is_known(R_CHAR(PRINTNAME(CAR(info))), INTEGER_ELT(CADDR(info), 0), state))
    return NULL;
  SEXP refs = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(refs, 0, info);
  SET_VECTOR_ELT(refs, 1, state);
  struct carrier c = {.head = {ITEM_ALTREP}, .n_head = 1, .n_refs = 2, .refs = refs};
  SEXP x = carrier_read(&c);
  UNPROTECT(1);
  return x;
}
