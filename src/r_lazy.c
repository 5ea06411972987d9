#include "r_lazy.h"

#include <R.h>
#include <Rinternals.h>
#include <R_ext/Altrep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "r_args.h"
#include "r_build.h"
#include "r_calls.h"
#include "r_ffi.h"
#include "r_handle.h"

static struct {
  R_altrep_class_t lgl, int_, dbl, cplx, raw, str;
} classes;

// ---- where the elements are ---------------------------------------------------------------

struct place {
  struct handle *handle;  // held
  struct payload payload;
  unsigned n_threads;
};

static void place_free(SEXP pointer) {
  struct place *p = R_ExternalPtrAddr(pointer);
  R_ClearExternalPtr(pointer);
  if (p) handle_release(p->handle);
  free(p);
}

// Its tag, once it is known, is what the vector is called: "column 'income'".
static SEXP place_pointer(struct handle *h, const struct payload *payload, unsigned n_threads) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, place_free, FALSE);
  struct place *p = malloc(sizeof(struct place));
  if (!p) {
    const struct subject subject = handle_subject(h);
    throw_no_memory("reading", &subject);
  }
  *p = (struct place){.handle = h, .payload = *payload, .n_threads = n_threads};
  handle_hold(h);
  R_SetExternalPtrAddr(pointer, p);
  UNPROTECT(1);
  return pointer;
}

// ---- reading them -------------------------------------------------------------------------

struct fetch {
  struct place place;  // a copy, which holds the file for itself: R code may run, and read it too
  SEXP name;
  bool coded;
  struct source source;
  struct plan plan;
  struct reader reader;
};

static struct subject subject_of(const struct fetch *f) {
  const char *name = TYPEOF(f->name) == STRSXP ? Rf_translateChar(STRING_ELT(f->name, 0)) : NULL;
  const size_t len = name ? strlen(name) + sizeof("read  of") : 0;
  char *doing = name ? R_alloc(len, 1) : "read";
  if (name) snprintf(doing, len, "read %s of", name);
  return (struct subject){.doing = doing, .path = f->place.handle->path};
}

static SEXP fetch_body(void *data) {
  struct fetch *f = data;
  struct contents *contents = &f->place.handle->contents;
  const struct payload *p = &f->place.payload;
  const struct subject subject = subject_of(f);
  const struct reader_opts opts = {.n_threads = f->place.n_threads, .build = true};
  if (!plan_add(&f->plan, &contents->index, (struct span){p->at, p->end}))
    throw_no_memory("reading", &subject);
  if (parts_open(&f->reader, &f->source, contents, &f->plan, &opts))
    throw_error(&f->reader.err, &subject);
  return build_payload(&f->reader, &subject, &contents->index, p, f->coded);
}

static void fetch_cleanup(void *data) {
  struct fetch *f = data;
  parts_close(&f->reader, &f->place.handle->contents);
  plan_close(&f->plan);
  handle_release(f->place.handle);
  calls_end();
}

static SEXP fetch(SEXP pointer, bool coded) {
  const struct place *p = R_ExternalPtrAddr(pointer);
  if (!p) Rf_error("internal error: a lazy vector has no file");
  struct fetch f = {.place = *p, .name = R_ExternalPtrTag(pointer), .coded = coded};
  f.source = source_lend(&p->handle->source);
  const void *vmax = vmaxget();
  handle_hold(p->handle);
  calls_begin();
  SEXP value = R_ExecWithCleanup(fetch_body, &f, fetch_cleanup, &f);
  vmaxset(vmax);
  return value;
}

// A list of distinct strings, codes, and how many strings were asked for so far, is a string vector's
// alone.
static bool is_coded(SEXP data) { return TYPEOF(data) == VECSXP; }
static SEXP distinct_of(SEXP data) { return VECTOR_ELT(data, 0); }
static SEXP codes_of(SEXP data) { return VECTOR_ELT(data, 1); }
static double *asked_of(SEXP data) { return REAL(VECTOR_ELT(data, 2)); }

