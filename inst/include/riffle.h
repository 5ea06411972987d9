// riffle.h - R objects <-> raw vectors, for the C and C++ code of other packages.
//
// In DESCRIPTION:  Imports: riffle
//                  LinkingTo: riffle
// In NAMESPACE:    importFrom(riffle, qs_serialize)     or anything else that loads riffle
// In C or C++:     #include <riffle.h>
//
// Nothing is linked: each function is fetched from the loaded riffle at its first use. If riffle is
// not loaded, or too old to have it, R raises an error that names the function.
//
// Rules
// - Only on R's main thread. riffle starts threads of its own and has joined them when it returns.
// - Arguments are protected by the caller, as for any function of R's API. Results are not
//   protected: PROTECT() them before the next allocation.
// - Errors are R conditions of class riffle_error (see ?riffle in R), an interrupt is R's own: both
//   leave by a jump. What the caller owns must survive that: R_ExecWithCleanup(),
//   R_UnwindProtect(), or in C++ cpp11::unwind_protect() or Rcpp::unwindProtect(), else destructors
//   do not run. What riffle owns is freed.
// - Objects with hooks (active bindings, ALTREP methods of packages) may run R code.
// - A function keeps its name, arguments and meaning in all later versions.
#ifndef RIFFLE_H
#define RIFFLE_H

#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <limits.h>

// For compress_level and nthreads: what qopt() says.
#define RIFFLE_DEFAULT INT_MIN

#if defined(__GNUC__)
#define RIFFLE_UNUSED __attribute__((unused))
#else
#define RIFFLE_UNUSED
#endif

// For this file alone: the function of that name, as a pointer of its type.
#define RIFFLE_FETCH(type, name) ((type) (void (*)(void)) R_GetCCallable("riffle", name))

// The version of the loaded riffle: 10203 is 1.2.3.
RIFFLE_UNUSED static inline int riffle_version(void) {
  typedef int (*function)(void);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_version");
  return f();
}

// Any object -> a raw vector, compressed with zstd and checksummed: qs_serialize(). Levels from
// -131072 (fastest) to 22, threads from 1 to 256, or RIFFLE_DEFAULT.
// Errors: riffle_error_argument, _memory, _depth, _changed.
RIFFLE_UNUSED static inline SEXP riffle_serialize(SEXP object, int compress_level, int nthreads) {
  typedef SEXP (*function)(SEXP, int, int);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_serialize");
  return f(object, compress_level, nthreads);
}

// The object in a raw vector that riffle_serialize() made, or in the content of a file that
// qs_save() wrote: qs_deserialize(). Not for input that cannot be trusted: the object may hold
// code. Errors: riffle_error_argument, _memory, _format, _corrupt, _version.
RIFFLE_UNUSED static inline SEXP riffle_deserialize(SEXP input, int nthreads) {
  typedef SEXP (*function)(SEXP, int);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_deserialize");
  return f(input, nthreads);
}

// The same of plain data alone, for input that cannot be trusted: all else is an error of class
// riffle_error_data_only.
RIFFLE_UNUSED static inline SEXP riffle_deserialize_data(SEXP input, int nthreads) {
  typedef SEXP (*function)(SEXP, int);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_deserialize_data");
  return f(input, nthreads);
}

// Any object -> the bare stream of R's serializer, in a raw vector of exactly its length:
// marshall(). Errors: riffle_error_memory, _depth, _changed.
RIFFLE_UNUSED static inline SEXP riffle_marshall(SEXP object) {
  typedef SEXP (*function)(SEXP);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_marshall");
  return f(object);
}

// The object of a raw vector that riffle_marshall() or R's serialize() made: unmarshall().
// Errors: riffle_error_argument, _memory, _format, _corrupt.
RIFFLE_UNUSED static inline SEXP riffle_unmarshall(SEXP input) {
  typedef SEXP (*function)(SEXP);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_unmarshall");
  return f(input);
}

// The length in bytes of what riffle_marshall() would make, without making it: calc_size().
RIFFLE_UNUSED static inline double riffle_stream_size(SEXP object) {
  typedef double (*function)(SEXP);
  static function f = NULL;
  if (!f) f = RIFFLE_FETCH(function, "riffle_stream_size");
  return f(object);
}

#endif
