#' A file as if it were the object in it
#'
#' [qs_open()] gives an object that stands for the data frame or list in a file: it has names,
#' dimensions, elements, rows and columns, and reads what is asked for when it is asked for.
#'
#' Of a riffle file that has an index (all but small ones have) only the index is read, and later
#' the blocks that hold what is asked for. It stays open, and is seen as it was then, even if
#' another save replaces it, until [close()] or until the object is collected. (Windows lets no file
#' be replaced or removed that is open.) Of any other file,
#' and of a connection, all is read at once and kept.
#'
#' Indexes are those of the object: `x[j]`, `x[i, j]`, `x[i, ]` and `x[, j]` of a data frame, with
#' positive, negative, logical and name indexes, in any order and with repeats, drop as its class
#' does: a `data.frame` gives the column itself where one is left, tibbles and data.tables do not.
#' `x[j]` means columns, of data.tables, too.
#' Of rows, those from the first to the last one asked for are read. Names are never completed, also
#' by `$`; a name that is not there gives `NULL`.
#'
#' @param file The path of the file, a string, or a connection, as of [qs_read()].
#' @param nthreads The number of threads to use, 1 to 256, the calling one included.
#' @param x,object,con What [qs_open()] returned.
#' @param i,j,drop,name,exact As for data frames and lists. A vector as `x[[i]]` is a path, `x[[i, j]]`
#'   one value of a data frame. `exact` is of no account.
#' @param value Not used: the object can't be changed.
#' @param n The number of rows or elements; a negative one: all but so many.
#' @param width The width of the lines, in characters.
#' @param row.names,optional,pattern,... Passed on to the methods of what was read, or ignored.
#'
#' @return [qs_open()]: an object of class `qs_file`. `x[...]`, `head()` and `tail()` give data
#'   frames of the file's class, or lists; `x$name` and `x[[i]]` an element. `x$meta` is what
#'   [qs_save()] kept as `meta`, if there is no element of that name. `as.data.frame()` and
#'   `as.list()` read all. `names()`, `length()`, `dim()` (so `nrow()` and `ncol()`), `dimnames()`
#'   and `row.names()` are those of the object. `print()` and `format()` show a dozen lines with the
#'   types, first and last rows; `str()` the structure.
#'
#'   Errors are of class `riffle_error`, see [riffle-package]; using it after [close()] is a
#'   `riffle_error_closed`.
#'
#'   What wants a data frame (`with()`, `subset()`, models, plots, verbs of dplyr) takes
#'   `as.data.frame(x)`, or what [qs_read()] gives with `lazy = TRUE`. The object is of this process: it
#'   can't be saved, or sent to another.
#' @seealso [qs_read()] for one part, [qs_chunks()] to walk all rows.
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' qs_save(mtcars, file)
#' cars <- qs_open(file)
#' cars
#' dim(cars)
#' cars$mpg
#' cars[cars$cyl == 6, c("mpg", "cyl", "hp")]
#' tail(cars, 2)
#' close(cars)
#' tryCatch(cars$mpg, riffle_error_closed = conditionMessage)
#' unlink(file)
qs_open <- function(file, nthreads = qopt("nthreads")) {
  source <- open_source(file, function() qs_read(file, nthreads = nthreads), nthreads,
                        by_handle = is_string(file))
  if (!source$by_handle) {
    beside <- meta_beside(file)
    source$meta <- function() beside
  }
  new_file(source, if (is.character(file)) sQuote(file, FALSE) else "the connection")
}

# That of a file whose object has no directory. What has no length may be a pipe, which has been read.
meta_beside <- function(file) {
  if (is_string(file) && isTRUE(file.size(file) > 0)) qs_info(file)$meta
}

# An environment, so that close() is seen by all who have the object.
new_file <- function(source, label) {
  state <- list2env(list(source = source, is_open = TRUE, label = label), parent = emptyenv())
  structure(state, class = "qs_file")
}

in_state <- function(x, name) get(name, envir = x, inherits = FALSE)

source_in <- function(x) {
  source <- in_state(x, "source")
  if (!in_state(x, "is_open")) source$fail("it was closed", "riffle_error_closed")
  source
}

