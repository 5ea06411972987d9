#' Compress and decompress bytes
#'
#' [qs_compress()] compresses a raw vector to standard zstd or LZ4 frames, which the command line
#' tools `zstd -d` and `lz4 -d` and any other reader of the formats take. [qs_decompress()] reads
#' frames of both kinds, also those that other tools made. To keep an R object use [qs_serialize()].
#'
#' A vector of more than 4 MiB (8 MiB from level 10 of zstd on) becomes several frames, one after the
#' other, made and decoded by `nthreads` threads side by side; readers take them as one. Each tells its
#' content's size and has a checksum. The bytes do not depend on the number of threads.
#'
#' [qs_decompress()] knows frames by their first bytes and takes any sequence of them; skippable
#' frames are skipped. A frame larger than 64 MiB or one that does not tell its size (as of
#' `zstd < input`, `lz4 file`) is decoded by one thread. The size that a frame tells is believed only
#' so far as its blocks could hold it, and memory for it is taken at once only where it is in
#' proportion to the input. That a few kilobytes become gigabytes is possible all the same: for input
#' that cannot be trusted set `max_size`. Frames that need a dictionary, and the legacy format of LZ4,
#' are not read. Whole frames that are missing at the end cannot be noticed.
#'
#' @param x A raw vector; attributes are dropped.
#' @param codec `"zstd"`, or `"lz4"` (faster, larger).
#' @param compress_level The codec's level, a whole number. For `"zstd"` from `-131072` (fastest) to
#'   `22` (smallest), for `"lz4"` from `1` to `12` (from 3 on slower and smaller).
#' @param nthreads The number of threads to use, 1 to 256, the calling one included.
#' @param max_size The largest size of the result in bytes.
#'
#' @return A raw vector. Errors are of class `riffle_error`, see [riffle-package]: among them
#'   `riffle_error_corrupt` for damaged or truncated input, `riffle_error_format` for other formats
#'   and `riffle_error_limit` for more than `max_size` bytes.
#' @references Zstandard: RFC 8878. LZ4 frame format:
#'   <https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>.
#' @export
#' @examples
#' x <- charToRaw(strrep("riffle ", 1000))
#' z <- qs_compress(x)
#' length(z)
#' identical(qs_decompress(z), x)
#'
#' # a file that `zstd -d` reads
#' file <- tempfile(fileext = ".zst")
#' writeBin(z, file)
#' unlink(file)
qs_compress <- function(x, codec = c("zstd", "lz4"), compress_level = qopt("compress_level"),
                        nthreads = qopt("nthreads")) {
  .Call(ffi_compress, x, codec, compress_level, nthreads)
}

#' @rdname qs_compress
#' @export
qs_decompress <- function(x, nthreads = qopt("nthreads"), max_size = Inf) {
  .Call(ffi_decompress, x, max_size, nthreads)
}
