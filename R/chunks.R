#' A data frame in a file, some rows at a time
#'
#' [qs_chunks()] gives a function that reads the next rows of a data frame each time it is called;
#' [qs_apply()] calls a function with each piece. So a frame larger than memory can be walked.
#'
#' Of a riffle file that has an index, only the rows of one piece are in memory, and the system
#' reads ahead those of the next; what can't be read by rows (columns that are lists, matrices or
#' data frames) is read once and kept. Of any other file, and of a connection, all is read at once
#' and kept.
#'
#' Pieces are what `x[from:to, , drop = FALSE]` gives, or `x[from:to, columns, drop = FALSE]`. A
#' frame without rows has no pieces.
#'
#' @param file The path of the file, a string, or a connection, as of [qs_read()].
#' @param rows The number of rows in a piece, a whole number; the last one may have fewer.
#' @param columns The columns to read, by names or positions, each once. `NULL` for all.
#' @param nthreads The number of threads to use, 1 to 256, the calling one included.
#' @param f A function, or the name of one, that is called with each piece.
#' @param ... [qs_apply()]: further arguments of `f`. Else ignored.
#' @param x,con What [qs_chunks()] returned.
#'
#' @return [qs_chunks()]: a function without arguments, of class `qs_chunks`. It returns the next
#'   piece, a data frame, and at the end, or after [close()], `NULL`. The file is closed with its
#'   last piece.
#'
#'   [qs_apply()]: a list of the values of `f`, in order; `list()` for a frame without rows.
#'
#'   Errors are of class `riffle_error`, see [riffle-package]; a file that holds no data frame is a
#'   `riffle_error_argument`.
#' @seealso [qs_read()] for one part, [qs_open()] for parts by indexes.
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' qs_save(data.frame(x = 1:25, y = rnorm(25)), file)
#'
#' next_piece <- qs_chunks(file, rows = 10)
#' while (!is.null(piece <- next_piece())) print(dim(piece))
#'
#' qs_apply(file, function(piece) sum(piece$x), rows = 10)
#' unlink(file)
qs_chunks <- function(file, rows = 1e6, columns = NULL, nthreads = qopt("nthreads")) {
  if (!is_whole(rows, 1, 2^53)) abort_argument("rows", "a number of rows, 1 or more", rows)
  check_columns(columns)
  source <- open_source(file, function() qs_read(file, nthreads = nthreads), nthreads,
                        by_handle = is_string(file))
  need_frame(source, "pieces are")
  new_chunks(remembering(source), rows, column_positions(source, columns),
             if (is.character(file)) sQuote(file, FALSE) else "the connection")
}

new_chunks <- function(source, rows, which, label) {
  n_rows <- source$n_rows
  done <- 0
  at <- if (is.null(which)) seq_len(source$n) else sort(which)
  simple <- at[source$simple[at]]
  stop_here <- function() {
    if (!is.null(source)) source$close()
    source <<- NULL
  }
  next_span <- function() row_span(done + 1, min(rows, n_rows - done))
  next_piece <- function() {
    if (is.null(source)) return(NULL)
    piece <- if (done < n_rows) read_frame(source, which, next_span())
    done <<- min(done + rows, n_rows)
    ahead <- next_span()
    if (ahead$n > 0) source$advise(simple, ahead$from, ahead$n) else stop_here()
    piece
  }
  structure(next_piece, class = "qs_chunks")
}

# What can only be read whole is so for one piece, not for each.
remembering <- function(source) {
  kept <- vector("list", source$n)
  read <- source$read
  whole <- function(which) {
    new <- which[vapply(kept[which], is.null, NA)]
    if (length(new)) kept[new] <<- lapply(read(new), list)
    lapply(kept[which], `[[`, 1)
  }
  source$read <- function(which, from = NULL, n = NULL) {
    ranged <- !is.null(from) & source$simple[which]
    values <- vector("list", length(which))
    if (any(ranged)) values[ranged] <- read(which[ranged], from, n)
    values[!ranged] <- whole(which[!ranged])
    values
  }
  source
}

#' @rdname qs_chunks
#' @export
qs_apply <- function(file, f, rows = 1e6, columns = NULL, ..., nthreads = qopt("nthreads")) {
  f <- match.fun(f)
  next_piece <- qs_chunks(file, rows, columns, nthreads)
  on.exit(close(next_piece))
  values <- list()
  repeat {
    piece <- next_piece()
    if (is.null(piece)) return(values)
    values[length(values) + 1] <- list(f(piece, ...))
    # not to be there while the next one is read
    piece <- NULL
  }
}

#' @rdname qs_chunks
#' @export
close.qs_chunks <- function(con, ...) {
  environment(con)$stop_here()
  invisible(NULL)
}

#' @rdname qs_chunks
#' @export
print.qs_chunks <- function(x, ...) {
  state <- environment(x)
  cat(sprintf("<qs_chunks> %s: %s of %s done, %s in a piece%s\n", state$label,
              big_number(state$done), plural(state$n_rows, "row"), big_number(state$rows),
              if (is.null(state$source)) ", closed" else ""))
  invisible(x)
}
