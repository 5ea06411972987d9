#include "r_open.h"

#include <R.h>

#include "container.h"
#include "r_args.h"
#include "r_progress.h"

static const struct container_in *container_of(enum file_format format) {
  switch (format) {
    case FORMAT_QS2: return &qs2_in;
    case FORMAT_GZIP: return &gunzip_in;
    case FORMAT_STREAM: return &bare_in;
    default: return &riffle_in;
  }
}

SEXP opening_connect(struct opening *o, SEXP connection) {
  return connection == R_NilValue ? R_NilValue
                                  : connection_open(&o->connection, connection, &o->subject);
}

static void open_source(struct opening *o) {
  if (o->connection.con)
    connection_source(&o->source, &o->connection);
  else if (!o->path)
    source_memory(&o->source, RAW_RO(o->input), (size_t) XLENGTH(o->input));
  else if (source_file(&o->source, o->path, &o->err))
    throw_error(&o->err, &o->subject);
}

static size_t peek(struct opening *o, size_t n, const unsigned char **p) {
  size_t got;
  enum status st;
  while ((st = source_peek(&o->source, n, p, &got, &o->err)) == AGAIN) progress_look();
  if (st) throw_error(&o->err, &o->subject);
  return got;
}

// The last newline of an object in the ASCII format is left to the next one's reader, as R has it.
static void drop_newline(struct opening *o) {
  unsigned char newline;
  size_t got;
  if (source_read(&o->source, &newline, 1, &got, &o->err)) throw_error(&o->err, &o->subject);
}

static void find_format(struct opening *o) {
  const unsigned char *p;
  size_t n = peek(o, SNIFF_LEN, &p);
  if (o->connection.con && n && *p == '\n') {
    drop_newline(o);
    n = peek(o, SNIFF_LEN, &p);
  }
  o->format = sniff_format(p, n);
  o->ascii = o->format == FORMAT_STREAM && p[0] == 'A';
  if (o->format != FORMAT_OTHER) return;
  n = peek(o, SOURCE_PEEK, &p);
  throw_not_ours(p, n, &o->subject);
}

void opening_throw(struct opening *o) {
  if (o->reader.err.code == ERR_FORMAT) {
    size_t n;
    const unsigned char *first = reader_first_bytes(&o->reader, &n);
    throw_not_ours(first, n, &o->subject);
  }
  throw_error(&o->reader.err, &o->subject);
}

static void start_reader(struct opening *o) {
  const struct reader_opts opts = {.container = container_of(o->format),
                                   .max_len = option_max_bytes(),
                                   .exact = o->format == FORMAT_STREAM && o->connection.con &&
                                            !o->connection.ours,
                                   .n_threads = o->n_threads,
                                   .verify_all = o->verify_all};
  if (reader_open(&o->reader, &o->source, &opts)) opening_throw(o);
  enum status st;
  while ((st = reader_start(&o->reader)) == AGAIN) progress_look();
  if (st) opening_throw(o);
  if (o->verify_all && o->reader.unverified)
    throw_reason("riffle_error_corrupt", "it has no hash to be checked by", &o->subject);
}

// What is in another format's blocks may be anything. False: a file of another kind, which R's
// gzfile() can lay open.
static bool check_content(struct opening *o) {
  struct reader *r = &o->reader;
  enum status st;
  if (o->format == FORMAT_RIFFLE || o->format == FORMAT_STREAM) return true;
  while ((st = reader_head(r, SNIFF_LEN)) == AGAIN) progress_look();
  if (st) opening_throw(o);
  const size_t n = (size_t) (r->end - r->at);
  const enum file_format inner = sniff_format(r->at, n);
  if ((inner == FORMAT_RIFFLE || inner == FORMAT_QS2) && !o->connection.con) return false;
  if (inner != FORMAT_STREAM) throw_not_ours(r->at, n, &o->subject);
  o->ascii = r->at[0] == 'A';
  return true;
}

bool opening_open(struct opening *o) {
  open_source(o);
  find_format(o);
  if (o->format == FORMAT_PACKED && !o->connection.con) return false;
  if (o->format == FORMAT_PACKED)
    throw_reason("riffle_error_format",
                 o->connection.ours ? "it is compressed in a way that this R can't read (zstd, it seems)"
                                    : "it is compressed by bzip2, xz or zstd: open it with gzfile()",
                 &o->subject);
  start_reader(o);
  return check_content(o);
}

void opening_rewind(struct opening *o) {
  reader_close(&o->reader);
  o->source.at = 0;
  start_reader(o);
}

bool opening_is_unseen(const struct opening *o) {
  return o->format != FORMAT_RIFFLE || o->reader.header.unseen;
}

bool opening_is_plain(const struct opening *o) {
  return o->format == FORMAT_RIFFLE && o->reader.header.plain;
}

double opening_total(const struct opening *o) {
  const uint64_t total = o->reader.stream_total;
  return o->format == FORMAT_GZIP || total == UINT64_MAX ? NA_REAL : (double) total;
}

// R writes a newline after each item of the ASCII format, and may leave the last one.
static void skip_newline(struct opening *o) {
  struct reader *r = &o->reader;
  enum status st;
  bool more;
  while ((st = reader_more(r, &more)) == AGAIN) progress_look();
  if (st) opening_throw(o);
  if (more && *r->at == '\n') r->at++;
}

// What R unpacks is checked at its end.
static void read_to_end(struct opening *o) {
  struct reader *r = &o->reader;
  enum status st;
  for (bool more = true; more;) {
    while ((st = reader_more(r, &more)) == AGAIN) progress_look();
    if (st) opening_throw(o);
    r->goes_on |= more;
    r->at = r->end;
  }
}

void opening_finish(struct opening *o) {
  struct reader *r = &o->reader;
  enum status st;
  if (o->ascii && !r->opts.exact) skip_newline(o);
  if (o->connection.packed && o->format == FORMAT_STREAM) read_to_end(o);
  while ((st = reader_finish(r)) == AGAIN) progress_look();
  if (st) opening_throw(o);
  if (r->unverified) warn_reason("it has no hash: damage would not be found", &o->subject);
  if (r->index_damaged)
    warn_reason("its index is damaged; the object was read from its blocks", &o->subject);
  if (r->goes_on) warn_reason("what follows the object in it is ignored", &o->subject);
}

void opening_close(struct opening *o) {
  reader_close(&o->reader);
  source_close(&o->source);
}
