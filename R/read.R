#' Read an object from a file
#'
#' Restores the object that [qs_save()] wrote. The first three arguments are those of
#' `qs2::qs_read()`.
#'
#' Each block's checksum is verified before its bytes are used, always. A file that was cut short,
#' changed, or lengthened is an error, never an object.
#'
#' As with [readRDS()], an object from a source that cannot be trusted can hold code that runs when
#' it is used. With `data_only = TRUE` only data is made of such a file: vectors, lists, pairlists,
#' expression vectors, S4 instances and symbols, with their attributes. A file with anything else
#' (environments, functions, calls, promises, external pointers, byte code) is an error of class
#' `riffle_error_data_only` that names the type, before any of it is made; R's own unserializer gets
#' to see none of the file's bytes.
#'
#' A `file` that cannot seek, such as a fifo, is read from where it is to the end of one object. With
#' `validate_checksum = TRUE` it is read into memory first.
#'
#' @param file The path of the file, a string. `~` is expanded.
#' @param validate_checksum `TRUE` to verify all checksums before the object is begun, which reads
#'   the file twice. With `FALSE` each block is verified just before it is used.
#' @param nthreads The number of threads to use, 1 to 256, the calling one included.
#' @param refhook A function that is called with each character vector that the `refhook` of
#'   [qs_save()] returned, and restores what it stands for.
#' @param data_only `TRUE` to accept plain data only: for files that cannot be trusted.
#' @param progress `TRUE` to show a progress bar, with throughput and time left, once reading has taken
#'   2 seconds; it needs the cli package, without which there is none. `NULL`: as the option
#'   `riffle.progress` says or, if that is not set, only in an interactive session.
#'
#' @return The object. Errors are of class `riffle_error`, see [riffle-package].
#' @seealso [qs_save()]
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' qs_save(list(a = 1, b = letters), file)
#' qs_read(file)
#'
#' # a damaged file is an error that says so
#' bytes <- readBin(file, "raw", file.size(file))
#' writeBin(head(bytes, -10), file)
#' tryCatch(qs_read(file), riffle_error = conditionMessage)
#' unlink(file)
qs_read <- function(file, validate_checksum = qopt("validate_checksum"),
                    nthreads = qopt("nthreads"), refhook = NULL, data_only = FALSE, progress = NULL) {
  .Call(ffi_read, file, validate_checksum, nthreads, refhook, data_only, progress)
}

#' @rdname qs_serialize
#' @export
qs_deserialize <- function(input, validate_checksum = qopt("validate_checksum"),
                           nthreads = qopt("nthreads"), refhook = NULL, data_only = FALSE) {
  .Call(ffi_deserialize, input, validate_checksum, nthreads, refhook, data_only)
}
