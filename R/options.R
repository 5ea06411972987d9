#' Defaults of the arguments
#'
#' Gets or sets the default of an argument for the rest of the session, as `qs2::qopt()` does. All
#' but `nthreads` are R options, `riffle.compress_level` and so on, and can be set by [options()],
#' too, for instance in a start-up file. The option `riffle.progress`, `TRUE` or `FALSE`, says
#' whether calls that take long show a progress bar, see [qs_save()]; `riffle.max_bytes` limits what
#' is read, see [qs_read()].
#'
#' @param parameter One of `"compress_level"` (1 by default), `"shuffle"` (`TRUE`), `"nthreads"`
#'   (see [qs_threads()]) and `"validate_checksum"` (`FALSE`).
#' @param value The new default; none: leave it as it is.
#'
#' @return The default that holds; when setting, the one that held before, invisibly. An unknown
#'   parameter or an impossible value is an error of class `riffle_error_argument`.
#' @export
#' @examples
#' qopt("compress_level")
#' old <- qopt("compress_level", 5)
#' qopt("compress_level")
#' qopt("compress_level", old)
qopt <- function(parameter, value = NULL) {
  if (is.null(value)) .Call(ffi_option, parameter) else set_option(parameter, value)
}

set_option <- function(parameter, value) {
  current <- .Call(ffi_option, parameter)
  .Call(ffi_check_option, parameter, value)
  if (parameter == "nthreads") {
    .Call(ffi_threads_set, value)
  } else {
    do.call(options, structure(list(value), names = paste0("riffle.", parameter)))
  }
  invisible(current)
}

#' The number of threads
#'
#' Gets or sets how many threads are used where `nthreads` is not given.
#'
#' When the package is loaded this is the number of cores that the process may use: affinity and
#' container limits (cgroups) count. The environment variable `RIFFLE_THREADS` overrides it,
#' `OMP_THREAD_LIMIT` limits it, and so does R CMD check, to 2. In a forked child, as of
#' `parallel::mclapply()`, it is 1 until it is set there.
#'
#' @param nthreads The new number, 1 to 256; none: leave it as it is.
#'
#' @return The number that holds; when setting, the one that held before, invisibly.
#' @export
#' @examples
#' qs_threads()
#' old <- qs_threads(1)
#' qs_threads(old)
qs_threads <- function(nthreads = NULL) qopt("nthreads", nthreads)
