#' What is in a file
#'
#' Tells of a riffle, qs2 or RDS file what wrote it, how large its stream is and where the bytes
#' are, without making the object.
#'
#' Of a riffle file only its index is read, where it has one (see [qs_open()]); of others and of qs2
#' files only headers are, and the first block. The stream of an RDS file
#' that is compressed has to be unpacked for its length, which is done with `validate = TRUE` only,
#' in pieces: memory stays small. (A `file` that cannot seek, such as a fifo, is read into memory.)
#'
#' `validate = TRUE` reads all of the file and verifies every checksum that it has: those of each
#' block and of their order (riffle), of all that follows the header (qs2), of each gzip member,
#' zstd frame or xz block. Damage is an error of class `riffle_error_corrupt`, as it is when
#' reading. Of a bzip2 file R does not tell whether its checksums hold: its end is looked for, and
#' the state stays `"not checked"`. A qs2 file without a checksum is decoded, block by block.
#'
#' @param file The path of the file, a string (`~` is expanded), or a raw vector with the content of
#'   one, as [qs_serialize()] makes it.
#' @param validate `TRUE` to verify all checksums.
#' @param x What [qs_info()] returned.
#' @param ... For `plot()`: passed on to [graphics::barplot()]. Else ignored.
#'
#' @return [qs_info()]: a list of class `qs_info`. Sizes are numbers of bytes, as doubles.
#'   \describe{
#'     \item{`file`}{the path, `NA` for a raw vector}
#'     \item{`format`}{`"riffle"`, `"qs2"` or `"rds"`}
#'     \item{`format_version`}{of that format, an integer; `NA` for RDS}
#'     \item{`stream_version`}{of R's serialization format: 2 or 3}
#'     \item{`encoding`}{of the stream: `"binary little-endian"`, `"binary big-endian"`, `"xdr"` or
#'       `"ascii"`}
#'     \item{`r_version`}{the version of R that wrote it, a string}
#'     \item{`file_bytes`}{the length of the file}
#'     \item{`stream_bytes`}{the length of the stream; `NA`: not known without unpacking it all}
#'     \item{`ratio`}{stream bytes for a byte of the file}
#'     \item{`codec`}{how it is compressed, without repeats: of `"zstd"`, `"lz4"`, `"gzip"`,
#'       `"bzip2"`, `"xz"`, `"lzma"`, `"none"`}
#'     \item{`n_blocks`}{blocks; of RDS: gzip members or zstd frames, `NA` if not known}
#'     \item{`plain`}{riffle: whether the stream holds plain data only; `NA` if nobody looked, as in
#'       a converted file, and of other formats}
#'     \item{`shuffled_blocks`}{qs2: the number of blocks with shuffled bytes, else `NA`}
#'     \item{`checksum`}{`"not checked"`, `"valid"`, or `"not stored"`}
#'     \item{`blocks`}{a data frame with a row for each `kind`, `filter` and `codec`: `count`,
#'       `stream_bytes`, `stored_bytes` (in the file, the blocks' headers included); the largest
#'       first; the index is one of them, of kind `"index"`, and not among `n_blocks`}
#'     \item{`class`, `n_rows`, `elements`}{what is at the top, if that is a list or data frame of
#'       plain data in a riffle file with an index, else `NULL`: its class (`"list"` if it has none), the
#'       number of rows of a data frame, and a data frame with a row for each element or column:
#'       `name`, `type` (as of [typeof()]), `class` (its names, joined by `/`), `length`,
#'       `stored_bytes` (in the file; of a block with several elements each has its share)}
#'     \item{`meta`}{the list that was given to [qs_save()] as `meta`, or `NULL`}
#'   }
#'   Kinds and filters are those of `system.file("FORMAT.md", package = "riffle")`; an RDS file is
#'   one block of kind `"stream"`.
#'
#'   `format()`: one line. `as.data.frame()`: the blocks, with columns `file` and `format` before
#'   them. `plot()` draws the stored bytes and those of the stream by kind and filter, and returns
#'   them as a matrix, invisibly.
#'
#'   Any other file is an error of class `riffle_error_format`, see [riffle-package].
#' @seealso [qs_read()]
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' qs_save(list(x = 1:1e5, y = rnorm(1e5), z = sample(letters, 1e5, TRUE)), file)
#' info <- qs_info(file, validate = TRUE)
#' info
#' info$blocks
#' plot(info)
#' unlink(file)
qs_info <- function(file, validate = FALSE) {
  info <- .Call(ffi_info, file, validate, NULL)
  path <- if (is.character(file)) file else NA_character_
  if (!is.null(info$packing) && info$packing %in% c("bzip2", "xz", "lzma")) {
    bytes <- if (is.raw(file)) file else info$slurped
    unpacked <- unpack_rds(path, bytes, info$packing, validate, sys.call())
    info <- .Call(ffi_info, if (is.null(bytes)) file else bytes, validate, unpacked$head)
    info[c("stream_bytes", "checksum")] <- unpacked[c("stream_bytes", "checksum")]
  }
  new_info(path, info, elements_of(file))
}