frame_in <- function(x, what) {
  source <- source_in(x)
  need_frame(source, paste(what, "is"))
  source
}

list_in <- function(x) {
  source <- source_in(x)
  if (!source$is_list) {
    source$fail(sprintf("it holds %s, which has no parts: qs_read() reads it", source$what()))
  }
  source
}

#' @rdname qs_open
#' @export
close.qs_file <- function(con, ...) {
  source <- in_state(con, "source")
  if (in_state(con, "is_open")) source$close()
  assign("is_open", FALSE, envir = con)
  # what is in memory goes
  assign("source", source["fail"], envir = con)
  invisible(NULL)
}

# ---- names and dimensions -------------------------------------------------------------------

#' @rdname qs_open
#' @export
names.qs_file <- function(x) source_in(x)$names

#' @rdname qs_open
#' @export
length.qs_file <- function(x) {
  n <- source_in(x)$n
  if (n <= .Machine$integer.max) as.integer(n) else n
}

#' @rdname qs_open
#' @export
dim.qs_file <- function(x) {
  source <- source_in(x)
  if (is_frame(source)) as.integer(c(source$n_rows, source$n)) else source$attributes[["dim"]]
}

#' @rdname qs_open
#' @export
dimnames.qs_file <- function(x) {
  source <- source_in(x)
  if (!is_frame(source)) return(source$attributes[["dimnames"]])
  rows <- if (!"data.table" %in% source$attributes[["class"]]) as.character(all_row_names(source))
  list(rows, source$names)
}

#' @rdname qs_open
#' @export
row.names.qs_file <- function(x) as.character(all_row_names(frame_in(x, "row.names()")))

all_row_names <- function(source) source$row_names(1, source$n_rows)

#' @rawNamespace S3method(utils::.DollarNames, qs_file)
#' @rdname qs_open
.DollarNames.qs_file <- function(x, pattern = "") {
  grep(pattern, names(x), value = TRUE)
}

# ---- elements -------------------------------------------------------------------------------

#' @rdname qs_open
#' @export
`$.qs_file` <- function(x, name) {
  source <- source_in(x)
  if (name == "meta" && !"meta" %in% source$names) return(source$meta())
  element_named(list_in(x), name)
}

#' @rdname qs_open
#' @export
`[[.qs_file` <- function(x, i, j, exact = TRUE) {
  source <- list_in(x)
  if (!missing(j)) return(cell_at(frame_in(x, "x[[i, j]]"), i, j))
  if (is.character(i) && length(i) == 1 && !is.na(i)) return(element_named(source, i))
  check_index(i, "i", "a name or position, or several as a path")
  if (!length(i)) abort_argument("i", "a name or position, or several as a path", i)
  read_select(source, as.list(i))
}

# As base has it: of the column, element i.
cell_at <- function(source, i, j) {
  check_index(j, "j", "a name or position")
  at <- positions(j, source$names, source$n, source$fail, "column")
  if (length(i) != 1 || length(at) != 1) abort_argument("i", "one row, and `j` one column", i)
  rows <- rows_at(source, i)
  if (anyNA(row_numbers(rows)) || rows$n != 1 || rows$from > source$n_rows) {
    source$fail(sprintf("it has no row %s", index_text(i)))
  }
  read_columns(source, at, rows, TRUE)[[1]][[1]]
}

element_named <- function(source, name) {
  at <- match(name, source$names)
  if (!is.na(at) && nzchar(name)) source$read(at)[[1]]
}

#' @rdname qs_open
#' @export
`[.qs_file` <- function(x, i, j, drop) {
  source <- list_in(x)
  if (nargs() - (!missing(drop)) < 3) {
    return(if (missing(i)) source$whole() else elements_at(source, i))
  }
  frame_in(x, "x[i, j]")
  which <- if (!missing(j)) columns_at(source, j)
  frame <- read_frame(source, which, if (!missing(i)) rows_at(source, i))
  drop_frame(frame, source, if (!missing(drop)) drop)
}

elements_at <- function(source, i) {
  if (is_frame(source)) return(read_frame(source, columns_at(source, i)))
  at <- index_at(source$n, source$names, i, source)
  elements <- vector("list", length(at))
  elements[!is.na(at)] <- read_elements(source, unname(at[!is.na(at)]))
  names(elements) <- names(at)
  elements
}

