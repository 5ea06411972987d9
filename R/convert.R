#' Convert between file formats
#'
#' Turns a file of one format into another without making the object in it: R's stream goes over as
#' it is, in constant memory. (Only of an RDS file that is not compressed the object is made first,
#' to see whether the file is whole, as nothing else in it tells.) The new file appears when it is
#' complete.
#'
#' riffle, qs2 and RDS files all hold the stream of R's serializer, compressed in different ways. An
#' RDS file made from another holds it in little-endian form, which [readRDS()] reads as well as the
#' usual one. A riffle file made from another is larger than one that [qs_save()] writes, and slower
#' to read, since numbers and strings are not told apart in it: to have it small, read and save the
#' object.
#'
#' `qs_to_rds()` writes an RDS file whatever its name is; `rds_to_qs()` a qs2 file if the name ends
#' with `.qs2`, else a riffle file.
#'
#' @param input_file The path of the file to read, of any format that [qs_read()] reads.
#' @param output_file The path of the file to write.
#' @param compress_level The level of compression: for riffle and qs2 files that of zstd, 3 by
#'   default, for RDS files that of gzip, 0 to 9, 6 by default.
#' @param format The format to write. `"auto"` goes by the extension of `output_file`: `.qs2`,
#'   `.rds`, or any other for riffle's own.
#' @param nthreads The number of threads to use, 1 to 256, the calling one included.
#'
#' @return `NULL`, invisibly. Errors are of class `riffle_error`, see [riffle-package].
#' @export
#' @examples
#' rds <- tempfile(fileext = ".rds")
#' rif <- tempfile(fileext = ".rif")
#' saveRDS(mtcars, rds)
#' qs_convert(rds, rif)
#' identical(qs_read(rif), mtcars)
#'
#' qs_to_rds(rif, rds)
#' identical(readRDS(rds), mtcars)
#' unlink(c(rds, rif))
qs_convert <- function(input_file, output_file, format = c("auto", "riffle", "qs2", "rds"),
                       compress_level = NULL, nthreads = qopt("nthreads")) {
  # C takes a connection, too, but one of ours
  if (!is_string(input_file)) {
    abort_argument("input_file", "the path of one file, as a string", input_file)
  }
  format <- file_format(format, output_file)
  if (is.null(compress_level)) compress_level <- if (identical(format, "rds")) 6L else 3L
  invisible(.Call(ffi_convert, input_file, output_file, format, compress_level, nthreads))
}

#' @rdname qs_convert
#' @export
qs_to_rds <- function(input_file, output_file, compress_level = 6L, nthreads = qopt("nthreads")) {
  qs_convert(input_file, output_file, "rds", compress_level, nthreads)
}

#' @rdname qs_convert
#' @export
rds_to_qs <- function(input_file, output_file, compress_level = 3L, nthreads = qopt("nthreads")) {
  format <- if (identical(file_format("auto", output_file), "qs2")) "qs2" else "riffle"
  qs_convert(input_file, output_file, format, compress_level, nthreads)
}