# What a directory tells of the elements at the top, or NULL.
elements_of <- function(file) {
  handle <- .Call(ffi_part_open, file)
  if (is.null(handle)) return(NULL)
  source <- handle_source(handle, fail_for(file), 1L, FALSE)
  on.exit(source$close())
  names <- source$names
  elements <- source$elements()
  class <- source$attributes[["class"]]
  list(
    class = if (is.null(class)) "list" else class, n_rows = source$n_rows,
    elements = data.frame(name = if (is.null(names)) rep("", source$n) else names,
                          type = elements$type, class = elements$class, length = elements$length,
                          stored_bytes = .Call(ffi_part_stored, handle), stringsAsFactors = FALSE)
  )
}

new_info <- function(path, info, parts) {
  blocks <- info$blocks
  names(blocks) <- c("kind", "filter", "codec", "count", "stream_bytes", "stored_bytes")
  if (info$format == "rds") {
    blocks <- list(kind = "stream", filter = "none", codec = info$packing, count = info$n_blocks,
                   stream_bytes = info$stream_bytes, stored_bytes = info$file_bytes)
  }
  blocks <- data.frame(blocks, stringsAsFactors = FALSE)
  blocks <- blocks[order(-blocks$stored_bytes), , drop = FALSE]
  row.names(blocks) <- NULL
  head <- c("format", "format_version", "stream_version", "encoding", "r_version", "file_bytes",
            "stream_bytes")
  structure(
    c(list(file = path), info[head],
      list(ratio = info$stream_bytes / info$file_bytes, codec = unique(blocks$codec)),
      info[c("n_blocks", "plain", "shuffled_blocks", "checksum")],
      list(blocks = blocks, class = parts$class, n_rows = parts$n_rows, elements = parts$elements,
           meta = get_meta(info$meta))),
    class = "qs_info"
  )
}

# ---- bzip2, xz, lzma -----------------------------------------------------------------------

# The first bytes of a stream that R unpacks and, to validate, its length and state.
unpack_rds <- function(path, bytes, packing, validate, call) {
  subject <- if (is.na(path)) "the raw vector" else sQuote(path, FALSE)
  corrupt <- function(...) {
    reason <- "it is corrupt (its compressed data does not decode)"
    raise("riffle_error_corrupt", paste0("Can't read ", subject, ": ", reason, "."), call)
  }
  if (!is.null(bytes)) {
    path <- tempfile()
    on.exit(unlink(path))
    writeBin(bytes, path)
  }
  # R warns of damaged xz data, and gives what came out of it
  unpacked <- tryCatch(unpack_pieces(path, validate), error = corrupt, warning = corrupt)
  unpacked$checksum <- "not checked"
  if (!validate) return(unpacked)
  ends <- read_ends(path)
  ended <- switch(packing, xz = ends_as_xz(ends$last), bzip2 = ends_as_bzip2(ends$last), TRUE)
  if (!ended) {
    reason <- "it is truncated, or bytes were added to its end"
    raise("riffle_error_corrupt", paste0("Can't read ", subject, ": ", reason, "."), call)
  }
  has_none <- packing == "lzma" || ends$first[8] == 0
  if (packing != "bzip2") unpacked$checksum <- if (has_none) "not stored" else "valid"
  unpacked
}

