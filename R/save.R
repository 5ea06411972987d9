#' Save an object to a file
#'
#' Writes any R object to a file from which [qs_read()] restores it identical, as [saveRDS()] does,
#' but faster and smaller. The first four arguments are those of `qs2::qs_save()`.
#'
#' Everything that [saveRDS()] can save can be saved: plain data (vectors, lists, data frames) by
#' riffle's own code, all else by R's serializer, to the same stream of bytes.
#' The stream is cut into blocks (numeric vectors and character vectors in blocks of their own),
#' which `nthreads` threads filter, compress and checksum (XXH3) and write in order. The bytes
#' written do not depend on the number of threads.
#'
#' The file is written under a temporary name beside `file` and renamed when it is complete. Until
#' then an old file of that name stays as it is, also if the save fails, is interrupted or the
#' process is killed (a kill can leave the temporary file, `.riffle-<pid>-<n>.tmp`, behind). The new
#' file has the permissions of the old one, or those of any newly created file; it is not flushed to
#' the disk by force, as [saveRDS()] does not either. If `file` is a symbolic link its target is
#' replaced; a hard link is separated from its other names. Pipes, devices and names such as
#' `/dev/stdout` are written to directly; a pipe that nobody reads delays an interrupt.
#'
#' `file` can also be a connection. One that is open, in binary mode, is written to from where it
#' stands, by [writeBin()] in pieces of about a MiB, and stays open: several objects, and other
#' bytes between them, can be written one after the other, and [qs_read()] takes them back one by
#' one. If saving fails a part of the object has been written. Small writes wait in R's own buffer,
#' and R does not tell of all that fail there: close the connection before you rely on it. A
#' connection that is not open is opened, written and closed again, and stays a valid connection, as
#' with [saveRDS()]: a [file()] or [fifo()] as its path would be, what a [pipe()] runs as its
#' command, which has to succeed; for a [gzfile()], [bzfile()] or [xzfile()] the file is put
#' together in memory first. Others must be open. What is written is compressed: a connection that
#' compresses, too, gains nothing.
#'
#' @param object Any R object.
#' @param file The path of the file, a string, or a connection, such as one made by
#'   [rawConnection()], [file()], [gzcon()], [pipe()], [fifo()] or [socketConnection()]. In a path
#'   `~` is expanded. The usual extension is `.rif`.
#' @param compress_level The codec's level, a whole number. For `"zstd"` from `-131072` (fastest) to
#'   `22` (smallest), for `"lz4"` from `1` to `12`; ignored by `"none"`. The default, 1, is where
#'   the measured curve of time against size bends (`inst/bench/results/curve.csv`): with level -1
#'   prices came out 1.1 and strings 2.3 times as large for up to 4 ms of 11, and no level up to 12
#'   made data frames, prices or strings more than 0.3 % smaller, at up to 8 times the time.
#'   Functions and models gain 4 % at level 3.
#' @param shuffle `TRUE` to rearrange numbers and strings so that they compress better, `FALSE` to
#'   compress them as they are.
#' @param nthreads The number of threads to use, 1 to 256, the calling one included. Small objects
#'   are saved by the calling thread alone.
#' @param codec How blocks are compressed: `"zstd"`, `"lz4"` (faster, larger) or `"none"`. A block
#'   that does not get smaller is stored as it is.
#' @param refhook A function that is called for each environment, external pointer and weak
#'   reference, and returns a character vector that stands for it, or `NULL` to save it as usual.
#'   See [saveRDS()].
#'
#' @param format The format of the file: riffle's own, that of qs2 (which `qs2::qs_read()` reads),
#'   or RDS (compressed by gzip, which [readRDS()] reads; on a connection that compresses, by that
#'   alone). `"auto"` goes by the extension of `file`, if it is a path: `.qs2`, `.rds`, or any other
#'   for riffle's own. A qs2 file has its hash in front, so it can't go to a connection or a pipe.
#'   For the last two `codec` is as their format has it, `compress_level` is 3 by default for qs2
#'   (levels of zstd) and 6 for RDS (0 to 9, of gzip), and `shuffle` is of no account for RDS.
#' @param progress `TRUE` to show a progress bar, with throughput and time left, once saving has
#'   taken 2 seconds; it needs the cli package, without which there is none. `NULL`: as the option
#'   `riffle.progress` says or, if that is not set, only in an interactive session.
#' @param meta A list, each element with a name of its own, of plain data to keep beside the object,
#'   at most 1 MiB as [marshall()] makes it: where the object comes from, units, a version. It is no
#'   part of the object; `qs_info(file)$meta` and `qs_open(file)$meta` give it without reading that.
#'   Only riffle's own format has it.
#'
#' @return `NULL`, invisibly. Errors are of class `riffle_error`, see [riffle-package].
#'
#' @references
#' The file format: `system.file("FORMAT.md", package = "riffle")`. Zstandard: RFC 8878. LZ4 block
#' format: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>. XXH3:
#' <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.
#' @seealso [qs_read()], [qs_serialize()] for raw vectors.
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' qs_save(mtcars, file)
#' identical(qs_read(file), mtcars)
#'
#' # smaller, and slower to write
#' qs_save(mtcars, file, compress_level = 19)
#' file.size(file)
#' unlink(file)
#'
#' # two objects on one connection
#' con <- rawConnection(raw(), "r+")
#' qs_save(mtcars, con)
#' qs_save(letters, con)
#' seek(con, 0)
#' identical(qs_read(con), mtcars)
#' qs_read(con)
#' close(con)
qs_save <- function(object, file, compress_level = qopt("compress_level"),
                    shuffle = qopt("shuffle"), nthreads = qopt("nthreads"),
                    codec = c("zstd", "lz4", "none"), refhook = NULL,
                    format = c("auto", "riffle", "qs2", "rds"), progress = NULL, meta = NULL) {
  to <- if (inherits(file, "connection")) sink_of(file) else list(file = file)
  if (!is.null(to$close)) on.exit(to$close())
  format <- file_format(format, to$file)
  meta <- check_meta(meta, format)
  if (missing(compress_level) && is_foreign(format)) compress_level <- foreign_level[[format]]
  if (identical(format, "rds") && compresses(file)) format <- "stream"
  .Call(ffi_save, object, to$file, compress_level, shuffle, nthreads, codec, refhook, format, progress,
        meta)
  if (!is.null(to$finish)) to$finish()
  invisible(NULL)
}

