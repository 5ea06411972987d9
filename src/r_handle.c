#include "r_handle.h"

#include <stdlib.h>
#include <string.h>

static enum status open_source(struct handle *h, const char *path, SEXP input, struct error *e) {
  if (!path) {
    source_memory(&h->source, RAW_RO(input), (size_t) XLENGTH(input));
    return OK;
  }
  if (!(h->path = strdup(path))) return fail(e, ERR_NOMEM, 0, "opening");
  return source_file(&h->source, path, e);
}

static enum status load(struct handle *h, const char *path, SEXP input, struct error *e) {
  if (open_source(h, path, input, e) || !h->source.can_seek) return e->code;
  if (contents_load_ends(&h->contents, &h->source, e)) return e->code;
  return contents_load_index(&h->contents, &h->source, e);
}

// NULL with no error in e: it is none of ours, or has no index.
static struct handle *open_handle(const char *path, SEXP input, struct error *e) {
  if (path && !source_can_reopen(path)) return NULL;
  struct handle *h = calloc(1, sizeof(*h));
  if (!h) {
    fail(e, ERR_NOMEM, 0, "opening");
    return NULL;
  }
  h->n_users = 1;
  if (load(h, path, input, e) == OK && h->contents.indexed) return h;
  if (e->code == ERR_FORMAT) *e = (struct error){.block = NO_BLOCK};
  handle_release(h);
  return NULL;
}

struct handle *handle_open(const char *path, SEXP input, const struct subject *subject) {
  struct error e = {.block = NO_BLOCK};
  struct handle *h = open_handle(path, input, &e);
  if (e.code) throw_error(&e, subject);
  return h;
}

struct handle *handle_try(const char *path) {
  struct error e = {.block = NO_BLOCK};
  return open_handle(path, R_NilValue, &e);
}

SEXP index_meta(const struct index *x) {
  if (x->meta_len == 0) return R_NilValue;
  SEXP meta = Rf_allocVector(RAWSXP, (R_xlen_t) x->meta_len);
  memcpy(RAW(meta), x->meta.p, x->meta_len);
  return meta;
}

struct subject handle_subject(const struct handle *h) {
  return (struct subject){.doing = "read", .path = h->path, .thing = "the raw vector"};
}

void handle_hold(struct handle *h) { h->n_users++; }

void handle_release(struct handle *h) {
  if (!h || --h->n_users) return;
  contents_close(&h->contents);
  source_close(&h->source);
  free(h->path);
  free(h);
}

void handle_close(SEXP pointer) {
  struct handle *h = R_ExternalPtrAddr(pointer);
  R_ClearExternalPtr(pointer);
  handle_release(h);
}

SEXP handle_pointer(SEXP input) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, input));
  R_RegisterCFinalizerEx(pointer, handle_close, TRUE);
  UNPROTECT(1);
  return pointer;
}

struct handle *handle_of(SEXP pointer) {
  struct handle *h = TYPEOF(pointer) == EXTPTRSXP ? R_ExternalPtrAddr(pointer) : NULL;
  const struct subject subject = {.doing = "read", .thing = "the file"};
  if (!h)
    throw_reason("riffle_error_closed", "it was closed, or opened by another process", &subject);
  return h;
}
