#include <R.h>
#include <string.h>

#include "r_args.h"
#include "r_build.h"
#include "r_calls.h"
#include "r_ffi.h"
#include "r_progress.h"
#include "r_stream.h"
#include "reader.h"

struct read_call {
  const char *path;  // NULL: from a raw vector
  SEXP input;
  struct read_opts opts;
  struct subject subject;
  struct source source;
  struct reader reader;
  struct error err;  // the source's
  struct progress progress;
};

static void throw_reader(struct read_call *c) {
  if (c->reader.err.code == ERR_FORMAT) {
    size_t n;
    const unsigned char *first = reader_first_bytes(&c->reader, &n);
    throw_not_ours(first, n, &c->subject);
  }
  throw_error(&c->reader.err, &c->subject);
}

static void open_source(struct read_call *c) {
  if (!c->path)
    source_memory(&c->source, RAW_RO(c->input), (size_t) XLENGTH(c->input));
  else if (source_file(&c->source, c->path, &c->err))
    throw_error(&c->err, &c->subject);
}

// The builder takes words and numbers as they are in memory.
static bool is_native(const struct read_call *c) {
  return c->reader.header.big_endian == host_is_big_endian();
}

static void open_reader(struct read_call *c) {
  const struct reader_opts opts = {.n_threads = c->opts.n_threads,
                                   .verify_all = c->opts.verify_all};
  if (reader_open(&c->reader, &c->source, &opts)) throw_reader(c);
  enum status st;
  while ((st = reader_start(&c->reader)) == AGAIN) progress_look();
  if (st) throw_reader(c);
  c->reader.opts.build = c->opts.data_only || (c->reader.header.plain && is_native(c));
}

static SEXP consume(struct read_call *c) {
  if (c->reader.opts.build) return build_read(&c->reader, &c->subject, c->opts.data_only);
  return stream_read(c->opts.refhook, &c->reader, &c->subject);
}

// What validate_checksum = TRUE reads first is a pass of its own.
static void measure(void *data, struct progress_amount *a) {
  const struct reader *r = &((struct read_call *) data)->reader;
  if (!r->verified) a->doing = "check";
  a->done = (double) (r->verified ? r->taken : r->stream_len);
  if (r->stream_total != UINT64_MAX) a->total = (double) r->stream_total;
}

static SEXP read_body(void *data) {
  struct read_call *c = data;
  open_source(c);
  open_reader(c);
  SEXP value = PROTECT(consume(c));
  enum status st;
  while ((st = reader_finish(&c->reader)) == AGAIN) progress_look();
  if (st) throw_reader(c);
  progress_finish(&c->progress);
  UNPROTECT(1);
  return value;
}

static void read_cleanup(void *data) {
  struct read_call *c = data;
  reader_close(&c->reader);
  source_close(&c->source);
  calls_end();
  progress_end(&c->progress);
}

static SEXP run_read(struct read_call *c) {
  calls_begin();
  progress_begin(&c->progress, c->opts.progress, &c->subject, measure, c);
  return R_ExecWithCleanup(read_body, c, read_cleanup, c);
}

SEXP ffi_read(SEXP file, SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only,
              SEXP progress) {
  const char *path = arg_path(file);
  struct read_call c = {.path = path,
                        .opts = arg_read_opts(validate, nthreads, refhook, data_only),
                        .subject = {.doing = "read", .path = path}};
  c.opts.progress = arg_progress(progress);
  return run_read(&c);
}

SEXP ffi_deserialize(SEXP input, SEXP validate, SEXP nthreads, SEXP refhook,
                     SEXP data_only) {
  arg_raw(input, "input");
  struct read_call c = {.input = input,
                        .opts = arg_read_opts(validate, nthreads, refhook, data_only),
                        .subject = {.doing = "read", .thing = "the raw vector"}};
  c.opts.progress = PROGRESS_DEFAULT;
  return run_read(&c);
}

SEXP ffi_unmarshall(SEXP input, SEXP data_only) {
  const bool only = arg_flag(data_only, "data_only");
  arg_raw(input, "input");
  const unsigned char *p = RAW_RO(input);
  const size_t n = (size_t) XLENGTH(input);
  const struct subject subject = {.doing = "unserialize", .thing = "the raw vector"};
  if (n < 2 || p[1] != '\n' || !strchr("ABX", p[0]))
    throw_reason("riffle_error_format", "it is not a stream that serialize() or marshall() makes",
                 &subject);
  SEXP value = build_from_memory(p, n, &subject, only);
  return value ? value : stream_from_memory(p, n);
}
