#' Using riffle from another package's C or C++ code
#'
#' The header `riffle.h` gives C and C++ code of other packages functions that make a raw vector of an
#' object and an object of a raw vector, without a call to R.
#'
#' @section Set-up:
#' In `DESCRIPTION`: `Imports: riffle` and `LinkingTo: riffle`. In `NAMESPACE`:
#' `importFrom(riffle, qs_serialize)`, or anything else that loads riffle. In the code:
#' `#include <riffle.h>`. Nothing is linked: each function is fetched from the loaded riffle by
#' `R_GetCCallable()` at its first use.
#'
#' @section Functions:
#' \tabular{ll}{
#'   `SEXP riffle_serialize(SEXP object, int compress_level, int nthreads)` \tab [qs_serialize()] \cr
#'   `SEXP riffle_deserialize(SEXP input, int nthreads)` \tab [qs_deserialize()] \cr
#'   `SEXP riffle_deserialize_data(SEXP input, int nthreads)` \tab the same with `data_only = TRUE` \cr
#'   `SEXP riffle_marshall(SEXP object)` \tab [marshall()] \cr
#'   `SEXP riffle_unmarshall(SEXP input)` \tab [unmarshall()] \cr
#'   `double riffle_stream_size(SEXP object)` \tab [calc_size()], in bytes \cr
#'   `int riffle_version(void)` \tab the version of the loaded riffle: 10203 is 1.2.3
#' }
#' `RIFFLE_DEFAULT` stands for the default of `compress_level` or `nthreads`, see [qopt()]. A function
#' keeps its name, arguments and meaning in all later versions.
#'
#' @section Rules:
#' * Only R's main thread may call them. riffle's own threads have ended when a function returns.
#' * Arguments are protected by the caller. Results are not protected.
#' * Errors are R conditions of class `riffle_error`, see [riffle-package], and leave by a jump, as an
#'   interrupt does. riffle frees what it owns; for what the caller owns there are
#'   `R_ExecWithCleanup()` and `R_UnwindProtect()`, and in C++ `cpp11::unwind_protect()` or
#'   `Rcpp::unwindProtect()`, without which destructors do not run.
#'
#' @name riffle-c-api
#' @seealso Writing R Extensions, section "Linking to native routines in other packages".
#' @examples
#' # the header, with each function's errors
#' readLines(system.file("include", "riffle.h", package = "riffle"), 8)
#'
#' # src/use.c of a package that keeps a compressed copy
#' cat('
#' #include <riffle.h>
#' SEXP keep(SEXP object) {
#'   return riffle_serialize(object, RIFFLE_DEFAULT, 1);
#' }
#' ')
NULL