static SEXP with_count(SEXP coded) {
  SEXP data = PROTECT(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(data, 0, distinct_of(coded));
  SET_VECTOR_ELT(data, 1, codes_of(coded));
  SET_VECTOR_ELT(data, 2, Rf_ScalarReal(0));
  UNPROTECT(1);
  return data;
}

// What is in data2 now. Where R code read it meanwhile that stays: pointers into it may be out.
static SEXP read_elements(SEXP x, bool coded) {
  SEXP pointer = R_altrep_data1(x);
  SEXP value = PROTECT(fetch(pointer, coded));
  if (is_coded(value)) value = with_count(value);
  PROTECT(value);
  if (R_altrep_data2(x) == R_NilValue) {
    R_set_altrep_data2(x, value);
    place_free(pointer);
  }
  UNPROTECT(2);
  return R_altrep_data2(x);
}

// ---- any vector ---------------------------------------------------------------------------

static R_xlen_t lazy_length(SEXP x) {
  SEXP data = R_altrep_data2(x);
  if (data != R_NilValue) return XLENGTH(is_coded(data) ? codes_of(data) : data);
  const struct place *p = R_ExternalPtrAddr(R_altrep_data1(x));
  return p ? p->payload.n : 0;
}

static Rboolean lazy_inspect(SEXP x, int pre, int deep, int pvec,
                             void (*subtree)(SEXP, int, int, int)) {
  (void) pre, (void) deep, (void) pvec, (void) subtree;
  SEXP data = R_altrep_data2(x);
  const char *state = data == R_NilValue ? "not read" : is_coded(data) ? "as codes" : "read";
  Rprintf(" riffle: lazy, %s\n", state);
  return TRUE;
}

// ---- numbers ------------------------------------------------------------------------------

static inline SEXP numbers_in(SEXP x) {
  SEXP data = R_altrep_data2(x);
  return data == R_NilValue ? read_elements(x, false) : data;
}

static const void *numbers_at(SEXP data) {
  switch (TYPEOF(data)) {
    case LGLSXP: return LOGICAL_RO(data);
    case INTSXP: return INTEGER_RO(data);
    case REALSXP: return REAL_RO(data);
    case CPLXSXP: return COMPLEX_RO(data);
    default: return RAW_RO(data);
  }
}

static void *numbers_dataptr(SEXP x, Rboolean writable) {
  (void) writable;
  return (void *) numbers_at(numbers_in(x));
}

static const void *numbers_dataptr_or_null(SEXP x) {
  SEXP data = R_altrep_data2(x);
  return data == R_NilValue ? NULL : numbers_at(data);
}

static R_xlen_t copy_region(SEXP x, R_xlen_t at, R_xlen_t n, void *out, size_t size) {
  SEXP data = numbers_in(x);
  const R_xlen_t left = XLENGTH(data) - at;
  if (n > left) n = left;
  if (n > 0) memcpy(out, (const char *) numbers_at(data) + (size_t) at * size, (size_t) n * size);
  return n;
}

static R_altrep_class_t with_common(R_altrep_class_t c) {
  R_set_altrep_Length_method(c, lazy_length);
  R_set_altrep_Inspect_method(c, lazy_inspect);
  return c;
}

// R has a function of its own for each method of each type.
#define NUMBERS_CLASS(name, type, elements, r_name)                                          \
  static type name##_elt(SEXP x, R_xlen_t i) { return elements(numbers_in(x))[i]; }          \
  static R_xlen_t name##_region(SEXP x, R_xlen_t at, R_xlen_t n, type *out) {                \
    return copy_region(x, at, n, out, sizeof(type));                                         \
  }                                                                                          \
  static R_altrep_class_t name##_class(DllInfo *dll) {                                       \
    R_altrep_class_t c = R_make_alt##r_name##_class("riffle_" #name, "riffle", dll);         \
    R_set_altvec_Dataptr_method(c, numbers_dataptr);                                         \
    R_set_altvec_Dataptr_or_null_method(c, numbers_dataptr_or_null);                         \
    R_set_alt##r_name##_Elt_method(c, name##_elt);                                           \
    R_set_alt##r_name##_Get_region_method(c, name##_region);                                 \
    return with_common(c);                                                                   \
  }

NUMBERS_CLASS(lgl, int, LOGICAL_RO, logical)
NUMBERS_CLASS(int, int, INTEGER_RO, integer)
NUMBERS_CLASS(dbl, double, REAL_RO, real)
NUMBERS_CLASS(cplx, Rcomplex, COMPLEX_RO, complex)
NUMBERS_CLASS(raw, Rbyte, RAW_RO, raw)

