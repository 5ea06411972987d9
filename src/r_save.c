#include <R.h>

#include "r_args.h"
#include "r_calls.h"
#include "r_ffi.h"
#include "r_stream.h"
#include "writer.h"

// ---- files and raw vectors in the file format ---------------------------------------------

struct save_call {
  SEXP object;
  const char *path;  // NULL: into a raw vector
  struct save_opts opts;
  struct subject subject;
  struct sink sink;
  struct writer writer;
  struct error err;  // the sink's
};

static void open_sink(struct save_call *c) {
  if (!c->path)
    sink_memory(&c->sink);
  else if (sink_file(&c->sink, c->path, &c->err))
    throw_error(&c->err, &c->subject);
}

static void open_writer(struct save_call *c) {
  const struct writer_opts opts = {
      .block = {.codec = c->opts.codec, .level = c->opts.level, .filter = c->opts.filter},
      .n_threads = c->opts.n_threads,
      .stream_version = 3};
  if (writer_open(&c->writer, &c->sink, &opts)) throw_error(&c->writer.err, &c->subject);
}

static void finish_writer(struct save_call *c) {
  enum status st;
  while ((st = writer_finish(&c->writer)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_error(&c->writer.err, &c->subject);
}

static SEXP save_body(void *data) {
  struct save_call *c = data;
  open_sink(c);
  open_writer(c);
  stream_save(c->object, 3, c->opts.refhook, &c->writer, &c->subject);
  finish_writer(c);
  writer_close(&c->writer);
  if (c->sink.commit(&c->sink, &c->err)) throw_error(&c->err, &c->subject);
  if (c->path) return R_NilValue;
  SEXP out = Rf_allocVector(RAWSXP, (R_xlen_t) c->sink.memory.len);
  sink_move(&c->sink, RAW(out));
  return out;
}

static void save_cleanup(void *data) {
  struct save_call *c = data;
  writer_close(&c->writer);
  sink_close(&c->sink);
  calls_end();
}

static SEXP run_save(struct save_call *c) {
  calls_begin();
  return R_ExecWithCleanup(save_body, c, save_cleanup, c);
}

SEXP ffi_save(SEXP object, SEXP file, SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec,
              SEXP refhook) {
  const char *path = arg_path(file);
  struct save_call c = {.object = object,
                        .path = path,
                        .opts = arg_save_opts(level, shuffle, nthreads, codec, refhook),
                        .subject = {.doing = "save", .path = path}};
  return run_save(&c);
}

SEXP ffi_serialize(SEXP object, SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec, SEXP refhook) {
  struct save_call c = {.object = object,
                        .opts = arg_save_opts(level, shuffle, nthreads, codec, refhook),
                        .subject = {.doing = "serialize", .thing = "the object"}};
  return run_save(&c);
}

// ---- the bare stream ----------------------------------------------------------------------

SEXP ffi_calc_size(SEXP object, SEXP version) {
  return Rf_ScalarReal(stream_size(object, arg_stream_version(version)));
}

// Two passes, so that the vector is made once, in its size. An object whose stream is longer the
// second time (its hooks or ALTREP methods changed it) is measured again.
SEXP ffi_marshall(SEXP object, SEXP version) {
  const int v = arg_stream_version(version);
  for (int attempt = 0; attempt < 3; attempt++) {
    const double len = stream_size(object, v);
    SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t) len));
    const bool fits = stream_to_memory(object, v, RAW(out), (size_t) len);
    UNPROTECT(1);
    if (fits) return out;
  }
  const struct subject subject = {.doing = "serialize", .thing = "the object"};
  throw_reason("riffle_error_changed", "it changes while it is being serialized", &subject);
}
