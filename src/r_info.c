#include <R.h>
#include <stdio.h>
#include <string.h>

#include "info.h"
#include "r_args.h"
#include "r_calls.h"
#include "r_error.h"
#include "r_ffi.h"
#include "r_handle.h"

struct info_call {
  const char *path;  // NULL: from a raw vector
  SEXP input;
  SEXP head;  // the stream's first bytes as R unpacked them, or R_NilValue
  bool validate;
  struct subject subject;
  struct source source;
  struct info info;
  struct error err;  // the source's
};

// ---- the walk -----------------------------------------------------------------------------

static void open_source(struct info_call *c) {
  if (!c->path)
    source_memory(&c->source, RAW_RO(c->input), (size_t) XLENGTH(c->input));
  else if (source_file(&c->source, c->path, &c->err))
    throw_error(&c->err, &c->subject);
}

static void give_head(struct info *i, SEXP head) {
  if (TYPEOF(head) != RAWSXP) return;
  i->has_head = true;
  i->n_head = (size_t) XLENGTH(head) < INFO_HEAD ? (size_t) XLENGTH(head) : INFO_HEAD;
  if (i->n_head) memcpy(i->head, RAW_RO(head), i->n_head);
}

static void walk(struct info_call *c) {
  struct info *i = &c->info;
  enum status st = info_open(i, &c->source, c->validate);
  give_head(i, c->head);
  while (st == OK && (st = info_walk(i)) == AGAIN) {
    R_CheckUserInterrupt();
    st = OK;
  }
  if (st == ERR_FORMAT && i->n_head) throw_not_ours(i->head, i->n_head, &c->subject);
  if (st == ERR_FORMAT) throw_not_ours(i->first, i->n_first, &c->subject);
  if (st) throw_error(&i->err, &c->subject);
}

// ---- an R list of it ----------------------------------------------------------------------

static SEXP number(uint64_t n) {
  return Rf_ScalarReal(n == INFO_UNKNOWN ? NA_REAL : (double) n);
}

static SEXP whole(unsigned n) { return Rf_ScalarInteger((int) n); }

static SEXP encoding(const struct stream_head *h) {
  switch (h->encoding) {
    case 'A': return Rf_mkString("ascii");
    case 'X': return Rf_mkString("xdr");
    case 'B': return Rf_mkString(h->big_endian ? "binary big-endian" : "binary little-endian");
    default: return Rf_ScalarString(NA_STRING);
  }
}

static SEXP r_version(const struct stream_head *h) {
  char text[32];
  if (!h->encoding) return Rf_ScalarString(NA_STRING);
  snprintf(text, sizeof(text), "%u.%u.%u", (unsigned) (h->r_version >> 16),
           (unsigned) (h->r_version >> 8 & 255), (unsigned) (h->r_version & 255));
  return Rf_mkString(text);
}

static const char *name_of(const struct info *i, const struct info_group *g, int column) {
  switch (column) {
    case 0: return info_kind_name(g->kind);
    case 1:
      return i->format == INFO_QS2 ? info_qs2_filter_name(g->filter)
                                   : info_filter_name(g->kind, g->filter);
    default: return info_codec_name(g->codec);
  }
}

// Columns: kind, filter, codec, count, stream_bytes, stored_bytes.
static SEXP groups(const struct info *i) {
  const R_xlen_t n = (R_xlen_t) i->n_groups;
  SEXP columns = PROTECT(Rf_allocVector(VECSXP, 6));
  for (int k = 0; k < 6; k++)
    SET_VECTOR_ELT(columns, k, Rf_allocVector(k < 3 ? STRSXP : REALSXP, n));
  for (R_xlen_t j = 0; j < n; j++) {
    const struct info_group *g = &i->groups[j];
    for (int k = 0; k < 3; k++)
      SET_STRING_ELT(VECTOR_ELT(columns, k), j, Rf_mkChar(name_of(i, g, k)));
    REAL(VECTOR_ELT(columns, 3))[j] = (double) g->count;
    REAL(VECTOR_ELT(columns, 4))[j] = (double) g->stream_len;
    REAL(VECTOR_ELT(columns, 5))[j] = (double) g->stored_len;
  }
  UNPROTECT(1);
  return columns;
}

