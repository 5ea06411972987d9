#include <R.h>
#include <string.h>

#include "r_args.h"
#include "r_error.h"
#include "r_ffi.h"
#include "r_threads.h"

enum parameter { COMPRESS_LEVEL, SHUFFLE, NTHREADS, VALIDATE_CHECKSUM, N_PARAMETERS };

static const struct {
  const char *name, *option;
} parameters[N_PARAMETERS] = {{"compress_level", "riffle.compress_level"},
                              {"shuffle", "riffle.shuffle"},
                              {"nthreads", NULL},
                              {"validate_checksum", "riffle.validate_checksum"}};

static enum parameter arg_parameter(SEXP x) {
  if (TYPEOF(x) == STRSXP && XLENGTH(x) == 1)
    for (int i = 0; i < N_PARAMETERS; i++)
      if (strcmp(R_CHAR(STRING_ELT(x, 0)), parameters[i].name) == 0) return (enum parameter) i;
  throw_argument("parameter",
                 "\"compress_level\", \"shuffle\", \"nthreads\" or \"validate_checksum\"", x);
}

static SEXP factory_default(enum parameter p) {
  switch (p) {
    case COMPRESS_LEVEL: return Rf_ScalarInteger(1);
    case SHUFFLE: return Rf_ScalarLogical(TRUE);
    case NTHREADS: return Rf_ScalarInteger(threads_get());
    default: return Rf_ScalarLogical(FALSE);
  }
}

// The default that holds; it is asked for three times by each call that saves, so here and not in R.
SEXP ffi_option(SEXP parameter) {
  const enum parameter p = arg_parameter(parameter);
  if (!parameters[p].option) return factory_default(p);
  SEXP value = Rf_GetOption1(Rf_install(parameters[p].option));
  return value == R_NilValue ? factory_default(p) : value;
}

// The same checks as when the option is used.
SEXP ffi_check_option(SEXP parameter, SEXP value) {
  switch (arg_parameter(parameter)) {
    case COMPRESS_LEVEL: arg_level(value, CODEC_ZSTD); break;
    case NTHREADS: arg_threads(value); break;
    case SHUFFLE: arg_flag(value, "shuffle"); break;
    default: arg_flag(value, "validate_checksum");
  }
  return R_NilValue;
}