# `[` itself tells what an index means. What is not there is NA.
index_at <- function(n, names, i, source) {
  if (is.list(i) || is.matrix(i)) source$fail("a list or matrix is no index for it")
  at <- seq_len(n)
  if (!is.null(names)) names(at) <- names
  tryCatch(at[i], error = function(e) {
    source$fail(sprintf("%s is no index for it", describe(i)))
  })
}

columns_at <- function(source, j) {
  at <- index_at(source$n, source$names, j, source)
  if (!anyNA(at)) return(sticky_columns(source, unname(at)))
  if (is.logical(j)) {
    source$fail(sprintf("it has %s, and the logical index %s elements",
                        plural(source$n, "column"), big_number(length(j))))
  }
  missing <- if (is.character(j)) sQuote(j[is.na(at)][1], FALSE) else max(j, na.rm = TRUE)
  source$fail(sprintf("it has no column %s", missing))
}

# By name, as base does: what begins like it will do, if there is only one.
rows_at <- function(source, i) {
  at <- if (is.character(i)) {
    pmatch(i, all_row_names(source), duplicates.ok = TRUE)
  } else {
    index_at(source$n_rows, NULL, i, source)
  }
  row_picks(at)
}

# `drop` as given, or NULL. Only base makes a list of a row.
drop_frame <- function(frame, source, drop) {
  is_base <- !keeps_attributes(source) && !inherits(frame, "sf")
  if (is.null(drop)) {
    drop <- is_base
  } else if (isTRUE(drop) && is_base && length(frame) > 1 && NROW(.subset2(frame, 1)) == 1) {
    return(structure(frame, class = NULL, row.names = NULL))
  }
  if (isTRUE(drop) && length(frame) == 1) .subset2(frame, 1) else frame
}

# ---- rows -----------------------------------------------------------------------------------

#' @rawNamespace S3method(utils::head, qs_file)
#' @rdname qs_open
head.qs_file <- function(x, n = 6L, ...) some_of(list_in(x), n, FALSE)

#' @rawNamespace S3method(utils::tail, qs_file)
#' @rdname qs_open
tail.qs_file <- function(x, n = 6L, ...) some_of(list_in(x), n, TRUE)

some_of <- function(source, n, at_end) {
  if (!is_whole(abs(n), 0, 2^53)) abort_argument("n", "a whole number", n)
  all <- if (is_frame(source)) source$n_rows else source$n
  count <- if (n < 0) max(all + n, 0) else min(n, all)
  rows <- row_span(if (at_end) all - count + 1 else 1, count)
  if (is_frame(source)) read_frame(source, NULL, rows) else elements_at(source, row_numbers(rows))
}

#' @rdname qs_open
#' @export
as.data.frame.qs_file <- function(x, row.names = NULL, optional = FALSE, ...) {
  object <- source_in(x)$whole()
  as.data.frame(object, row.names = row.names, optional = optional, ...)
}

#' @rdname qs_open
#' @export
as.list.qs_file <- function(x, ...) as.list(source_in(x)$whole(), ...)

# ---- nothing can be changed -----------------------------------------------------------------

refuse_change <- function(x, ..., value) {
  source_in(x)
  call <- own_call()
  raise("riffle_error_argument",
        sprintf("Can't change %s: it is open to be read only.", in_state(x, "label")), call)
}

#' @rdname qs_open
#' @export
`$<-.qs_file` <- refuse_change

#' @rdname qs_open
#' @export
`[[<-.qs_file` <- refuse_change

#' @rdname qs_open
#' @export
`[<-.qs_file` <- refuse_change

#' @rdname qs_open
#' @export
`names<-.qs_file` <- refuse_change

# ---- print ----------------------------------------------------------------------------------

#' @rdname qs_open
#' @export
print.qs_file <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}

#' @rdname qs_open
#' @export
format.qs_file <- function(x, width = getOption("width"), ...) {
  source <- source_in(x)
  c(format_title(x),
    if (is_frame(source)) frame_lines(source, width) else if (source$is_list) list_lines(source))
}

format_title <- function(x) {
  paste0("<qs_file> ", in_state(x, "label"), ": ", describe_file(source_in(x)))
}

