#include <R.h>
#include <string.h>

#include "r_args.h"
#include "r_calls.h"
#include "r_connection.h"
#include "r_ffi.h"
#include "r_progress.h"
#include "r_stream.h"
#include "r_walk.h"
#include "writer.h"

// ---- files and raw vectors in the file format ---------------------------------------------

struct save_call {
  SEXP object;
  SEXP meta;         // a raw vector: a stream that is kept beside the object; or R_NilValue
  const char *path;  // NULL: to the connection, or into a raw vector
  struct connection connection;
  struct save_opts opts;
  struct subject subject;
  struct sink sink;
  struct header header;  // of the stream
  struct writer writer;
  struct error err;  // the sink's
  double total;      // of the stream, for the progress; 0: not counted yet
  struct progress progress;
};

static void open_sink(struct save_call *c) {
  enum status st = OK;
  if (c->connection.con)
    connection_sink(&c->sink, &c->connection);
  else if (!c->path)
    sink_memory(&c->sink);
  else
    while ((st = sink_file(&c->sink, c->path, &c->err)) == AGAIN) progress_look();
  if (st) throw_error(&c->err, &c->subject);
}

// What the index holds beside its blocks and the directory.
static void fill_index(struct save_call *c) {
  struct index *x = &c->writer.index;
  if (c->header.len <= sizeof(x->head)) {
    memcpy(x->head, c->header.bytes, c->header.len);
    x->n_head = c->header.len;
  }
  if (c->meta == R_NilValue) return;
  if (!buffer_reserve(&x->meta, (size_t) XLENGTH(c->meta)))
    throw_no_memory("writing the index", &c->subject);
  memcpy(x->meta.p, RAW_RO(c->meta), (size_t) XLENGTH(c->meta));
  x->meta_len = (size_t) XLENGTH(c->meta);
}

static void open_writer(struct save_call *c, bool plain) {
  const struct writer_opts opts = {
      .container = save_container(c->opts.format),
      .block = {.codec = c->opts.codec, .level = c->opts.level, .filter = c->opts.filter},
      .n_threads = c->opts.n_threads,
      .stream_version = 3,
      .plain = plain};
  if (writer_open(&c->writer, &c->sink, &opts)) throw_error(&c->writer.err, &c->subject);
  fill_index(c);
}

static void finish_writer(struct save_call *c) {
  enum status st;
  while ((st = writer_finish(&c->writer)) == AGAIN) progress_look();
  if (st) throw_error(&c->writer.err, &c->subject);
  progress_finish(&c->progress);
}

static bool walk_object(struct save_call *c, bool pointers) {
  open_writer(c, true);
  return walk_save(c->object, pointers, &c->header, &c->writer, &c->subject);
}

static void forget_output(struct save_call *c) {
  writer_close(&c->writer);
  if (!c->sink.reset)
    throw_reason("riffle_error_changed", "it changes while it is being serialized", &c->subject);
  if (c->sink.reset(&c->sink, &c->err)) throw_error(&c->err, &c->subject);
}

// The walker takes plain objects. Whether this is one is best found out by walking it: a look ahead
// costs as much, since both wait for memory. Only where nothing can be taken back there is one.
// A refhook has to be asked about external pointers, which only R's serializer does.
static void write_object(struct save_call *c) {
  const bool pointers = c->opts.refhook == R_NilValue;
  header_get(&c->header);
  const bool can_try = c->sink.reset || walk_look(c->object, pointers, &c->subject);
  if (!can_try || !walk_object(c, pointers)) {
    if (can_try) forget_output(c);
    open_writer(c, false);
    stream_save(c->object, 3, c->opts.refhook, &c->writer, &c->subject);
  }
  finish_writer(c);
}

// The total takes a walk through the object: few calls take so long that it is asked for.
static void measure(void *data, struct progress_amount *a) {
  struct save_call *c = data;
  if (c->total == 0) {
    struct header h;
    header_get(&h);
    c->total = walk_size(c->object, &h, &c->subject);
  }
  a->done = (double) c->writer.stream_len;
  if (c->total > 0) a->total = c->total;
}