// ---- strings ------------------------------------------------------------------------------

static SEXP side_by_side(SEXP data) {
  const SEXP *distinct = STRING_PTR_RO(distinct_of(data));
  const int *codes = INTEGER_RO(codes_of(data));
  const R_xlen_t n = XLENGTH(codes_of(data));
  SEXP x = PROTECT(Rf_allocVector(STRSXP, n));
  for (R_xlen_t i = 0; i < n; i++) SET_STRING_ELT(x, i, distinct[codes[i]]);
  UNPROTECT(1);
  return x;
}

// As a character vector.
static SEXP strings_in(SEXP x) {
  SEXP data = R_altrep_data2(x);
  if (data == R_NilValue) data = read_elements(x, false);
  if (!is_coded(data)) return data;
  SEXP strings = PROTECT(side_by_side(data));
  R_set_altrep_data2(x, strings);
  UNPROTECT(1);
  return strings;
}

SEXP lazy_codes(SEXP x) {
  if (!ALTREP(x) || !R_altrep_inherits(x, classes.str)) return NULL;
  SEXP data = R_altrep_data2(x);
  if (data == R_NilValue) data = read_elements(x, true);
  return is_coded(data) ? data : NULL;
}

static SEXP str_elt(SEXP x, R_xlen_t i) {
  SEXP data = R_altrep_data2(x);
  if (data == R_NilValue) data = read_elements(x, true);
  // Asked one by one a second time round they had better lie side by side.
  if (is_coded(data) && ++*asked_of(data) > (double) XLENGTH(codes_of(data))) data = strings_in(x);
  if (!is_coded(data)) return STRING_ELT(data, i);
  return STRING_ELT(distinct_of(data), INTEGER_RO(codes_of(data))[i]);
}

static void str_set_elt(SEXP x, R_xlen_t i, SEXP value) {
  PROTECT(value);
  SET_STRING_ELT(strings_in(x), i, value);
  UNPROTECT(1);
}

static void *str_dataptr(SEXP x, Rboolean writable) {
  (void) writable;
  return (void *) STRING_PTR_RO(strings_in(x));
}

static const void *str_dataptr_or_null(SEXP x) {
  SEXP data = R_altrep_data2(x);
  return data == R_NilValue || is_coded(data) ? NULL : STRING_PTR_RO(data);
}

static R_altrep_class_t str_class(DllInfo *dll) {
  R_altrep_class_t c = R_make_altstring_class("riffle_str", "riffle", dll);
  R_set_altvec_Dataptr_method(c, str_dataptr);
  R_set_altvec_Dataptr_or_null_method(c, str_dataptr_or_null);
  R_set_altstring_Elt_method(c, str_elt);
  R_set_altstring_Set_elt_method(c, str_set_elt);
  return with_common(c);
}

// ---- the classes --------------------------------------------------------------------------

void lazy_init(DllInfo *dll) {
  classes.lgl = lgl_class(dll);
  classes.int_ = int_class(dll);
  classes.dbl = dbl_class(dll);
  classes.cplx = cplx_class(dll);
  classes.raw = raw_class(dll);
  classes.str = str_class(dll);
}

static R_altrep_class_t class_of(SEXPTYPE type) {
  switch (type) {
    case LGLSXP: return classes.lgl;
    case INTSXP: return classes.int_;
    case REALSXP: return classes.dbl;
    case CPLXSXP: return classes.cplx;
    case RAWSXP: return classes.raw;
    default: return classes.str;
  }
}

// ---- what the vectors are called ----------------------------------------------------------

enum { NAME_MAX_LEN = 512 };

static SEXP element(SEXP list, R_xlen_t i) {
  return TYPEOF(list) == VECSXP || TYPEOF(list) == EXPRSXP ? VECTOR_ELT(list, i) : R_NilValue;
}

