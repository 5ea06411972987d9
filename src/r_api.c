#include "r_api.h"

#include <R_ext/Rdynload.h>
#include <limits.h>

#include "r_ffi.h"

// As in inst/include/riffle.h, which describes each function. Changed with DESCRIPTION.
enum { VERSION = 100, DEFAULT = INT_MIN };

static SEXP number_or_option(int value, const char *option) {
  if (value != DEFAULT) return Rf_ScalarInteger(value);
  SEXP name = PROTECT(Rf_mkString(option));
  SEXP number = ffi_option(name);
  UNPROTECT(1);
  return number;
}

static int api_version(void) { return VERSION; }

static SEXP api_serialize(SEXP object, int compress_level, int nthreads) {
  SEXP level = PROTECT(number_or_option(compress_level, "compress_level"));
  SEXP threads = PROTECT(number_or_option(nthreads, "nthreads"));
  SEXP shuffle = PROTECT(Rf_ScalarLogical(TRUE));
  SEXP codec = PROTECT(Rf_mkString("zstd"));
  SEXP out = ffi_serialize(object, level, shuffle, threads, codec, R_NilValue);
  UNPROTECT(4);
  return out;
}

static SEXP deserialize(SEXP input, int nthreads, int data_only) {
  SEXP threads = PROTECT(number_or_option(nthreads, "nthreads"));
  SEXP validate = PROTECT(Rf_ScalarLogical(FALSE));
  SEXP only = PROTECT(Rf_ScalarLogical(data_only));
  SEXP object = ffi_deserialize(input, validate, threads, R_NilValue, only);
  UNPROTECT(3);
  return object;
}

static SEXP api_deserialize(SEXP input, int nthreads) {
  return deserialize(input, nthreads, FALSE);
}

static SEXP api_deserialize_data(SEXP input, int nthreads) {
  return deserialize(input, nthreads, TRUE);
}

static SEXP api_marshall(SEXP object) {
  SEXP version = PROTECT(Rf_ScalarInteger(3));
  SEXP out = ffi_marshall(object, version);
  UNPROTECT(1);
  return out;
}

static SEXP api_unmarshall(SEXP input) {
  SEXP only = PROTECT(Rf_ScalarLogical(FALSE));
  SEXP object = ffi_unmarshall(input, only);
  UNPROTECT(1);
  return object;
}

static double api_stream_size(SEXP object) {
  SEXP version = PROTECT(Rf_ScalarInteger(3));
  const double size = Rf_asReal(ffi_calc_size(object, version));
  UNPROTECT(1);
  return size;
}

void api_init(void) {
#define REGISTER(name) R_RegisterCCallable("riffle", "riffle_" #name, (DL_FUNC) &api_##name)
  REGISTER(version);
  REGISTER(serialize);
  REGISTER(deserialize);
  REGISTER(deserialize_data);
  REGISTER(marshall);
  REGISTER(unmarshall);
  REGISTER(stream_size);
#undef REGISTER
}