static SEXP save_body(void *data) {
  struct save_call *c = data;
  open_sink(c);
  write_object(c);
  writer_close(&c->writer);
  if (c->sink.commit(&c->sink, &c->err)) throw_error(&c->err, &c->subject);
  if (c->path || c->connection.con) return R_NilValue;
  SEXP out = Rf_allocVector(RAWSXP, (R_xlen_t) c->sink.memory.len);
  sink_move(&c->sink, RAW(out));
  return out;
}

static void save_cleanup(void *data) {
  struct save_call *c = data;
  writer_close(&c->writer);
  sink_close(&c->sink);
  calls_end();
  progress_end(&c->progress);
}

static SEXP run_save(struct save_call *c) {
  calls_begin();
  progress_begin(&c->progress, c->opts.progress, &c->subject, measure, c);
  return R_ExecWithCleanup(save_body, c, save_cleanup, c);
}

SEXP ffi_save(SEXP object, SEXP file, SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec,
              SEXP refhook, SEXP format, SEXP progress, SEXP meta) {
  const char *path = arg_place(file, "file");
  if (meta != R_NilValue) arg_raw(meta, "meta");
  struct save_call c = {.object = object,
                        .meta = meta,
                        .path = path,
                        .opts = arg_save_opts(arg_format(format), level, shuffle, nthreads, codec,
                                              refhook),
                        .subject = {.doing = path ? "save" : "save to", .path = path}};
  c.opts.progress = arg_progress(progress);
  PROTECT(path ? R_NilValue : connection_open(&c.connection, file, &c.subject));
  SEXP value = run_save(&c);
  UNPROTECT(1);
  return value;
}

SEXP ffi_serialize(SEXP object, SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec,
                   SEXP refhook) {
  struct save_call c = {.object = object,
                        .meta = R_NilValue,
                        .opts = arg_save_opts(SAVE_RIFFLE, level, shuffle, nthreads, codec, refhook),
                        .subject = {.doing = "serialize", .thing = "the object"}};
  c.opts.progress = PROGRESS_DEFAULT;
  return run_save(&c);
}

// ---- the bare stream ----------------------------------------------------------------------

static const struct subject bare = {.doing = "serialize", .thing = "the object"};

// Version 2 has no ALTREP forms and is left to R's serializer.
static double plain_size(SEXP object, int version, struct header *h) {
  if (version != 3) return -1;
  header_get(h);
  return walk_size(object, h, &bare);
}

SEXP ffi_calc_size(SEXP object, SEXP version) {
  const int v = arg_stream_version(version);
  struct header h;
  const double len = plain_size(object, v, &h);
  return Rf_ScalarReal(len >= 0 ? len : stream_size(object, v));
}

// Two passes, so that the vector is made once, in its size. An object whose stream is longer the
// second time (its hooks or ALTREP methods changed it) is measured again.
static SEXP marshall_any(SEXP object, int version) {
  for (int attempt = 0; attempt < 3; attempt++) {
    const double len = stream_size(object, version);
    SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t) len));
    const bool fits = stream_to_memory(object, version, RAW(out), (size_t) len);
    UNPROTECT(1);
    if (fits) return out;
  }
  throw_reason("riffle_error_changed", "it changes while it is being serialized", &bare);
}

SEXP ffi_marshall(SEXP object, SEXP version) {
  const int v = arg_stream_version(version);
  struct header h;
  const double len = plain_size(object, v, &h);
  if (len < 0) return marshall_any(object, v);
  SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t) len));
  walk_to_memory(object, &h, RAW(out), (size_t) len, &bare);
  UNPROTECT(1);
  return out;
}

// For tests: whether the walker takes the object.
SEXP ffi_is_plain(SEXP object) {
  return Rf_ScalarLogical(walk_look(object, true, &bare));
}
