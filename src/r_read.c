#include <R.h>
#include <string.h>

#include "container.h"
#include "r_args.h"
#include "r_build.h"
#include "r_calls.h"
#include "r_ffi.h"
#include "r_stream.h"
#include "reader.h"
#include "sniff.h"

struct read_call {
  const char *path;  // NULL: from a raw vector
  SEXP input;
  struct read_opts opts;
  struct subject subject;
  struct source source;
  enum file_format format;
  struct reader reader;
  struct error err;  // the source's
};

// ---- what it is ---------------------------------------------------------------------------

static const struct container_in *container_of(enum file_format format) {
  switch (format) {
    case FORMAT_QS2: return &qs2_in;
    default: return &riffle_in;
  }
}

static void open_source(struct read_call *c) {
  if (!c->path)
    source_memory(&c->source, RAW_RO(c->input), (size_t) XLENGTH(c->input));
  else if (source_file(&c->source, c->path, &c->err))
    throw_error(&c->err, &c->subject);
}

static size_t peek(struct read_call *c, size_t n, const unsigned char **p) {
  size_t got;
  enum status st;
  while ((st = source_peek(&c->source, n, p, &got, &c->err)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_error(&c->err, &c->subject);
  return got;
}

static void find_format(struct read_call *c) {
  const unsigned char *p;
  size_t n = peek(c, SNIFF_LEN, &p);
  c->format = sniff_format(p, n);
  if (c->format != FORMAT_OTHER) return;
  n = peek(c, SOURCE_PEEK, &p);
  throw_not_ours(p, n, &c->subject);
}

// ---- opening ------------------------------------------------------------------------------

static void throw_reader(struct read_call *c) {
  if (c->reader.err.code == ERR_FORMAT) {
    size_t n;
    const unsigned char *first = reader_first_bytes(&c->reader, &n);
    throw_not_ours(first, n, &c->subject);
  }
  throw_error(&c->reader.err, &c->subject);
}

// The builder takes words and numbers as they are in memory.
static bool is_native(const struct read_call *c) {
  return c->reader.header.big_endian == host_is_big_endian();
}

// Only our own header tells whether the stream is plain.
static bool is_plain(const struct read_call *c) {
  return c->format == FORMAT_RIFFLE && c->reader.header.plain && is_native(c);
}

static void open_reader(struct read_call *c) {
  const struct reader_opts opts = {.container = container_of(c->format),
                                   .n_threads = c->opts.n_threads,
                                   .verify_all = c->opts.verify_all};
  if (reader_open(&c->reader, &c->source, &opts)) throw_reader(c);
  enum status st;
  while ((st = reader_start(&c->reader)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_reader(c);
  if (c->opts.verify_all && c->reader.unverified)
    throw_reason("riffle_error_corrupt", "it has no hash to be checked by", &c->subject);
  c->reader.opts.build = c->opts.data_only || is_plain(c);
}

static void open_again(struct read_call *c) {
  reader_close(&c->reader);
  c->source.at = 0;
  open_reader(c);
}

// ---- reading ------------------------------------------------------------------------------

// Another format's stream may be plain or not. The builder finds out, and is done if it is; else all
// is read again, by R. Where nothing can be read twice R reads at once.
static SEXP consume_any(struct read_call *c) {
  if (c->source.can_seek) {
    SEXP value = build_read(&c->reader, &c->subject, BUILD_IF_PLAIN);
    if (value) return value;
    open_again(c);
  }
  return stream_read(c->opts.refhook, &c->reader, &c->subject);
}

static SEXP consume(struct read_call *c) {
  if (c->opts.data_only) return build_read(&c->reader, &c->subject, BUILD_DATA);
  if (is_plain(c)) return build_read(&c->reader, &c->subject, BUILD_PLAIN);
  if (c->format == FORMAT_RIFFLE) return stream_read(c->opts.refhook, &c->reader, &c->subject);
  return consume_any(c);
}

static void warn_of_what_is_odd(const struct read_call *c) {
  if (c->reader.unverified)
    warn_reason("it has no hash: damage would not be found", &c->subject);
  if (c->reader.goes_on) warn_reason("what follows the object in it is ignored", &c->subject);
}

static SEXP read_body(void *data) {
  struct read_call *c = data;
  open_source(c);
  find_format(c);
  open_reader(c);
  SEXP value = PROTECT(consume(c));
  enum status st;
  while ((st = reader_finish(&c->reader)) == AGAIN) R_CheckUserInterrupt();
  if (st) throw_reader(c);
  warn_of_what_is_odd(c);
  UNPROTECT(1);
  return value;
}

static void read_cleanup(void *data) {
  struct read_call *c = data;
  reader_close(&c->reader);
  source_close(&c->source);
  calls_end();
}

static SEXP run_read(struct read_call *c) {
  calls_begin();
  return R_ExecWithCleanup(read_body, c, read_cleanup, c);
}

SEXP ffi_read(SEXP file, SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only) {
  const char *path = arg_path(file);
  struct read_call c = {.path = path,
                        .opts = arg_read_opts(validate, nthreads, refhook, data_only),
                        .subject = {.doing = "read", .path = path}};
  return run_read(&c);
}

SEXP ffi_deserialize(SEXP input, SEXP validate, SEXP nthreads, SEXP refhook,
                     SEXP data_only) {
  arg_raw(input, "input");
  struct read_call c = {.input = input,
                        .opts = arg_read_opts(validate, nthreads, refhook, data_only),
                        .subject = {.doing = "read", .thing = "the raw vector"}};
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