# The levels that qs2 and saveRDS() take by themselves.
foreign_level <- c(qs2 = 3L, rds = 6L)

is_foreign <- function(format) identical(format, "qs2") || identical(format, "rds")

# A connection that does it by itself: what readRDS() reads is compressed once.
compresses <- function(con) inherits(con, c("gzfile", "bzfile", "xzfile", "gzcon"))

# The format to write: "auto", or the vector of all choices, goes by the file's extension.
file_format <- function(format, file) {
  if (!identical(format[1], "auto")) return(format)
  path <- if (is.character(file) && length(file) == 1 && !is.na(file)) tolower(file) else ""
  if (endsWith(path, ".qs2")) "qs2" else if (endsWith(path, ".rds")) "rds" else "riffle"
}

# NULL, or its bytes.
check_meta <- function(meta, format = "riffle") {
  if (is.null(meta)) return(NULL)
  takes <- "a list of plain data, each with a name of its own"
  if (!is_named_list(meta) || anyDuplicated(names(meta)) || !.Call(ffi_is_plain, meta)) {
    abort_argument("meta", takes, meta)
  }
  if (is_foreign(format)) abort_argument("meta", "NULL for a file that is not riffle's own", meta)
  bytes <- marshall(meta)
  if (length(bytes) > 2^20) abort_argument("meta", "of at most 1 MiB", meta)
  comes_back <- tryCatch(is.list(get_meta(bytes)), riffle_error = function(e) FALSE)
  if (!comes_back) abort_argument("meta", takes, meta)
  bytes
}

get_meta <- function(bytes) if (!is.null(bytes)) unmarshall(bytes, data_only = TRUE)

#' Save an object to a raw vector
#'
#' [qs_serialize()] makes a raw vector with the bytes that [qs_save()] would write to a file;
#' [qs_deserialize()] restores the object from it. Both work over 2^31 bytes, and show progress as
#' [qs_save()] does by default.
#'
#' @inheritParams qs_save
#' @param input A raw vector made by [qs_serialize()], or the content of a file made by [qs_save()].
#' @inheritParams qs_read
#'
#' @return [qs_serialize()]: a raw vector. [qs_deserialize()]: the object. Errors are of class
#'   `riffle_error`, see [riffle-package].
#' @seealso [marshall()] for the stream without compression and checksums.
#' @export
#' @examples
#' bytes <- qs_serialize(mtcars)
#' length(bytes)
#' identical(qs_deserialize(bytes), mtcars)
qs_serialize <- function(object, compress_level = qopt("compress_level"),
                         shuffle = qopt("shuffle"), nthreads = qopt("nthreads"),
                         codec = c("zstd", "lz4", "none"), refhook = NULL) {
  .Call(ffi_serialize, object, compress_level, shuffle, nthreads, codec, refhook)
}
