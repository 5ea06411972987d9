#include <R.h>
#include <string.h>

#include "r_args.h"
#include "r_build.h"
#include "r_calls.h"
#include "r_ffi.h"
#include "r_handle.h"
#include "r_item.h"
#include "r_progress.h"

// ---- what R could not make of a directory ---------------------------------------------------

enum { SYMBOL_MAX_LEN = 10000 };  // R's own limit

static bool symbol_makes_sense(const struct item *name) {
  return name->len <= SYMBOL_MAX_LEN && !(name->flags & CHARS_BYTES) &&
         !(name->len && memchr(name->chars, 0, name->len));
}

// What names an attribute is a symbol, with a name that R can have.
static bool symbols_make_sense(const struct directory *d) {
  struct item name;
  size_t at = 0, n = 0;
  bool *named = (bool *) R_alloc(d->symbols.n + 1, sizeof(bool));
  while (item_list_next(&d->symbols, &at, &name)) {
    if (!symbol_makes_sense(&name)) return false;
    named[++n] = name.len > 0;
  }
  for (size_t i = d->n_elements; i < d->n_elements + d->n_attributes; i++)
    if (!named[directory_part(d, i)->tag]) return false;
  return true;
}

// ---- open and close -----------------------------------------------------------------------

SEXP ffi_part_open(SEXP file) {
  const bool is_raw = TYPEOF(file) == RAWSXP;
  const char *path = is_raw ? NULL : arg_path(file, "file");
  const struct subject subject = {.doing = "read", .path = path, .thing = "the raw vector"};
  SEXP pointer = PROTECT(handle_pointer(is_raw ? file : R_NilValue));
  struct handle *h = handle_open(path, file, &subject);
  if (h && !symbols_make_sense(&h->contents.index.directory)) {
    handle_release(h);
    throw_reason("riffle_error_corrupt", "its index is corrupt", &subject);
  }
  const bool has_parts = h && h->contents.index.directory.known;
  if (has_parts)
    R_SetExternalPtrAddr(pointer, h);
  else
    handle_release(h);
  UNPROTECT(1);
  return has_parts ? pointer : R_NilValue;
}

SEXP ffi_part_close(SEXP pointer) {
  if (TYPEOF(pointer) == EXTPTRSXP) handle_close(pointer);
  return R_NilValue;
}

// ---- what it holds ------------------------------------------------------------------------

// As typeof() names them; of other types than these none is plain.
static const char *type_name(unsigned type) {
  switch (type) {
    case NILSXP: return "NULL";
    case SYMSXP: return "symbol";
    case LISTSXP: return "pairlist";
    case ENVSXP: return "environment";
    case CHARSXP: return "char";
    case LGLSXP: return "logical";
    case INTSXP: return "integer";
    case REALSXP: return "double";
    case CPLXSXP: return "complex";
    case STRSXP: return "character";
    case VECSXP: return "list";
    case EXPRSXP: return "expression";
    case EXTPTRSXP: return "externalptr";
    case RAWSXP: return "raw";
    case S4SXP: return "S4";
    default: return "unknown";
  }
}

// Bytes of the file for the stream from `at` to `end`: of a block that holds more its share.
static double stored_len(const struct index *x, uint64_t at, uint64_t end) {
  double len = 0;
  for (size_t i = index_find(x, at); i < x->n_blocks; i++) {
    const struct index_block *b = index_block(x, i);
    const uint64_t block_end = b->stream_at + b->raw_len;
    if (b->stream_at >= end) break;
    if (b->raw_len == 0) continue;
    const uint64_t from = at > b->stream_at ? at : b->stream_at;
    const uint64_t to = end < block_end ? end : block_end;
    len += (double) (to - from) / b->raw_len * (b->stored_len + (double) BLOCK_HEADER_LEN);
  }
  return len;
}

// All of a list, R_alloc'ed.
static struct item *items_of(const struct item_list *l) {
  struct item *items = (struct item *) R_alloc(l->n, sizeof(struct item));
  size_t at = 0;
  for (size_t i = 0; i < l->n && item_list_next(l, &at, &items[i]); i++) {}
  return items;
}