describe_file <- function(source) {
  if (is_frame(source)) {
    return(sprintf("%s, %s x %s", source$attributes[["class"]][1], plural(source$n_rows, "row"),
                   plural(source$n, "column")))
  }
  if (!source$is_list) return(source$what())
  class <- source$attributes[["class"]]
  sprintf("%s of %s", if (is.null(class)) "list" else class[1], plural(source$n, "element"))
}

plural <- function(n, unit) {
  paste0(big_number(n), " ", unit, if (n != 1) "s")
}

big_number <- function(n) format(n, big.mark = ",", scientific = FALSE, trim = TRUE)

# The first and last rows, below names and types: as many columns as there is room for.
frame_lines <- function(source, width) {
  source <- remembering(source)
  n <- source$n_rows
  ends <- if (n <= 8) list(row_span(1, n)) else list(row_span(1, 4), row_span(n - 2, 3))
  with_dots <- function(texts) if (n <= 8) texts else append(texts, "...", 4)
  labels <- lapply(ends, function(rows) as.character(source$row_names(rows$from, rows$n)))
  lines <- format(c("", "", cut_text(with_dots(unlist(labels)), width %/% 4)))
  names <- source$names
  for (k in seq_len(source$n)) {
    columns <- lapply(ends, function(rows) read_columns(source, k, rows, TRUE)[[1]])
    column <- c(names[k], type_label(columns[[1]]), with_dots(cell_texts(columns)))
    wider <- paste(lines, formatC(column, width = max(nchar(column, "width"))))
    if (max(nchar(wider, "width")) > width) return(c(lines, more_columns(names[k:source$n], width)))
    lines <- wider
  }
  lines
}

more_columns <- function(names, width) {
  cut_text(paste("and", plural(length(names), "more column"), "-", toString(names)), width)
}

type_label <- function(x) {
  class <- oldClass(x)[1]
  short <- c(logical = "lgl", integer = "int", double = "dbl", complex = "cplx", character = "chr",
             factor = "fct", POSIXct = "dttm", POSIXlt = "dttm")
  type <- if (is.null(class) || is.na(class)) typeof(x) else class
  label <- if (type %in% names(short)) short[[type]] else type
  if (length(dim(x)) > 1 && !is.data.frame(x)) {
    label <- sprintf("%s[%s]", label, paste(c("", dim(x)[-1]), collapse = ","))
  }
  sprintf("<%s>", label)
}

# Bare numbers with as many digits at both ends.
cell_texts <- function(columns) {
  is_bare <- is.numeric(columns[[1]]) && is.null(attributes(columns[[1]]))
  if (is_bare) columns <- list(unlist(columns))
  unlist(lapply(columns, function(x) {
    text <- if (length(dim(x)) < 2) tryCatch(trimws(format(x)), error = function(e) NULL)
    if (length(text) == NROW(x)) cut_text(text, 20) else rep("...", NROW(x))
  }))
}

cut_text <- function(text, width) {
  long <- nchar(text, "width") > width
  text[long] <- paste0(strtrim(text[long], width - 3), "...")
  text
}

list_lines <- function(source) {
  all <- source$elements()
  shown <- seq_len(min(source$n, 10))
  names <- source$names
  table <- align(list(
    name = if (is.null(names)) format(shown) else cut_text(names[shown], 30),
    type = all$type[shown], class = all$class[shown], length = big_number(all$length[shown])
  ), right = "length")
  c(character(), if (length(shown)) paste0("  ", table),
    if (source$n > 10) sprintf("  and %s", plural(source$n - 10, "more element")))
}

#' @rawNamespace S3method(utils::str, qs_file)
#' @rdname qs_open
str.qs_file <- function(object, ...) {
  source <- source_in(object)
  cat(format_title(object), "\n", sep = "")
  if (is_frame(source)) {
    first <- unclass(read_frame(source, NULL, row_span(1, min(source$n_rows, 10))))
    first <- structure(first, names = source$names)
    settings <- list(object = as.list(first), no.list = TRUE, give.length = FALSE, give.attr = FALSE)
    do.call(utils::str, utils::modifyList(settings, list(...)))
  } else if (source$is_list) {
    writeLines(list_lines(source))
  }
}
