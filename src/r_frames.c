#include <R.h>
#include <math.h>

#include "frames.h"
#include "r_args.h"
#include "r_calls.h"
#include "r_error.h"
#include "r_ffi.h"

static const struct subject packed = {.doing = "compress", .thing = "the raw vector"};
static const struct subject unpacked = {.doing = "decompress", .thing = "the raw vector"};

static SEXP take_sink(struct sink *sink) {
  SEXP out = Rf_allocVector(RAWSXP, (R_xlen_t) sink->memory.len);
  sink_move(sink, RAW(out));
  return out;
}

// ---- compress -----------------------------------------------------------------------------

struct pack_call {
  SEXP x;
  enum codec codec;
  int level;
  unsigned n_threads;
  struct sink sink;
  struct packer packer;
};

static SEXP pack_body(void *data) {
  struct pack_call *c = data;
  struct packer *p = &c->packer;
  sink_memory(&c->sink);
  enum status st = packer_open(p, &c->sink, c->codec, c->level, c->n_threads, RAW_RO(c->x),
                               (size_t) XLENGTH(c->x));
  if (st) throw_error(&p->err, &packed);
  while ((st = packer_run(p)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_error(&p->err, &packed);
  packer_close(p);
  return take_sink(&c->sink);
}

static void pack_cleanup(void *data) {
  struct pack_call *c = data;
  packer_close(&c->packer);
  sink_close(&c->sink);
  calls_end();
}

SEXP ffi_compress(SEXP x, SEXP codec, SEXP level, SEXP nthreads) {
  arg_raw(x, "x");
  const enum codec which = arg_codec(codec, false);
  struct pack_call c = {
      .x = x, .codec = which, .level = arg_level(level, which), .n_threads = arg_threads(nthreads)};
  calls_begin();
  return R_ExecWithCleanup(pack_body, &c, pack_cleanup, &c);
}

// ---- decompress ---------------------------------------------------------------------------

struct unpack_call {
  SEXP x;
  uint64_t max;
  unsigned n_threads;
  struct frames frames;
  struct unpacker unpacker;
  struct unstream unstream;
  struct sink sink;
};

static SEXP unpack_side_by_side(struct unpack_call *c) {
  struct unpacker *u = &c->unpacker;
  SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t) c->frames.content));
  enum status st = unpacker_open(u, &c->frames, c->n_threads, RAW(out));
  if (st) throw_error(&u->err, &unpacked);
  while ((st = unpacker_run(u)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_error(&u->err, &unpacked);
  UNPROTECT(1);
  return out;
}

static SEXP unpack_piecewise(struct unpack_call *c) {
  struct unstream *s = &c->unstream;
  sink_memory(&c->sink);
  enum status st = unstream_open(s, &c->frames, &c->sink, c->max);
  if (st) throw_error(&s->err, &unpacked);
  while ((st = unstream_run(s)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_error(&s->err, &unpacked);
  return take_sink(&c->sink);
}

static SEXP unpack_body(void *data) {
  struct unpack_call *c = data;
  struct error e = {0};
  if (frames_scan(&c->frames, RAW_RO(c->x), (size_t) XLENGTH(c->x), &e)) throw_error(&e, &unpacked);
  if (c->frames.content > c->max) {
    fail(&e, ERR_LIMIT, 0, "it holds more than `max_size`");
    throw_error(&e, &unpacked);
  }
  return frames_fit(&c->frames) ? unpack_side_by_side(c) : unpack_piecewise(c);
}

static void unpack_cleanup(void *data) {
  struct unpack_call *c = data;
  unpacker_close(&c->unpacker);
  unstream_close(&c->unstream);
  sink_close(&c->sink);
  frames_close(&c->frames);
  calls_end();
}

// No more than a vector of R can hold.
static uint64_t arg_max_size(SEXP x) {
  double v = NA_REAL;
  if (TYPEOF(x) == REALSXP && XLENGTH(x) == 1) v = REAL_ELT(x, 0);
  if (TYPEOF(x) == INTSXP && XLENGTH(x) == 1 && INTEGER_ELT(x, 0) != NA_INTEGER)
    v = INTEGER_ELT(x, 0);
  if (!(v >= 0) || Rf_isObject(x)) throw_argument("max_size", "a number of bytes, 0 or more", x);
  return v < (double) R_XLEN_T_MAX ? (uint64_t) v : (uint64_t) R_XLEN_T_MAX;
}

SEXP ffi_decompress(SEXP x, SEXP max_size, SEXP nthreads) {
  arg_raw(x, "x");
  struct unpack_call c = {
      .x = x, .max = arg_max_size(max_size), .n_threads = arg_threads(nthreads)};
  calls_begin();
  return R_ExecWithCleanup(unpack_body, &c, unpack_cleanup, &c);
}
