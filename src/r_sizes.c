#include <R.h>
#include <string.h>

#include "r_calls.h"
#include "r_ffi.h"
#include "r_error.h"
#include "scan.h"

struct sizes_call {
  SEXP bytes;
  size_t header_len;
  unsigned depth;
  struct scan scan;
};

static const struct subject measured = {.doing = "measure", .thing = "the object"};

static cetype_t encoding_of(uint32_t flags) {
  if (flags & 1 << 15) return CE_UTF8;
  if (flags & 1 << 14) return CE_LATIN1;
  return flags & 1 << 13 ? CE_BYTES : CE_NATIVE;
}

static SEXP string_at(const struct scan *s, uint64_t at) {
  if (!at) return NA_STRING;
  uint32_t flags;
  size_t len;
  const char *p = scan_chars(s, at, &flags, &len);
  return p ? Rf_mkCharLenCE(p, (int) len, encoding_of(flags)) : NA_STRING;
}

static SEXP name_column(const struct scan *s) {
  SEXP out = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t) s->n_nodes));
  for (size_t i = 0; i < s->n_nodes; i++)
    SET_STRING_ELT(out, (R_xlen_t) i, string_at(s, s->nodes[i].name_at));
  UNPROTECT(1);
  return out;
}

static SEXP class_at(const struct scan *s, uint64_t at) {
  uint64_t next;
  const uint64_t n = scan_strings(s, at, &next);
  SEXP out = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t) n));
  for (uint64_t i = 0; i < n; i++, next = scan_chars_end(s, next))
    SET_STRING_ELT(out, (R_xlen_t) i, string_at(s, next));
  UNPROTECT(1);
  return out;
}

// NULL where there is none.
static SEXP class_column(const struct scan *s) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t) s->n_nodes));
  for (size_t i = 0; i < s->n_nodes; i++) {
    const uint64_t at = s->nodes[i].class_at;
    if (at) SET_VECTOR_ELT(out, (R_xlen_t) i, class_at(s, at));
  }
  UNPROTECT(1);
  return out;
}

static double kind_of(const struct scan_node *n) { return n->kind + 1; }
static double type_of(const struct scan_node *n) { return n->type; }
static double index_of(const struct scan_node *n) { return n->index + 1.0; }
static double level_of(const struct scan_node *n) { return n->level; }
static double bytes_of(const struct scan_node *n) { return (double) n->len; }
static double parent_of(const struct scan_node *n) {
  return n->parent == SCAN_NO_NODE ? NA_REAL : n->parent + 1.0;
}
static double target_of(const struct scan_node *n) {
  return n->target == SCAN_NO_NODE ? NA_REAL : n->target + 1.0;
}
static double environments_of(const struct scan_node *n) { return (double) n->in.environments; }
static double bytecode_of(const struct scan_node *n) { return (double) n->in.bytecode; }
static double srcrefs_of(const struct scan_node *n) { return (double) n->in.srcrefs; }

static const struct {
  const char *name;
  double (*get)(const struct scan_node *);
} columns[] = {{"kind", kind_of},         {"type", type_of},
               {"index", index_of},       {"depth", level_of},
               {"bytes", bytes_of},       {"parent", parent_of},
               {"target", target_of},     {"environments", environments_of},
               {"bytecode", bytecode_of}, {"srcref", srcrefs_of}};

enum { N_COLUMNS = sizeof(columns) / sizeof(*columns) };

static SEXP number_column(const struct scan *s, double (*get)(const struct scan_node *)) {
  SEXP out = Rf_allocVector(REALSXP, (R_xlen_t) s->n_nodes);
  for (size_t i = 0; i < s->n_nodes; i++) REAL(out)[i] = get(&s->nodes[i]);
  return out;
}

static SEXP table_of(const struct scan *s) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, N_COLUMNS + 2));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, N_COLUMNS + 2));
  for (int i = 0; i < N_COLUMNS; i++) {
    SET_VECTOR_ELT(out, i, number_column(s, columns[i].get));
    SET_STRING_ELT(names, i, Rf_mkChar(columns[i].name));
  }
  SET_VECTOR_ELT(out, N_COLUMNS, name_column(s));
  SET_STRING_ELT(names, N_COLUMNS, Rf_mkChar("name"));
  SET_VECTOR_ELT(out, N_COLUMNS + 1, class_column(s));
  SET_STRING_ELT(names, N_COLUMNS + 1, Rf_mkChar("class"));
  Rf_setAttrib(out, R_NamesSymbol, names);
  UNPROTECT(2);
  return out;
}

static SEXP sizes_body(void *data) {
  struct sizes_call *c = data;
  const unsigned char *p = RAW_RO(c->bytes);
  const size_t n = (size_t) XLENGTH(c->bytes);
  if (scan_run(&c->scan, p + c->header_len, n - c->header_len, c->depth))
    throw_error(&c->scan.err, &measured);
  return table_of(&c->scan);
}

static void sizes_cleanup(void *data) {
  scan_close(&((struct sizes_call *) data)->scan);
  calls_end();
}

// The arguments are checked in R: a stream of marshall() with the length of its header.
SEXP ffi_sizes(SEXP bytes, SEXP header_len, SEXP depth) {
  struct sizes_call c = {.bytes = bytes,
                         .header_len = (size_t) Rf_asInteger(header_len),
                         .depth = (unsigned) Rf_asInteger(depth),
                         .scan = {.err = {.block = NO_BLOCK}}};
  calls_begin();
  return R_ExecWithCleanup(sizes_body, &c, sizes_cleanup, &c);
}
