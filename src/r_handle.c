#include "r_handle.h"

#include <stdlib.h>
#include <string.h>

static void raise(struct handle *h, struct error e, const struct subject *subject) {
  handle_release(h);
  throw_error(&e, subject);
}

static struct handle *no_handle(struct handle *h) {
  handle_release(h);
  return NULL;
}

static enum status open_source(struct handle *h, const char *path, SEXP input, struct error *e) {
  if (!path) {
    source_memory(&h->source, RAW_RO(input), (size_t) XLENGTH(input));
    return OK;
  }
  if (!(h->path = strdup(path))) return fail(e, ERR_NOMEM, 0, "opening");
  return source_file(&h->source, path, e);
}

struct handle *handle_open(const char *path, SEXP input, const struct subject *subject) {
  struct error e = {.block = NO_BLOCK};
  if (path && !source_can_reopen(path)) return NULL;
  struct handle *h = calloc(1, sizeof(*h));
  if (!h) {
    fail(&e, ERR_NOMEM, 0, "opening");
    throw_error(&e, subject);
  }
  h->n_users = 1;
  if (open_source(h, path, input, &e)) raise(h, e, subject);
  if (!h->source.can_seek) return no_handle(h);
  enum status st = contents_load_ends(&h->contents, &h->source, &e);
  if (st == OK) st = contents_load_index(&h->contents, &h->source, &e);
  if (st == ERR_FORMAT) return no_handle(h);
  if (st) raise(h, e, subject);
  return h->contents.indexed ? h : no_handle(h);
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

SEXP handle_pointer(struct handle *h, SEXP input) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(h, Rf_install("riffle_handle"), input));
  R_RegisterCFinalizerEx(pointer, handle_close, TRUE);
  UNPROTECT(1);
  return pointer;
}

struct handle *handle_of(SEXP pointer) {
  struct handle *h = TYPEOF(pointer) == EXTPTRSXP ? R_ExternalPtrAddr(pointer) : NULL;
  const struct subject subject = {.doing = "read", .thing = "the file"};
  if (!h) throw_reason("riffle_error_closed", "it was closed", &subject);
  return h;
}
