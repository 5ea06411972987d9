#' Read an object from a file
#'
#' Restores the object that [qs_save()] wrote. The first three arguments are those of
#' `qs2::qs_read()`.
#'
#' Each block's checksum is verified before its bytes are used, always. A file that was cut short,
#' changed, or lengthened is an error, never an object.
#'
#' The format is told by the content, not by the name: riffle's own, qs2, and RDS in each of its
#' forms (compressed by gzip, bzip2, xz or, where this R can, zstd, or not at all; binary or ASCII).
#' The hash of a qs2 file is verified before any byte is used; one that has none is read with a
#' warning, or with `validate_checksum = TRUE` refused. The checksums in a gzip'ed file are verified
#' before the object is returned. What follows the object in an RDS file is ignored with a warning.
#' The option `riffle.max_bytes` sets a limit to the bytes of R's stream that are read, for files
#' that could be made to decompress to more than there is memory: more is an error of class
#' `riffle_error_limit`.
#'
#' A qs2 file and one compressed by gzip do not tell where they end: on a connection they are read
#' to its end, so nothing else can follow them. Of RDS objects on one [gzfile()] or [gzcon()] each
#' is read by itself.
#'
#' As with [readRDS()], an object from a source that cannot be trusted can hold code that runs when
#' it is used. With `data_only = TRUE` only data is made of such a file: vectors, lists, pairlists,
#' expression vectors, S4 instances and symbols, with their attributes. A file with anything else
#' (environments, functions, calls, promises, external pointers, byte code) is an error of class
#' `riffle_error_data_only` that names the type, before any of it is made; R's own unserializer gets
#' to see none of the file's bytes.
#'
#' A `file` that cannot seek, such as a fifo, is read from where it is to the end of one object. With
#' `validate_checksum = TRUE` that is read into memory first.
#'
#' `file` can also be a connection. One that is open, in binary mode, is read from where it stands, by
#' [readBin()], to the end of one object and no further, and stays open, for the next object or
#' other bytes. From one that does not block more is awaited until it has ended; a [fifo()] has when
#' nobody has it open for writing for 5 seconds. A connection that is not open is opened, read and
#' closed again, and stays a valid connection, as with [readRDS()]; of a [url()] all is read into
#' memory first. A socket must be open.
#'
#' @section Parts of a file:
#' With `columns`, `from` and `to`, or `select`, of a riffle file that has an index (all but small
#' ones have) only what is asked for is read, and the checksums of only these blocks are verified.
#' Of any other file, a connection, and with a `refhook`, all is read and the rest dropped.
#'
#' The part of a data frame is what `x[columns]` and `x[from:to, , drop = FALSE]` give, row names
#' included. A data frame of base R, and those of classes that riffle does not know, take a column's
#' rows by the `[` method of its class; where there is none, because its package is not loaded, the
#' attributes are kept as they are. Tibbles and data.tables keep attributes also of columns without
#' a class. The attributes of a data frame itself are kept if its class is not just `"data.frame"`:
#' that drops them where columns are chosen.
#'
#' A data.table keeps of its key what is there of it, and gets its spare columns if data.table is
#' loaded. An sf frame keeps its geometry, asked for or not; the bounding box of some of its rows is
#' that of all unless sf is loaded. Groups of dplyr are made anew by dplyr; without it they are
#' dropped with a warning of class `riffle_warning`.
#'
#' With `lazy = TRUE` a data frame or list comes at once, whatever its size: its long vectors (of 64 KiB
#' or more) know their length, class and attributes, and are read when an element of them is first
#' used (also by `head()` or `str()`), each one whole, by as many threads as `nthreads` says. Lists, also
#' those that are columns, and short vectors are read at once. `columns` and `select` choose among what
#' is lazy; rows can't be asked for. For as long as any of them is unread the
#' file stays open and is seen as it was: a save that replaces it, or its removal, does no harm (on
#' Windows neither is possible), but it must not be written to in place. A character vector with few distinct values is kept as these
#' and a number for each element until something needs its strings side by side. Such vectors can be
#' used, changed, saved and sent to other processes like any others; a forked process reads for
#' itself. Damage in a vector's blocks is found when it is first used: an error of class
#' `riffle_error_corrupt` that names the column and the file; the others can still be read. What can't be
#' lazy is read whole: a small file, which has no index, an object with functions or environments in
#' it, another format, a connection, and any file if there is a `refhook`.
#'
#' A column or element that is not there, and a part of an object that is no data frame or list, is
#' an error of class `riffle_error_argument`.
#'
#' @param file The path of the file, a string, or a connection, such as one made by
#'   [rawConnection()], [file()], [gzfile()], [gzcon()], [url()], [pipe()], [fifo()] or
#'   [socketConnection()]. In a path `~` is expanded.
#' @param validate_checksum `TRUE` to verify all checksums before the object is begun, which reads
#'   the file twice. With `FALSE` each block is verified just before it is used.
#' @param nthreads The number of threads to use, 1 to 256, the calling one included.
#' @param refhook A function that is called with each character vector that the `refhook` of
#'   [qs_save()] returned, and restores what it stands for.
#' @param data_only `TRUE` to accept plain data only: for files that cannot be trusted.
#' @param progress `TRUE` to show a progress bar, with throughput and time left, once reading has
#'   taken 2 seconds; it needs the cli package, without which there is none. `NULL`: as the option
#'   `riffle.progress` says or, if that is not set, only in an interactive session.
#' @param columns The columns of a data frame to read, by names or positions, in the order that they
#'   shall have, each once. `NULL` for all.
#' @param from,to The first and last row of a data frame to read, whole numbers. `NULL`: the frame's
#'   first and last. A `to` beyond the end is the end, a `from` beyond it gives no rows.
#' @param select The element of a list to read, by its name or position, as `[[` would; several, for
#'   a list of these, as `[` would; or as a list the steps of a path: `list("metrics", "auc")` is
#'   `x[["metrics"]][["auc"]]`, and the last step may be several. Names are never completed.
#' @param lazy `TRUE` to get a data frame or list whose elements are read when they are first used.
#'
#' @return The object. Errors are of class `riffle_error`, see [riffle-package].
#' @seealso [qs_save()]; [qs_open()] and [qs_chunks()] for files larger than memory.
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' qs_save(list(a = 1, b = letters), file)
#' qs_read(file)
#' qs_read(file, select = "a")
#'
#' # a few columns and rows
#' qs_save(mtcars, file)
#' qs_read(file, columns = c("mpg", "cyl"), from = 11, to = 13)
#'
#' # a damaged file is an error that says so
#' bytes <- readBin(file, "raw", file.size(file))
#' writeBin(head(bytes, -10), file)
#' tryCatch(qs_read(file), riffle_error = conditionMessage)
#' unlink(file)
#'
#' # from a connection
#' con <- rawConnection(qs_serialize(letters))
#' qs_read(con)
#' close(con)
qs_read <- function(file, validate_checksum = qopt("validate_checksum"),
                    nthreads = qopt("nthreads"), refhook = NULL, data_only = FALSE, progress = NULL,
                    columns = NULL, from = NULL, to = NULL, select = NULL, lazy = FALSE) {
  is_part <- !is.null(columns) || !is.null(from) || !is.null(to) || !is.null(select)
  if (is_part || !isFALSE(lazy)) {
    check_part(columns, from, to, select, lazy)
    whole <- function() qs_read(file, validate_checksum, nthreads, refhook, data_only, progress)
    by_handle <- is_string(file) && is.null(refhook)
    if (by_handle) validate_path(file, validate_checksum)
    if (lazy) {
      x <- if (by_handle) read_lazy(file, nthreads, data_only, whole) else whole()
      return(if (is_part) read_part(memory_source(x, fail_for(file)), columns, NULL, NULL, select) else x)
    }
    source <- open_source(file, whole, nthreads, data_only, by_handle)
    on.exit(source$close())
    return(read_part(source, columns, from, to, select))
  }
  input <- if (inherits(file, "connection")) source_of(file) else list(file = file)
  if (!is.null(input$close)) on.exit(input$close())
  .Call(ffi_read, input$file, validate_checksum, nthreads, refhook, data_only, progress)
}

#' @rdname qs_serialize
#' @export
qs_deserialize <- function(input, validate_checksum = qopt("validate_checksum"),
                           nthreads = qopt("nthreads"), refhook = NULL, data_only = FALSE) {
  .Call(ffi_deserialize, input, validate_checksum, nthreads, refhook, data_only)
}
