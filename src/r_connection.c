#include "r_connection.h"

#include <R.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "r_error.h"

enum { PIECE_LEN = 1 << 20 };

enum { KEEP_NAMESPACE, KEEP_TOKEN, KEEP_BUFFER, KEEP_ALL };

bool connection_is(SEXP x) { return Rf_inherits(x, "connection"); }

SEXP connection_open(struct connection *c, SEXP con, struct subject *subject) {
  SEXP keep = PROTECT(Rf_allocVector(VECSXP, KEEP_ALL));
  SEXP name = PROTECT(Rf_mkString("riffle"));
  c->con = con;
  c->namespace = SET_VECTOR_ELT(keep, KEEP_NAMESPACE, R_FindNamespace(name));
  c->token = SET_VECTOR_ELT(keep, KEEP_TOKEN, R_MakeUnwindCont());
  c->buffer = SET_VECTOR_ELT(keep, KEEP_BUFFER, Rf_allocVector(RAWSXP, PIECE_LEN));
  subject->thing = Rf_translateChar(Rf_asChar(Rf_getAttrib(con, Rf_install("subject"))));
  c->packed = Rf_asLogical(Rf_getAttrib(con, Rf_install("packed"))) == TRUE;
  c->ours = Rf_asLogical(Rf_getAttrib(con, Rf_install("ours"))) == TRUE;
  subject->connection = c;
  UNPROTECT(2);
  return keep;
}

// ---- calls of R that no jump leaves -------------------------------------------------------

static void hold_up(void *data, Rboolean jump) {
  struct connection *c = data;
  if (jump) longjmp(c->here, 1);
}

// False: a jump began in body(), and is held up.
static bool run(struct connection *c, SEXP (*body)(void *), void *data) {
  if (c->jumped) return false;
  if (setjmp(c->here)) {
    c->jumped = true;
    return false;
  }
  R_UnwindProtect(body, data, hold_up, c, c->token);
  return true;
}

void connection_go_on(struct connection *c) {
  if (!c || !c->jumped) return;
  c->jumped = false;
  R_ContinueUnwind(c->token);
}

static enum status failed(struct connection *c, struct error *e) {
  if (c->packed && !c->jumped)
    return fail(e, ERR_CORRUPT, 0, "it is corrupt (its compressed data does not decode)");
  return fail(e, ERR_IO, 0, c->jumped ? "it was left" : c->reason);
}

static void keep_reason(struct connection *c, const char *doing, SEXP message) {
  snprintf(c->reason, sizeof(c->reason), "%s it failed: %s", doing,
           Rf_translateChar(Rf_asChar(message)));
}

// ---- sink ---------------------------------------------------------------------------------

struct write_call {
  struct connection *c;
  bool last;
};

// Both bodies end with a look for an interrupt: a call that waits in the kernel ends with what an
// interrupt made of it, and that would be taken for the end of the connection.
static SEXP write_body(void *data) {
  const struct write_call *call = data;
  struct connection *c = call->c;
  SEXP bytes = c->buffer;
  if (c->n_held < PIECE_LEN) {
    bytes = Rf_allocVector(RAWSXP, (R_xlen_t) c->n_held);
    if (c->n_held) memcpy(RAW(bytes), RAW(c->buffer), c->n_held);
  }
  PROTECT(bytes);
  SEXP last = PROTECT(Rf_ScalarLogical(call->last));
  SEXP write = PROTECT(Rf_lang4(Rf_install("write_connection"), c->con, bytes, last));
  SEXP message = PROTECT(Rf_eval(write, c->namespace));
  if (message != R_NilValue) keep_reason(c, "writing to", message);
  UNPROTECT(4);
  R_CheckUserInterrupt();
  return R_NilValue;
}

static enum status send(struct connection *c, bool last, struct error *e) {
  struct write_call call = {.c = c, .last = last};
  if (!run(c, write_body, &call) || c->reason[0]) return failed(c, e);
  c->n_held = 0;
  return OK;
}

static enum status connection_write(struct sink *s, const void *p, size_t n, struct error *e) {
  struct connection *c = s->ctx;
  const unsigned char *from = p;
  while (n) {
    const size_t room = PIECE_LEN - c->n_held;
    const size_t k = n < room ? n : room;
    memcpy(RAW(c->buffer) + c->n_held, from, k);
    c->n_held += k;
    from += k;
    n -= k;
    if (c->n_held == PIECE_LEN && send(c, false, e)) return e->code;
  }
  return OK;
}

static enum status connection_commit(struct sink *s, struct error *e) {
  return send(s->ctx, true, e);
}

void connection_sink(struct sink *s, struct connection *c) {
  *s = (struct sink){
      .write = connection_write, .commit = connection_commit, .producer_only = true, .ctx = c};
}

// ---- source -------------------------------------------------------------------------------

struct read_piece {
  struct connection *c;
  unsigned char *to;
  size_t n;
  size_t got;
  bool more;  // though nothing came
};

static SEXP read_body(void *data) {
  struct read_piece *piece = data;
  struct connection *c = piece->c;
  SEXP n = PROTECT(Rf_ScalarReal((double) piece->n));
  SEXP n_silent = PROTECT(Rf_ScalarInteger(c->n_silent));
  SEXP read = PROTECT(Rf_lang4(Rf_install("read_connection"), c->con, n, n_silent));
  SEXP bytes = PROTECT(Rf_eval(read, c->namespace));
  if (TYPEOF(bytes) == STRSXP) keep_reason(c, "reading", bytes);
  if (TYPEOF(bytes) == RAWSXP) piece->got = (size_t) XLENGTH(bytes);
  if (piece->got > piece->n) Rf_error("internal error: readBin() gave more than it was asked for");
  if (piece->got) memcpy(piece->to, RAW(bytes), piece->got);
  piece->more = bytes == R_NilValue;
  UNPROTECT(4);
  R_CheckUserInterrupt();
  return R_NilValue;
}

static enum status connection_read(struct source *s, void *p, size_t n, size_t *got,
                                   struct error *e) {
  struct connection *c = s->ctx;
  *got = 0;
  while (*got < n) {
    const size_t left = n - *got;
    struct read_piece piece = {.c = c, .to = (unsigned char *) p + *got};
    piece.n = left < PIECE_LEN ? left : PIECE_LEN;
    if (!run(c, read_body, &piece) || c->reason[0]) return failed(c, e);
    c->n_silent = piece.more ? c->n_silent + 1 : 0;
    if (piece.more) return AGAIN;
    if (piece.got == 0) break;
    *got += piece.got;
    s->at += piece.got;
  }
  return OK;
}

static void connection_source_close(struct source *s) { free(s->owned); }

void connection_source(struct source *s, struct connection *c) {
  *s = (struct source){
      .read = connection_read, .close = connection_source_close, .fd = -1, .ctx = c};
}
