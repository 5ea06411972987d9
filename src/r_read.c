#include <R.h>
#include <string.h>

#include "r_args.h"
#include "r_build.h"
#include "r_calls.h"
#include "r_eval.h"
#include "r_ffi.h"
#include "r_open.h"
#include "r_progress.h"
#include "r_stream.h"

struct read_call {
  struct opening opening;
  struct progress progress;
  SEXP refhook;
  bool data_only;
};

// A stream that nobody has looked at may be plain or not. The builder finds out, and is done if it
// is; else all is read again, by R. Where nothing can be read twice R reads at once.
static SEXP consume_unseen(struct read_call *c) {
  struct opening *o = &c->opening;
  if (o->source.can_seek) {
    SEXP value = build_read(&o->reader, &o->subject, BUILD_IF_PLAIN);
    if (value) return value;
    opening_rewind(o);
  }
  return stream_read(c->refhook, &o->reader, &o->subject);
}

static SEXP consume(struct read_call *c) {
  struct opening *o = &c->opening;
  const bool plain = opening_is_plain(o);
  o->reader.opts.build = c->data_only || plain;
  if (c->data_only) return build_read(&o->reader, &o->subject, BUILD_DATA);
  if (plain) return build_read(&o->reader, &o->subject, BUILD_PLAIN);
  if (opening_is_unseen(o)) return consume_unseen(c);
  return stream_read(c->refhook, &o->reader, &o->subject);
}

// What validate_checksum = TRUE reads first is a pass of its own.
static void measure(void *data, struct progress_amount *a) {
  const struct opening *o = &((struct read_call *) data)->opening;
  const struct reader *r = &o->reader;
  if (!r->verified) a->doing = "check";
  a->done = (double) (r->verified ? r->taken : r->stream_len);
  a->total = opening_total(o);
}

static SEXP read_body(void *data) {
  struct read_call *c = data;
  if (!opening_open(&c->opening)) return NULL;
  SEXP value = PROTECT(consume(c));
  opening_finish(&c->opening);
  progress_finish(&c->progress);
  UNPROTECT(1);
  return value;
}

static void read_cleanup(void *data) {
  struct read_call *c = data;
  opening_close(&c->opening);
  calls_end();
  progress_end(&c->progress);
}

static SEXP run_read(struct opening opening, SEXP connection, const struct read_opts *opts) {
  struct read_call c = {.opening = opening, .refhook = opts->refhook, .data_only = opts->data_only};
  c.opening.n_threads = opts->n_threads;
  c.opening.verify_all = opts->verify_all;
  PROTECT(opening_connect(&c.opening, connection));
  calls_begin();
  progress_begin(&c.progress, opts->progress, &c.opening.subject, measure, &c);
  SEXP value = R_ExecWithCleanup(read_body, &c, read_cleanup, &c);
  UNPROTECT(1);
  return value;
}

// In R's own hands, as far as what they are compressed by goes.
static SEXP read_packed(const char *function, SEXP input, SEXP validate, SEXP nthreads,
                        SEXP refhook, SEXP data_only, SEXP progress) {
  SEXP args = PROTECT(Rf_list6(input, validate, nthreads, refhook, data_only, progress));
  SEXP value = eval_own(Rf_lcons(Rf_install(function), args));
  UNPROTECT(1);
  return value;
}

SEXP ffi_read(SEXP file, SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only,
              SEXP progress) {
  const char *path = arg_place(file, "file");
  struct read_opts opts = arg_read_opts(validate, nthreads, refhook, data_only);
  opts.progress = arg_progress(progress);
  const struct opening opening = {.path = path, .subject = {.doing = "read", .path = path}};
  SEXP value = run_read(opening, path ? R_NilValue : file, &opts);
  if (value) return value;
  return read_packed("read_packed", file, validate, nthreads, refhook, data_only, progress);
}

SEXP ffi_deserialize(SEXP input, SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only) {
  arg_raw(input, "input");
  struct read_opts opts = arg_read_opts(validate, nthreads, refhook, data_only);
  opts.progress = PROGRESS_DEFAULT;
  const struct subject subject = {.doing = "read", .thing = "the raw vector"};
  SEXP value = run_read((struct opening){.input = input, .subject = subject}, R_NilValue, &opts);
  if (value) return value;
  return read_packed("deserialize_packed", input, validate, nthreads, refhook, data_only,
                     R_NilValue);
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
