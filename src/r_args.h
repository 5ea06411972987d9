// r_args.h - R's arguments -> plain C options. Every argument error is raised here.
#ifndef RIFFLE_R_ARGS_H
#define RIFFLE_R_ARGS_H

#include <Rinternals.h>
#include <stdbool.h>
#include <stdint.h>

#include "codec.h"
#include "r_progress.h"

// SAVE_STREAM: an RDS file that is compressed further out, or not at all.
enum save_format { SAVE_RIFFLE, SAVE_QS2, SAVE_RDS, SAVE_STREAM };
struct container_out;
const struct container_out *save_container(enum save_format format);

// Options that saving takes.
struct save_opts {
  enum save_format format;
  enum codec codec;
  int level;
  bool filter;
  unsigned n_threads;
  SEXP refhook;  // R_NilValue or a function
  enum progress_mode progress;
};

struct read_opts {
  bool verify_all;
  unsigned n_threads;
  SEXP refhook;
  bool data_only;
  enum progress_mode progress;
};

// The path in the native encoding (UTF-8 on Windows), `~` expanded; R_alloc'ed.
const char *arg_path(SEXP file, const char *name);
// Likewise; NULL: it is a connection.
const char *arg_place(SEXP file, const char *name);
enum save_format arg_format(SEXP format);
struct save_opts arg_save_opts(enum save_format format, SEXP level, SEXP shuffle, SEXP nthreads,
                               SEXP codec, SEXP refhook);
struct read_opts arg_read_opts(SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only);
int arg_level(SEXP level, enum codec codec);
enum codec arg_codec(SEXP codec, bool may_store);
bool arg_is_128(SEXP bits);
unsigned arg_threads(SEXP nthreads);
// TRUE or FALSE, or NULL: as the option says.
enum progress_mode arg_progress(SEXP progress);
bool arg_flag(SEXP x, const char *name);
int arg_stream_version(SEXP version);
// options(riffle.max_bytes): the most bytes of stream that are read; 0: any number.
uint64_t option_max_bytes(void);
void arg_raw(SEXP input, const char *name);

#endif