unpack_pieces <- function(path, to_the_end) {
  con <- gzfile(path, "rb")
  on.exit(close(con))
  head <- readBin(con, "raw", 64)
  n <- length(head)
  if (!to_the_end) return(list(head = head, stream_bytes = NA_real_))
  repeat {
    piece <- length(readBin(con, "raw", 2^20))
    if (piece == 0) return(list(head = head, stream_bytes = as.numeric(n)))
    n <- n + piece
  }
}

read_ends <- function(path) {
  con <- file(path, "rb")
  on.exit(close(con))
  first <- readBin(con, "raw", 16)
  seek(con, max(0, file.size(path) - 16))
  list(first = first, last = readBin(con, "raw", 16))
}

ends_as_xz <- function(last) identical(tail_of(last, 2), charToRaw("YZ"))

# The last bits are those of a mark of six bytes and of a checksum of four; up to seven more fill
# the last byte.
ends_as_bzip2 <- function(last) {
  bits <- function(bytes) paste(as.integer(unlist(lapply(bytes, function(b) rev(rawToBits(b))))),
                                collapse = "")
  mark <- bits(as.raw(c(0x17, 0x72, 0x45, 0x38, 0x50, 0x90)))
  text <- bits(tail_of(last, 11))
  any(vapply(0:7, function(fill) {
    end <- nchar(text) - fill - 32
    substr(text, end - 47, end) == mark
  }, NA))
}

tail_of <- function(x, n) x[seq_along(x) > length(x) - n]

# ---- methods -------------------------------------------------------------------------------

human_size <- function(n) {
  unit <- pmin(pmax(floor(log(pmax(n, 1), 1024)), 0), 4)
  ifelse(is.na(n), "unknown",
         ifelse(unit == 0, sprintf("%.0f B", n),
                sprintf("%.1f %s", n / 1024^unit, c("B", "KiB", "MiB", "GiB", "TiB")[unit + 1])))
}

exact_size <- function(n) {
  if (is.na(n)) return("unknown: compressed as a whole, and not unpacked")
  exact <- paste(format(n, big.mark = ",", scientific = FALSE), "bytes")
  if (n < 1024) exact else sprintf("%s (%s)", human_size(n), exact)
}

info_name <- function(x) if (is.na(x$file)) "raw vector" else sprintf("file '%s'", x$file)

describe_blocks <- function(x) {
  n <- if (!is.na(x$n_blocks)) paste0(format(x$n_blocks, big.mark = ",", scientific = FALSE), ", ")
  paste(c(paste0(n, "codec ", paste(x$codec, collapse = ", ")),
          if (isTRUE(x$plain)) "plain data",
          if (!is.na(x$shuffled_blocks)) paste(x$shuffled_blocks, "shuffled")), collapse = "; ")
}

# What is at the top, if there is a directory, in a few lines.
describe_elements_of <- function(x) {
  if (is.null(x$elements)) return(NULL)
  n <- nrow(x$elements)
  most <- if (n > 6) 5 else n
  shown <- x$elements[seq_len(most), ]
  what <- if (is.null(x$n_rows)) plural(n, "element")
          else paste0(plural(x$n_rows, "row"), ", ", plural(n, "column"))
  table <- align(list(name = shown$name, type = shown$type, class = shown$class,
                      length = big_number(shown$length), stored = human_size(shown$stored_bytes)),
                 right = c("length", "stored"))
  c(sprintf("  object     %s, %s", paste(x$class, collapse = "/"), what),
    if (n > 0) paste0("  ", table),
    if (most < n) sprintf("  and %s more in $elements", big_number(n - most)))
}

# Text in columns of equal width, with their names above; those in `right` are numbers.
align <- function(columns, right) {
  padded <- lapply(names(columns), function(name) {
    format(c(name, columns[[name]]), justify = if (name %in% right) "right" else "left")
  })
  sub(" +$", "", do.call(paste, c(padded, sep = "  ")))
}