// For R to unpack: what came through a pipe can't be read again.
static SEXP slurped(const struct info_call *c) {
  const bool is_packed = c->info.packing >= PACKING_BZIP2;
  if (!c->path || !c->source.owned || !is_packed) return R_NilValue;
  SEXP bytes = Rf_allocVector(RAWSXP, (R_xlen_t) c->source.len);
  if (c->source.len) memcpy(RAW(bytes), c->source.bytes, c->source.len);
  return bytes;
}

static SEXP as_list(const struct info_call *c) {
  static const char *const formats[] = {"riffle", "qs2", "rds"};
  static const char *const checks[] = {"not checked", "valid", "not stored"};
  static const char *const names[] = {
      "format",   "format_version", "stream_version", "encoding", "r_version",
      "file_bytes", "stream_bytes", "packing",        "n_blocks", "plain",
      "shuffled_blocks", "checksum", "blocks",        "slurped",  "meta", ""};
  const struct info *i = &c->info;
  const bool known = i->stream.encoding != 0, is_rds = i->format == INFO_RDS;
  SEXP x = PROTECT(Rf_mkNamed(VECSXP, (const char **) names));
  int k = 0;
  SET_VECTOR_ELT(x, k++, Rf_mkString(formats[i->format]));
  SET_VECTOR_ELT(x, k++, is_rds ? Rf_ScalarInteger(NA_INTEGER) : whole(i->format_version));
  SET_VECTOR_ELT(x, k++, known ? whole(i->stream.version) : Rf_ScalarInteger(NA_INTEGER));
  SET_VECTOR_ELT(x, k++, encoding(&i->stream));
  SET_VECTOR_ELT(x, k++, r_version(&i->stream));
  SET_VECTOR_ELT(x, k++, number(i->source->len));
  SET_VECTOR_ELT(x, k++, number(i->stream_len));
  SET_VECTOR_ELT(x, k++, is_rds ? Rf_mkString(info_packing_name(i->packing)) : R_NilValue);
  SET_VECTOR_ELT(x, k++, number(i->n_blocks));
  const bool seen = i->format == INFO_RIFFLE && !i->unseen;
  SET_VECTOR_ELT(x, k++, Rf_ScalarLogical(seen ? i->plain : NA_LOGICAL));
  SET_VECTOR_ELT(x, k++, number(i->format == INFO_QS2 ? i->n_shuffled : INFO_UNKNOWN));
  SET_VECTOR_ELT(x, k++, Rf_mkString(checks[i->check]));
  SET_VECTOR_ELT(x, k++, groups(i));
  SET_VECTOR_ELT(x, k++, slurped(c));
  SET_VECTOR_ELT(x, k++, index_meta(&i->contents.index));
  UNPROTECT(1);
  return x;
}

// ---- the call -----------------------------------------------------------------------------

static SEXP info_body(void *data) {
  struct info_call *c = data;
  open_source(c);
  walk(c);
  return as_list(c);
}

static void info_cleanup(void *data) {
  struct info_call *c = data;
  info_close(&c->info);
  source_close(&c->source);
  calls_end();
}

SEXP ffi_info(SEXP file, SEXP validate, SEXP head) {
  const bool is_raw = TYPEOF(file) == RAWSXP;
  if (!is_raw && (TYPEOF(file) != STRSXP || XLENGTH(file) != 1))
    throw_argument("file", "the path of one file, as a string, or a raw vector", file);
  const char *path = is_raw ? NULL : arg_path(file, "file");
  struct info_call c = {.path = path,
                        .input = file,
                        .head = head,
                        .validate = arg_flag(validate, "validate"),
                        .subject = {.doing = "read", .path = path, .thing = "the raw vector"}};
  calls_begin();
  return R_ExecWithCleanup(info_body, &c, info_cleanup, &c);
}
