// r_args.h - R's arguments -> plain C options. Every argument error is raised here.
#ifndef RIFFLE_R_ARGS_H
#define RIFFLE_R_ARGS_H

#include <Rinternals.h>
#include <stdbool.h>

#include "codec.h"
#include "r_progress.h"

// Options that saving takes.
struct save_opts {
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
const char *arg_path(SEXP file);
struct save_opts arg_save_opts(SEXP level, SEXP shuffle, SEXP nthreads, SEXP codec, SEXP refhook);
struct read_opts arg_read_opts(SEXP validate, SEXP nthreads, SEXP refhook, SEXP data_only);
int arg_level(SEXP level, enum codec codec);
unsigned arg_threads(SEXP nthreads);
// TRUE or FALSE, or NULL: as the option says.
enum progress_mode arg_progress(SEXP progress);
bool arg_flag(SEXP x, const char *name);
int arg_stream_version(SEXP version);
void arg_raw(SEXP input, const char *name);

#endif