// Names separated by NUL in the index are separated by "/" here.
static SEXP class_text(const struct item *classes, uint32_t number) {
  if (number == 0 || classes[number - 1].len == 0) return R_BlankString;
  const struct item names = classes[number - 1];
  char *text = R_alloc(names.len, 1);
  memcpy(text, names.chars, names.len);
  for (uint32_t i = 0; i < names.len; i++)
    if (!text[i]) text[i] = '/';
  return Rf_mkCharLen(text, (int) names.len);
}

static SEXP tag_text(const struct item *symbols, uint32_t number) {
  const struct item name = symbols[number - 1];
  return Rf_mkCharLenCE((const char *) name.chars, (int) name.len,
                        name.flags & CHARS_UTF8     ? CE_UTF8
                        : name.flags & CHARS_LATIN1 ? CE_LATIN1
                                                    : CE_NATIVE);
}

// Columns: type, class or the attribute's name, length, simple.
static SEXP about_parts(const struct index *x, size_t first, size_t n, bool attributes) {
  static const char *elements_names[] = {"type", "class", "length", "simple", ""};
  static const char *attributes_names[] = {"type", "name", "length", "simple", ""};
  SEXP about = PROTECT(Rf_mkNamed(VECSXP, attributes ? attributes_names : elements_names));
  static const SEXPTYPE types[] = {STRSXP, STRSXP, REALSXP, LGLSXP};
  const struct item *items = items_of(attributes ? &x->directory.symbols : &x->directory.classes);
  for (int k = 0; k < 4; k++) SET_VECTOR_ELT(about, k, Rf_allocVector(types[k], (R_xlen_t) n));
  for (size_t i = 0; i < n; i++) {
    const struct part *p = directory_part(&x->directory, first + i);
    const R_xlen_t at = (R_xlen_t) i;
    SET_STRING_ELT(VECTOR_ELT(about, 0), at, Rf_mkChar(type_name(p->type)));
    SET_STRING_ELT(VECTOR_ELT(about, 1), at,
                   attributes ? tag_text(items, p->tag) : class_text(items, p->class));
    REAL(VECTOR_ELT(about, 2))[at] = (double) p->length;
    LOGICAL(VECTOR_ELT(about, 3))[at] = p->payload_len > 0;
  }
  UNPROTECT(1);
  return about;
}

SEXP ffi_part_about(SEXP pointer) {
  static const char *names[] = {"n", "elements", "attributes", "meta", ""};
  const struct index *x = &handle_of(pointer)->contents.index;
  const size_t n = x->directory.n_elements;
  SEXP about = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(about, 0, Rf_ScalarReal((double) n));
  SET_VECTOR_ELT(about, 1, about_parts(x, 0, n, false));
  SET_VECTOR_ELT(about, 2, about_parts(x, n, x->directory.n_attributes, true));
  SET_VECTOR_ELT(about, 3, index_meta(x));
  UNPROTECT(1);
  return about;
}

// Bytes of the file for each element.
SEXP ffi_part_stored(SEXP pointer) {
  const struct index *x = &handle_of(pointer)->contents.index;
  const size_t n = x->directory.n_elements;
  SEXP stored = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t) n));
  for (size_t i = 0; i < n; i++)
    REAL(stored)[i] = stored_len(x, directory_part(&x->directory, i)->at, part_end(x, i));
  UNPROTECT(1);
  return stored;
}

// ---- reading ------------------------------------------------------------------------------

struct part_call {
  struct handle *handle;
  struct wish *wishes;  // R_alloc'ed
  size_t n;
  unsigned n_threads;
  bool data_only;
  struct subject subject;
  struct source source;
  struct plan plan;
  struct reader reader;
};

// Our own R code gives these: what is wrong with them is a mistake there.
NORETURN static void throw_bad_parts(const struct part_call *c) {
  throw_reason("riffle_error_argument", "the file has no such part", &c->subject);
}