#' @rdname qs_info
#' @export
print.qs_info <- function(x, ...) {
  rows <- x$blocks
  most <- if (nrow(rows) > 5) 4 else nrow(rows)  # a dozen lines in all
  version <- if (is.na(x$format_version)) "" else paste0(" (format version ", x$format_version, ")")
  ratio <- if (is.na(x$ratio)) "" else sprintf(", ratio %.2f", x$ratio)
  shown <- rows[seq_len(most), ]
  table <- align(list(kind = shown$kind, filter = shown$filter, codec = shown$codec,
                      count = ifelse(is.na(shown$count), "", format(shown$count, trim = TRUE)),
                      stream = human_size(shown$stream_bytes),
                      stored = human_size(shown$stored_bytes)),
                 right = c("count", "stream", "stored"))
  writeLines(c(
    sprintf("%s %s%s", x$format, info_name(x), version),
    sprintf("  stream     %s", exact_size(x$stream_bytes)),
    sprintf("             version %s, %s, written by R %s", x$stream_version, x$encoding,
            x$r_version),
    sprintf("  file       %s%s", exact_size(x$file_bytes), ratio),
    sprintf("  blocks     %s", describe_blocks(x)),
    sprintf("  checksums  %s", x$checksum),
    if (!is.null(x$meta)) sprintf("  meta       %s", paste(names(x$meta), collapse = ", ")),
    describe_elements_of(x),
    if (x$format != "rds") paste0("  ", table),
    if (most < nrow(rows)) sprintf("  and %d more rows in $blocks", nrow(rows) - most)
  ))
  invisible(x)
}

#' @rdname qs_info
#' @export
format.qs_info <- function(x, ...) {
  ratio <- if (is.na(x$ratio)) "" else sprintf(" (ratio %.2f)", x$ratio)
  sprintf("%s %s: stream %s, stored %s%s, codec %s, written by R %s, checksums %s", x$format,
          info_name(x), human_size(x$stream_bytes), human_size(x$file_bytes), ratio,
          paste(x$codec, collapse = ", "), x$r_version, x$checksum)
}

#' @rdname qs_info
#' @param row.names,optional As for [as.data.frame()]; `optional` is ignored.
#' @export
as.data.frame.qs_info <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(file = rep(x$file, nrow(x$blocks)), format = rep(x$format, nrow(x$blocks)), x$blocks,
             row.names = row.names, stringsAsFactors = FALSE)
}

#' @rdname qs_info
#' @param col The colours of the parts.
#' @export
plot.qs_info <- function(x, col = NULL, ...) {
  filter <- ifelse(x$blocks$filter == "none", "", paste0(": ", x$blocks$filter))
  part <- paste0(x$blocks$kind, filter)
  part <- factor(part, levels = unique(part))
  total <- function(bytes) vapply(split(bytes, part), sum, 0)
  # barplot() draws from below: what is stored comes under the stream that it stands for
  bytes <- cbind(stored = total(x$blocks$stored_bytes), stream = total(x$blocks$stream_bytes))
  known <- bytes[, !is.na(bytes[1, ]), drop = FALSE]
  unit <- min(max(floor(log(max(colSums(known), 1), 1024)), 0), 4)
  if (is.null(col)) col <- grDevices::hcl.colors(nrow(bytes), "Set 2")
  settings <- list(
    horiz = TRUE, col = col, border = NA, las = 1,
    ylim = c(0, 1.2 * ncol(known) + 0.35 * ceiling(nrow(bytes) / 3)),
    xlab = c("B", "KiB", "MiB", "GiB", "TiB")[unit + 1],
    main = paste(x$format, if (is.na(x$file)) "raw vector" else basename(x$file)),
    legend.text = rownames(bytes),
    args.legend = list(x = "top", bty = "n", border = NA, ncol = min(3, nrow(bytes)))
  )
  do.call(graphics::barplot, c(list(known / 1024^unit), utils::modifyList(settings, list(...))))
  invisible(bytes)
}
