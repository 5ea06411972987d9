#include <R.h>

#include "info.h"
#include "r_args.h"
#include "r_calls.h"
#include "r_eval.h"
#include "r_ffi.h"
#include "r_open.h"
#include "r_progress.h"
#include "writer.h"

// The stream goes from one file to the other as it is: no object is made, and memory holds no more
// than the blocks under way.
struct convert_call {
  struct opening opening;
  const char *path;  // to be written
  struct save_opts opts;
  struct subject subject;
  struct sink sink;
  struct writer writer;
  struct error err;
  struct progress progress;
};

static void measure(void *data, struct progress_amount *a) {
  const struct opening *o = &((struct convert_call *) data)->opening;
  a->done = (double) o->reader.taken;
  a->total = opening_total(o);
}

// R's serialization format, of another file from the header of the stream.
static uint8_t stream_version(struct opening *o) {
  struct reader *r = &o->reader;
  struct stream_head head;
  enum status st;
  if (o->format == FORMAT_RIFFLE) return r->header.stream_version;
  while ((st = reader_head(r, READER_HEAD)) == AGAIN) progress_look();
  if (st) opening_throw(o);
  stream_head_decode(r->at, (size_t) (r->end - r->at), &head);
  return head.version == 2 ? 2 : 3;
}

static bool any_more(struct convert_call *c) {
  enum status st;
  bool more;
  while ((st = reader_more(&c->opening.reader, &more)) == AGAIN) progress_look();
  if (st) opening_throw(&c->opening);
  return more;
}

static void open_output(struct convert_call *c) {
  enum status st;
  const struct writer_opts opts = {
      .container = save_container(c->opts.format),
      .block = {.codec = c->opts.codec, .level = c->opts.level, .filter = c->opts.filter},
      .n_threads = c->opts.n_threads,
      .stream_version = stream_version(&c->opening),
      .plain = opening_is_plain(&c->opening),
      .unseen = opening_is_unseen(&c->opening)};
  while ((st = sink_file(&c->sink, c->path, &c->err)) == AGAIN) progress_look();
  if (st) throw_error(&c->err, &c->subject);
  if (writer_open(&c->writer, &c->sink, &opts)) throw_error(&c->writer.err, &c->subject);
}

static void put(struct convert_call *c, const void *p, size_t n) {
  enum status st;
  while ((st = writer_put(&c->writer, &p, &n)) == AGAIN) progress_look();
  if (st) throw_error(&c->writer.err, &c->subject);
}

static void copy(struct convert_call *c) {
  struct reader *r = &c->opening.reader;
  while (any_more(c)) {
    put(c, r->at, (size_t) (r->end - r->at));
    r->at = r->end;
    progress_look();
  }
}

// Nothing in a bare stream tells whether it is whole but the object in it.
static void check_by_reading(struct convert_call *c) {
  if (!c->opening.source.can_seek)
    throw_reason("riffle_error_io",
                 "it is an RDS file without compression, which is read twice, and can be read only once",
                 &c->opening.subject);
  SEXP path = PROTECT(Rf_mkString(c->opening.path));
  eval_own(Rf_lang2(Rf_install("qs_read"), path));
  UNPROTECT(1);
}

static SEXP convert_body(void *data) {
  struct convert_call *c = data;
  enum status st;
  if (!opening_open(&c->opening)) return NULL;
  if (c->opening.format == FORMAT_STREAM && !c->opening.connection.con) check_by_reading(c);
  open_output(c);
  copy(c);
  opening_finish(&c->opening);
  while ((st = writer_finish(&c->writer)) == AGAIN) progress_look();
  if (st) throw_error(&c->writer.err, &c->subject);
  writer_close(&c->writer);
  progress_finish(&c->progress);
  if (c->sink.commit(&c->sink, &c->err)) throw_error(&c->err, &c->subject);
  return R_NilValue;
}

static void convert_cleanup(void *data) {
  struct convert_call *c = data;
  writer_close(&c->writer);
  sink_close(&c->sink);
  opening_close(&c->opening);
  calls_end();
  progress_end(&c->progress);
}

SEXP ffi_convert(SEXP input, SEXP output, SEXP format, SEXP level, SEXP nthreads) {
  const char *from = arg_place(input, "input_file"),
             *to = arg_path(output, "output_file");
  SEXP codec = PROTECT(Rf_mkString("zstd")), filter = PROTECT(Rf_ScalarLogical(TRUE));
  struct convert_call c = {
      .opening = {.path = from, .subject = {.doing = "read", .path = from}},
      .path = to,
      .opts = arg_save_opts(arg_format(format), level, filter, nthreads, codec, R_NilValue),
      .subject = {.doing = "save", .path = to}};
  c.opening.n_threads = c.opts.n_threads;
  PROTECT(opening_connect(&c.opening, from ? R_NilValue : input));
  calls_begin();
  progress_begin(&c.progress, PROGRESS_DEFAULT, &c.opening.subject, measure, &c);
  SEXP value = R_ExecWithCleanup(convert_body, &c, convert_cleanup, &c);
  UNPROTECT(3);
  if (value) return value;
  return eval_own(Rf_lang6(Rf_install("convert_packed"), input, output, format, level, nthreads));
}