// By its name, or its number. Returns the length.
static size_t add_step(char *text, size_t len, SEXP list, R_xlen_t i) {
  SEXP names = PROTECT(Rf_getAttrib(list, R_NamesSymbol));
  SEXP name = TYPEOF(names) == STRSXP && i < XLENGTH(names) ? STRING_ELT(names, i) : R_BlankString;
  const bool named = *R_CHAR(name) && Rf_getCharCE(name) != CE_BYTES;
  const size_t room = NAME_MAX_LEN - len;
  const int n = named ? snprintf(text + len, room, "%s%s", len ? "$" : "",
                                 Rf_translateCharUTF8(name))
                      : snprintf(text + len, room, "[[%.0f]]", (double) i + 1);
  UNPROTECT(1);
  return n > 0 && (size_t) n < room ? len + (size_t) n : len;
}

// A name that is too long ends before the step for which there is no room.
static void set_name(SEXP pointer, SEXP object) {
  const struct payload *p = &((struct place *) R_ExternalPtrAddr(pointer))->payload;
  char text[NAME_MAX_LEN] = "", name[NAME_MAX_LEN + 16];
  size_t len = 0;
  bool in_frame = false;
  for (int i = 0; i < p->depth && object != R_NilValue; i++) {
    len = add_step(text, len, object, p->where[i]);
    in_frame = Rf_inherits(object, "data.frame");
    object = element(object, p->where[i]);
  }
  text[len] = '\0';
  if (!len) return;
  snprintf(name, sizeof(name), "%s '%s'", in_frame ? "column" : "element", text);
  SEXP chars = PROTECT(Rf_mkCharCE(name, CE_UTF8));
  R_SetExternalPtrTag(pointer, Rf_ScalarString(chars));
  UNPROTECT(1);
}

// ---- making them --------------------------------------------------------------------------

struct lazy_call {
  struct handle *handle;
  unsigned n_threads;
  bool data_only;
  SEXP made;  // a cell, protected, that the pointers' cells follow
  struct source source;
  struct reader reader;
};

static SEXP make_lazy(void *ctx, const struct payload *p) {
  struct lazy_call *c = ctx;
  SEXP pointer = PROTECT(place_pointer(c->handle, p, c->n_threads));
  SETCDR(c->made, Rf_cons(pointer, CDR(c->made)));
  SEXP x = R_new_altrep(class_of(p->type), pointer, R_NilValue);
  UNPROTECT(1);
  return x;
}

static SEXP lazy_body(void *data) {
  struct lazy_call *c = data;
  const struct subject subject = handle_subject(c->handle);
  const struct reader_opts opts = {.n_threads = c->n_threads, .build = true};
  struct contents *contents = &c->handle->contents;
  c->made = PROTECT(Rf_cons(R_NilValue, R_NilValue));
  if (parts_open_sparse(&c->reader, &c->source, contents, &opts))
    throw_error(&c->reader.err, &subject);
  SEXP x = build_deferred(&c->reader, &subject, &contents->index, c->data_only, make_lazy, c);
  PROTECT(x ? x : R_NilValue);
  for (SEXP cell = CDR(c->made); x && cell != R_NilValue; cell = CDR(cell)) set_name(CAR(cell), x);
  UNPROTECT(2);
  return x;
}

static void lazy_cleanup(void *data) {
  struct lazy_call *c = data;
  parts_close(&c->reader, &c->handle->contents);
  handle_release(c->handle);
  calls_end();
}

// What is not plain, or too long, is for a whole read, which tells what is wrong with it.
static bool can_be_lazy(const struct contents *c, uint64_t limit) {
  return c->header.plain && (!limit || c->end.stream_len <= limit);
}

SEXP ffi_lazy(SEXP file, SEXP nthreads, SEXP data_only, SEXP otherwise) {
  const char *path = arg_path(file, "file");
  struct lazy_call c = {.n_threads = arg_threads(nthreads),
                        .data_only = arg_flag(data_only, "data_only")};
  const uint64_t limit = option_max_bytes();
  c.handle = handle_try(path);
  if (!c.handle) return otherwise;
  if (!can_be_lazy(&c.handle->contents, limit)) {
    handle_release(c.handle);
    return otherwise;
  }
  c.source = source_lend(&c.handle->source);
  calls_begin();
  SEXP x = R_ExecWithCleanup(lazy_body, &c, lazy_cleanup, &c);
  return x ? x : otherwise;
}