static void take_wishes(struct part_call *c, SEXP which, SEXP from, SEXP n) {
  const struct directory *d = &c->handle->contents.index.directory;
  const bool ranged = from != R_NilValue;
  const double first = ranged ? Rf_asReal(from) : 1, len = ranged ? Rf_asReal(n) : 0;
  const size_t n_parts = d->n_elements + d->n_attributes;
  if (TYPEOF(which) != INTSXP || !(first >= 1) || !(len >= 0)) throw_bad_parts(c);
  c->n = (size_t) XLENGTH(which);
  c->wishes = (struct wish *) R_alloc(c->n, sizeof(struct wish));
  for (size_t i = 0; i < c->n; i++) {
    const int k = INTEGER_RO(which)[i];
    if (k < 1 || (size_t) k > n_parts || (i && (size_t) k - 1 <= c->wishes[i - 1].part))
      throw_bad_parts(c);
    const struct part *p = directory_part(d, (size_t) k - 1);
    const bool in_range = ranged && p->payload_len;
    if (in_range && first - 1 + len > (double) p->length) throw_bad_parts(c);
    c->wishes[i] = (struct wish){(size_t) k - 1, in_range, (uint64_t) (first - 1), (uint64_t) len};
  }
}

static struct part_call part_call(SEXP pointer) {
  struct part_call c = {.handle = handle_of(pointer)};
  c.subject = handle_subject(c.handle);
  c.source = source_lend(&c.handle->source);
  return c;
}

static void make_plan(struct part_call *c) {
  for (size_t i = 0; i < c->n; i++)
    if (!plan_add_wish(&c->plan, &c->handle->contents.index, &c->wishes[i]))
      throw_no_memory("reading", &c->subject);
}

static SEXP part_read_body(void *data) {
  struct part_call *c = data;
  const struct reader_opts opts = {
      .n_threads = c->n_threads, .build = true, .max_len = option_max_bytes()};
  make_plan(c);
  if (parts_open(&c->reader, &c->source, &c->handle->contents, &c->plan, &opts))
    throw_error(&c->reader.err, &c->subject);
  SEXP values = build_parts(&c->reader, &c->subject, &c->handle->contents.index, c->wishes, c->n,
                            c->data_only);
  return values ? values : R_NilValue;
}

static void part_cleanup(void *data) {
  struct part_call *c = data;
  parts_close(&c->reader, &c->handle->contents);
  plan_close(&c->plan);
  handle_release(c->handle);
  calls_end();
}

// R code may run meanwhile, and close the file: the call holds it for itself.
static SEXP run(struct part_call *c, SEXP (*body)(void *)) {
  handle_hold(c->handle);
  calls_begin();
  return R_ExecWithCleanup(body, c, part_cleanup, c);
}

SEXP ffi_part_read(SEXP pointer, SEXP which, SEXP from, SEXP n, SEXP nthreads, SEXP data_only) {
  struct part_call c = part_call(pointer);
  take_wishes(&c, which, from, n);
  c.n_threads = arg_threads(nthreads);
  c.data_only = arg_flag(data_only, "data_only");
  return run(&c, part_read_body);
}

static SEXP part_advise_body(void *data) {
  struct part_call *c = data;
  make_plan(c);
  plan_advise(&c->plan, &c->handle->contents.index, &c->source);
  return R_NilValue;
}

SEXP ffi_part_advise(SEXP pointer, SEXP which, SEXP from, SEXP n) {
  struct part_call c = part_call(pointer);
  take_wishes(&c, which, from, n);
  return run(&c, part_advise_body);
}

// ---- the whole ----------------------------------------------------------------------------

static SEXP part_whole_body(void *data) {
  struct part_call *c = data;
  const struct reader_opts opts = {
      .n_threads = c->n_threads, .build = true, .max_len = option_max_bytes()};
  enum status st = reader_open(&c->reader, &c->source, &opts);
  while (st == OK && (st = reader_start(&c->reader)) == AGAIN) {
    progress_look();
    st = OK;
  }
  if (st) throw_error(&c->reader.err, &c->subject);
  SEXP value = PROTECT(build_read(&c->reader, &c->subject, c->data_only ? BUILD_DATA : BUILD_PLAIN));
  while ((st = reader_finish(&c->reader)) == AGAIN) progress_look();
  if (st) throw_error(&c->reader.err, &c->subject);
  UNPROTECT(1);
  return value;
}

SEXP ffi_part_whole(SEXP pointer, SEXP nthreads, SEXP data_only) {
  struct part_call c = part_call(pointer);
  c.n_threads = arg_threads(nthreads);
  c.data_only = arg_flag(data_only, "data_only");
  return run(&c, part_whole_body);
}
