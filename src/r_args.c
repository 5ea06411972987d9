#include "r_args.h"

#include <R.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "container.h"
#include "r_connection.h"
#include "r_error.h"
#include "r_ffi.h"

enum { MAX_THREADS = 256 };

static const char *path_of(SEXP file, const char *name, const char *takes) {
  if (TYPEOF(file) != STRSXP || XLENGTH(file) != 1 || STRING_ELT(file, 0) == NA_STRING ||
      LENGTH(STRING_ELT(file, 0)) == 0)
    throw_argument(name, takes, file);
#ifdef _WIN32
  const char *path = Rf_translateCharUTF8(STRING_ELT(file, 0));
#else
  const char *path = Rf_translateChar(STRING_ELT(file, 0));
#endif
  const char *expanded = R_ExpandFileName(path);  // may be R's static buffer
  char *own = R_alloc(strlen(expanded) + 1, 1);
  return strcpy(own, expanded);
}

const char *arg_path(SEXP file, const char *name) {
  return path_of(file, name, "the path of one file, as a string");
}

const char *arg_place(SEXP file, const char *name) {
  return connection_is(file) ? NULL : path_of(file, name, "a path or a connection");
}

// A whole number from `low` to `high`, given as integer or double.
static int whole_number(SEXP x, const char *name, const char *takes, double low, double high) {
  double v = NA_REAL;
  if (TYPEOF(x) == INTSXP && XLENGTH(x) == 1 && !Rf_isObject(x)) {
    if (INTEGER_ELT(x, 0) != NA_INTEGER) v = INTEGER_ELT(x, 0);
  } else if (TYPEOF(x) == REALSXP && XLENGTH(x) == 1 && !Rf_isObject(x)) {
    v = REAL_ELT(x, 0);
  }
  if (!(v >= low && v <= high && v == floor(v))) throw_argument(name, takes, x);
  return (int) v;
}

unsigned arg_threads(SEXP nthreads) {
  return (unsigned) whole_number(nthreads, "nthreads", "a whole number from 1 to 256", 1,
                                 MAX_THREADS);
}

bool arg_is_128(SEXP bits) {
  static const char takes[] = "64 or 128";
  const int n = whole_number(bits, "bits", takes, 64, 128);
  if (n != 64 && n != 128) throw_argument("bits", takes, bits);
  return n == 128;
}

static bool one_flag(SEXP x, const char *name, const char *takes) {
  if (TYPEOF(x) != LGLSXP || XLENGTH(x) != 1 || LOGICAL_ELT(x, 0) == NA_LOGICAL)
    throw_argument(name, takes, x);
  return LOGICAL_ELT(x, 0);
}

bool arg_flag(SEXP x, const char *name) { return one_flag(x, name, "TRUE or FALSE"); }

enum progress_mode arg_progress(SEXP progress) {
  if (progress == R_NilValue) return PROGRESS_DEFAULT;
  return one_flag(progress, "progress", "TRUE, FALSE or NULL") ? PROGRESS_ON : PROGRESS_OFF;
}

// R's default for the argument is the vector of all choices: then the first.
enum codec arg_codec(SEXP codec, bool may_store) {
  static const struct {
    const char *name;
    enum codec codec;
  } codecs[] = {{"zstd", CODEC_ZSTD}, {"lz4", CODEC_LZ4}, {"none", CODEC_STORED}};
  const R_xlen_t n = TYPEOF(codec) == STRSXP ? XLENGTH(codec) : 0;
  const size_t n_codecs = may_store ? 3 : 2;
  if (n == 1 || n == (R_xlen_t) n_codecs)
    for (size_t i = 0; i < n_codecs; i++)
      if (strcmp(R_CHAR(STRING_ELT(codec, 0)), codecs[i].name) == 0) return codecs[i].codec;
  throw_argument("codec", may_store ? "\"zstd\", \"lz4\" or \"none\"" : "\"zstd\" or \"lz4\"",
                 codec);
}

int arg_level(SEXP level, enum codec codec) {
  const int low = codec == CODEC_STORED ? -INT_MAX : codec_level_min(codec);
  const int high = codec_level_max(codec);
  char takes[128];
  if (codec == CODEC_STORED)
    snprintf(takes, sizeof(takes), "a whole number");
  else
    snprintf(takes, sizeof(takes), "a whole number from %d to %d for codec \"%s\"", low, high,
             codec == CODEC_LZ4 ? "lz4" : "zstd");
  return whole_number(level, "compress_level", takes, low, high);
}

static SEXP arg_refhook(SEXP refhook) {
  if (refhook != R_NilValue && !Rf_isFunction(refhook))
    throw_argument("refhook", "a function or NULL", refhook);
  return refhook;
}

const struct container_out *save_container(enum save_format format) {
  switch (format) {
    case SAVE_QS2: return &qs2_out;
    case SAVE_RDS: return &gzip_out;
    case SAVE_STREAM: return &bare_out;
    default: return &riffle_out;
  }
}

// "auto" is told from the file's name in R/save.R.
enum save_format arg_format(SEXP format) {
  static const char *const names[] = {"riffle", "qs2", "rds", "stream"};
  if (TYPEOF(format) == STRSXP && XLENGTH(format) == 1)
    for (int i = 0; i < 4; i++)
      if (strcmp(R_CHAR(STRING_ELT(format, 0)), names[i]) == 0) return (enum save_format) i;
  throw_argument("format", "\"auto\", \"riffle\", \"qs2\" or \"rds\"", format);
}

static int format_level(enum save_format format, enum codec codec, SEXP level) {
  if (format != SAVE_RDS && format != SAVE_STREAM) return arg_level(level, codec);
  return whole_number(level, "compress_level", "a whole number from 0 to 9 for an RDS file", 0, 9);
}

struct save_opts arg_save_opts(enum save_format f, SEXP level, SEXP shuffle, SEXP nthreads,
                               SEXP codec, SEXP refhook) {
  const enum codec c = arg_codec(codec, true);
  if (f != SAVE_RIFFLE && c != CODEC_ZSTD)
    throw_argument("codec", "left alone for files that are not riffle's own", codec);
  return (struct save_opts){.format = f,
                            .codec = c,
                            .level = format_level(f, c, level),
                            .filter = arg_flag(shuffle, "shuffle"),
                            .n_threads = arg_threads(nthreads),
                            .refhook = arg_refhook(refhook)};
}

struct read_opts arg_read_opts(SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only) {
  return (struct read_opts){.verify_all = arg_flag(validate, "validate_checksum"),
                            .n_threads = arg_threads(nthreads),
                            .refhook = arg_refhook(refhook),
                            .data_only = arg_flag(data_only, "data_only")};
}

uint64_t option_max_bytes(void) {
  SEXP x = Rf_GetOption1(Rf_install("riffle.max_bytes"));
  if (x == R_NilValue) return 0;
  const double v = Rf_isNumeric(x) && XLENGTH(x) == 1 ? Rf_asReal(x) : NA_REAL;
  if (!(v >= 1)) throw_argument("riffle.max_bytes", "a number of bytes, 1 or more, or NULL", x);
  return v < 9e18 ? (uint64_t) v : 0;
}

int arg_stream_version(SEXP version) {
  return whole_number(version, "version", "2 or 3", 2, 3);
}

void arg_raw(SEXP input, const char *name) {
  if (TYPEOF(input) != RAWSXP) throw_argument(name, "a raw vector", input);
}
