# Parts of a file: some columns and rows of a data frame, some elements of a list.
#
# All is read from a source, which is one of two kinds: a handle of C's on a file with an index, of
# which only what is asked for is read, or an object in memory, for every other file. A source is
# a list of
#   by_handle   which kind it is
#   is_list     whether there are parts
#   n           how many elements it has
#   simple      of which of these a range can be read
#   attributes  of the whole, but for row.names, which may be long
#   n_rows      of a data frame, else NULL
#   names       of the elements, or NULL
#   trusted     whether packages may be loaded for what is in it
#   meta()      what qs_save() kept beside the object, or NULL
#   read(which, from, n)  a list of elements, whole or, of the simple ones, `n` from `from` on;
#                         `which` ascends
#   row_names(from, n)    a vector, or as stored without a range: c(NA, -n) if they only count
#   elements()            of each: type, class, length
#   whole()     the object
#   advise(which, from, n)  that this will be read soon
#   close()
#   what        the object in a few words, for messages
#   fail(reason, class)   an error that names the file

# `whole` is a function that reads all. A handle is for paths of riffle's files with an index.
open_source <- function(file, whole, nthreads, data_only = FALSE, by_handle = is.character(file)) {
  handle <- if (by_handle) .Call(ffi_part_open, file)
  if (is.null(handle)) return(memory_source(whole(), fail_for(file)))
  handle_source(handle, fail_for(file), nthreads, data_only)
}

fail_for <- function(file) {
  is_path <- is.character(file)
  subject <- if (is_path) file else if (is.raw(file)) "the raw vector" else "the connection"
  function(reason, class = "riffle_error_argument") {
    abort(class, c("Can't read ", subject, reason), is_path)
  }
}

handle_source <- function(handle, fail, nthreads, data_only) {
  about <- .Call(ffi_part_about, handle)
  whole <- function() .Call(ffi_part_whole, handle, nthreads, data_only)
  kept <- NULL
  # where one part refers to another, as copies of a data.table do, C gives NULL
  read <- function(which, from = NULL, n = NULL) {
    values <- .Call(ffi_part_read, handle, as.integer(which), from, n, nthreads, data_only)
    if (!is.null(values)) return(values)
    if (is.null(kept)) kept <<- list(whole())
    lapply(which, function(k) part_in(kept[[1]], k, about, from, n))
  }
  is_row_names <- about$attributes$name == "row.names"
  corrupt <- function(what) fail(paste("its", what, "make no sense"), "riffle_error_corrupt")
  # those that only count, or are as short, with the other attributes
  short <- which(!is_row_names | about$attributes$length <= 2)
  attributes <- read(about$n + short)
  names(attributes) <- about$attributes$name[short]
  check_attributes(attributes, about, corrupt)
  known <- attributes[["row.names"]]
  n_rows <- if (is.null(known)) sum(about$attributes$length[is_row_names]) else count_of(known)
  list(
    by_handle = TRUE, is_list = TRUE, n = about$n, simple = about$elements$simple,
    names = names_in(attributes), trusted = !data_only,
    attributes = attributes[names(attributes) != "row.names"],
    n_rows = if ("data.frame" %in% attributes[["class"]]) n_rows,
    meta = function() meta_in(about$meta, corrupt), read = read,
    row_names = row_names_reader(known, about$n + which(is_row_names),
                                 about$attributes$simple[is_row_names], read),
    elements = function() about$elements,
    whole = whole,
    advise = function(which, from, n) .Call(ffi_part_advise, handle, as.integer(which), from, n),
    close = function() .Call(ffi_part_close, handle),
    what = function() describe_as(attributes[["class"]], about$n), fail = fail
  )
}

# Row names that have been read, or else where they are, and whether by range.
row_names_reader <- function(known, at, simple, read) {
  function(from = NULL, n = NULL) {
    if (!is.null(known) || !length(at)) return(in_range(known, from, n))
    if (is.null(from) || !simple) return(in_range(read(at)[[1]], from, n))
    read(at, from, n)[[1]]
  }
}

# Names of a one-dimensional array, as of tapply(), are those of its dimension.
names_in <- function(attributes) {
  names <- attributes[["names"]]
  if (is.null(names) && length(attributes[["dim"]]) == 1) attributes[["dimnames"]][[1]] else names
}

# What base would have made sure of: code here and in R relies on it.
check_attributes <- function(attributes, about, corrupt) {
  names <- names_in(attributes)
  if (!is.null(names) && (!is.character(names) || length(names) != about$n)) corrupt("names")
  class <- attributes[["class"]]
  if (!is.null(class) && (!is.character(class) || !length(class))) corrupt("classes")
  rows <- which(about$attributes$name == "row.names")
  if (!length(rows)) return()
  known <- attributes[["row.names"]]
  fits <- if (is.null(known)) about$attributes$simple[rows] &
                                about$attributes$type[rows] %in% c("integer", "character")
          else is.character(known) || (is.integer(known) && !(length(known) == 2 && anyNA(known[2])))
  if (length(rows) > 1 || !isTRUE(fits)) corrupt("row names")
}

meta_in <- function(bytes, corrupt) {
  meta <- tryCatch(get_meta(bytes), riffle_error = function(e) FALSE)
  if (is.null(meta) || is.list(meta)) meta else corrupt("metadata")
}

# As C would have read it: element or attribute k, or of a simple one a range.
part_in <- function(object, k, about, from, n) {
  simple <- c(about$elements$simple, about$attributes$simple)[k]
  name <- if (k > about$n) about$attributes$name[k - about$n]
  x <- if (is.null(name)) .subset2(object, k)
       else if (name == "row.names") .row_names_info(object, 0L)
       else attr(object, name, exact = TRUE)
  if (is.null(from) || !simple) return(x)
  part <- x
  attributes(part) <- NULL
  part <- part[sequence_from(from, n)]
  attributes(part) <- attributes(x)
  part
}

memory_source <- function(object, fail, trusted = TRUE) {
  about <- attributes(object)
  about$row.names <- NULL
  n <- if (is.list(object) || is.atomic(object)) length(unclass(object)) else 0
  list(
    by_handle = FALSE, is_list = is.list(object), n = n, simple = logical(n), attributes = about,
    names = names_in(about), trusted = trusted,
    n_rows = if (is.list(object) && is.data.frame(object)) .row_names_info(object, 2L),
    meta = function() NULL,
    read = function(which, from = NULL, n = NULL) lapply(which, function(k) element(object, k)),
    row_names = function(from = NULL, n = NULL) in_range(.row_names_info(object, 0L), from, n),
    elements = function() describe_elements(object),
    whole = function() object,
    advise = function(which, from, n) NULL, close = function() NULL,
    what = function() describe(object), fail = fail, object = object
  )
}

# Without the methods of a class, which C does not ask either.
element <- function(x, k) if (is.list(x)) .subset2(x, k) else x[[k]]

describe_elements <- function(x) {
  x <- lapply(unclass(x), function(e) if (is.list(e)) unclass(e) else e)
  list(type = vapply(x, typeof, "", USE.NAMES = FALSE),
       class = vapply(x, function(e) paste(oldClass(e), collapse = "/"), "", USE.NAMES = FALSE),
       length = as.numeric(lengths(x, FALSE)))
}

describe_as <- function(class, n) {
  if (is.null(class)) class <- "list"
  sprintf("an object of class %s and length %.0f", sQuote(class[1], FALSE), n)
}

count_of <- function(row_names) {
  is_compact <- is.integer(row_names) && length(row_names) == 2 && is.na(row_names[1])
  if (is_compact) abs(row_names[2]) else length(row_names)
}

# Of row names as stored.
in_range <- function(row_names, from, n) {
  if (is.null(from)) return(row_names)
  at <- sequence_from(from, n)
  if (length(row_names) == 2 && is.na(row_names[1])) as.integer(at) else row_names[at]
}

# Never counts backwards.
sequence_from <- function(from, n) if (n > 0) from:(from + n - 1) else integer()

is_frame <- function(source) !is.null(source$n_rows)

need_frame <- function(source, what) {
  if (is_frame(source)) return()
  source$fail(sprintf("it holds %s, and %s for data frames", source$what(), what))
}

# ---- qs_read() ------------------------------------------------------------------------------

read_part <- function(source, columns, from, to, select) {
  if (!is.null(select)) return(read_select(source, as_path(select)))
  need_frame(source, if (!is.null(columns)) "`columns` is" else "`from` and `to` are")
  rows <- if (!is.null(from) || !is.null(to)) row_range(from, to, source$n_rows)
  read_frame(source, column_positions(source, columns), rows)
}

# Damage anywhere in the file is to be found, as if all were read.
validate_path <- function(file, validate) {
  if (!is_flag(validate)) abort_argument("validate_checksum", "TRUE or FALSE", validate)
  if (validate) qs_info(file, validate = TRUE)
}

check_part <- function(columns, from, to, select, lazy) {
  if (!is_flag(lazy)) abort_argument("lazy", "TRUE or FALSE", lazy)
  check_columns(columns)
  if (!is.null(from)) check_row(from, "from", 1)
  if (!is.null(to)) check_row(to, "to", 0)
  if (!is.null(to) && to < (if (is.null(from)) 1 else from) - 1) {
    abort_argument("to", "at least `from` - 1", to)
  }
  check_select(select)
  of_frame <- !is.null(columns) || !is.null(from) || !is.null(to)
  if (!is.null(select) && of_frame) {
    abort_argument("select", "NULL where `columns`, `from` or `to` is given", select)
  }
  if (lazy && (!is.null(from) || !is.null(to))) {
    abort_argument("lazy", "FALSE where rows are asked for", lazy)
  }
}

check_columns <- function(columns) {
  if (is.null(columns)) return()
  takes <- "names or positions, each of them once"
  check_index(columns, "columns", takes)
  twice <- columns[anyDuplicated(columns)]
  if (length(twice)) abort_argument("columns", takes, paste(twice, "twice"))
}

check_select <- function(select) {
  if (is.null(select)) return()
  takes <- "a name or position, several, or a list of them as a path"
  path <- as_path(select)
  if (!length(path)) abort_argument("select", takes, select)
  for (step in path) check_index(step, "select", takes)
  if (!all(lengths(path[-length(path)]) == 1)) {
    abort_argument("select", "a path with one name or position in each step but the last", select)
  }
}

# A name or number as messages have it.
index_text <- function(x) if (is.character(x)) sQuote(x, FALSE) else format(x)

as_path <- function(select) if (is.list(select)) select else list(select)

check_index <- function(index, name, takes) {
  is_names <- is.character(index) && !anyNA(index)
  is_positions <- is.numeric(index) && !is.object(index) && all(is.finite(index)) &&
    all(index == floor(index) & index >= 1)
  if (!is_names && !is_positions) abort_argument(name, takes, index)
}

check_row <- function(row, name, least) {
  if (!is_whole(row, least, 2^53)) {
    abort_argument(name, sprintf("the number of a row, %d or more", least), row)
  }
}

# Names and positions as positions, which are there.
positions <- function(index, names, n, fail, unit) {
  if (!is.character(index)) {
    beyond <- index[index > n]
    if (length(beyond)) fail(sprintf("it has no %s %.0f, only %.0f", unit, beyond[1], n))
    return(as.integer(index))
  }
  at <- match(index, names)
  at[!nzchar(index)] <- NA
  if (anyNA(at)) {
    fail(sprintf("it has no %s %s", unit, sQuote(index[is.na(at)][1], FALSE)))
  }
  at
}

column_positions <- function(source, columns) {
  if (is.null(columns)) return(NULL)
  names <- source$names
  sticky_columns(source, positions(columns, names, source$n, source$fail, "column"))
}

# The column of the geometry stays with an sf frame.
sticky_columns <- function(source, which) {
  if (!"sf" %in% source$attributes[["class"]]) return(which)
  geometry <- match(source$attributes[["sf_column"]], source$names)
  c(which, setdiff(geometry, c(which, NA)))
}

# ---- elements of a list ---------------------------------------------------------------------

read_select <- function(source, path) {
  value <- read_step(source, path[[1]])
  if (length(path) == 1) return(value)
  # a missing step is told with those before it
  inside <- function(reason, ...) {
    source$fail(sub("^it ", paste0("its element ", index_text(path[[1]]), " "), reason), ...)
  }
  read_select(memory_source(value, inside), path[-1])
}

# The first step is into a list; those that follow may end in the elements of a vector.
read_step <- function(source, step) {
  is_vector <- is.atomic(source$object) && source$n > 0
  if (!source$is_list && !is_vector) {
    source$fail(sprintf("it holds %s, and `select` is for lists", source$what()))
  }
  names <- if (source$is_list) source$names else names(source$object)
  at <- positions(step, names, source$n, source$fail, "element")
  if (length(at) == 1) return(source$read(at)[[1]])
  if (is_frame(source)) return(read_frame(source, at))
  if (source$is_list) structure(read_elements(source, at), names = names[at]) else source$object[at]
}

# In any order, and repeated.
read_elements <- function(source, which) {
  at <- sort(unique(which))
  source$read(at)[match(which, at)]
}

# ---- rows -----------------------------------------------------------------------------------

# Rows are list(from, n, index): `n` from `from` on, of these the ones that `index` tells, or all.
row_range <- function(from, to, n_rows) {
  if (is.null(from)) from <- 1
  last <- min(to, n_rows)
  if (from > last) row_span(1, 0) else row_span(from, last - from + 1)
}

row_span <- function(from, n) list(from = as.numeric(from), n = as.numeric(n), index = NULL)

# The rows `i`, which are from 1 to the last, or NA.
row_picks <- function(i) {
  if (all(is.na(i))) return(list(from = 1, n = 0, index = if (length(i)) i))
  first <- min(i, na.rm = TRUE)
  n <- max(i, na.rm = TRUE) - first + 1
  rows <- row_span(first, n)
  in_order <- length(i) == n && !is.unsorted(i, strictly = TRUE)
  if (!isTRUE(in_order)) rows$index <- i - first + 1
  rows
}

row_numbers <- function(rows) {
  if (is.null(rows$index)) sequence_from(rows$from, rows$n) else rows$index + rows$from - 1
}

# ---- data frames ------------------------------------------------------------------------------

# `which` are the columns' positions, NULL for all; `rows` as above, NULL for all. Frames that
# `keep` the attributes of columns without a class are those of vctrs and data.table; base drops
# them.
read_frame <- function(source, which = NULL, rows = NULL, keep = keeps_attributes(source)) {
  at <- if (is.null(which)) seq_len(source$n) else which
  frame <- read_columns(source, at, rows, keep)
  frame <- with_attributes(frame, frame_attributes(source, which, rows, keep), source$fail)
  mend_frame(frame, rows, all(group_names(source$attributes[["groups"]]) %in% names(frame)))
}

with_attributes <- function(frame, attributes, fail) {
  fits <- tryCatch({
    attributes(frame) <- attributes
    TRUE
  }, error = function(e) FALSE)
  if (!fits) fail("its attributes do not fit it", "riffle_error_corrupt")
  frame
}

keeps_attributes <- function(source) any(c("tbl_df", "data.table") %in% source$attributes[["class"]])

read_columns <- function(source, which, rows, keep) {
  if (is.null(rows)) return(read_elements(source, which))
  at <- if (is.unsorted(which, strictly = TRUE)) sort(unique(which)) else which
  columns <- source$read(at, rows$from, rows$n)
  simple <- source$simple[at]
  done <- simple & is.null(rows$index) & vapply(columns, is_as_it_is, NA)
  for (i in which(!done)) {
    x <- columns[[i]]
    index <- if (!simple[i]) row_numbers(rows)
             else if (is.null(rows$index)) seq_along(x)
             else rows$index
    columns[i] <- list(slice(x, index, keep, source))
  }
  if (identical(at, which)) columns else columns[match(which, at)]
}

# Whether `[` would give what was read of a column by its range: it would drop nothing if there are no
# attributes, and of some classes.
is_as_it_is <- function(x) {
  is.null(attributes(x)) || (is.object(x) && all(names(attributes(x)) %in% kept_by_base))
}

# The attributes of factors, dates, times and differences of times.
kept_by_base <- c("class", "levels", "tzone", "units")

# The elements or rows `i` of a column of the source, as `[` of the data frame takes them.
slice <- function(x, i, keep, source) {
  if (is.null(attributes(x))) return(x[i])
  # methods of S4 load the package that the class names
  if (source$trusted) load_methods(x) else if (isS4(x)) x <- asS4(x, FALSE)
  if (is.data.frame(x)) {
    inner <- memory_source(x, source$fail, source$trusted)
    return(read_frame(inner, NULL, row_picks(i), keep || keeps_attributes(inner)))
  }
  part <- slice_dims(x, i, keep)
  has_own <- isS4(x) || has_subset_method(x)
  kept <- if (has_own) keep && is.atomic(x) else keep || is.object(x)
  if (kept) restore_attributes(part, x) else part
}

# Base takes x[i] of arrays with more dimensions than a matrix.
slice_dims <- function(x, i, keep) {
  n <- length(dim(x))
  if (n == 2) return(x[i, , drop = FALSE])
  if (n == 0 || !keep) return(x[i])
  do.call(`[`, c(list(x, i), rep(list(TRUE), n - 1), list(drop = FALSE)))
}

# What only its package can take apart.
load_methods <- function(x) {
  package <- if (isS4(x)) attr(class(x), "package") else if (inherits(x, "vctrs_rcrd")) "vctrs"
  # a name, and not a path that a file gives
  if (is_string(package) && grepl("^[A-Za-z][A-Za-z0-9.]+$", package)) has_package(package)
}

has_package <- function(package) requireNamespace(package, quietly = TRUE)

has_subset_method <- function(x) {
  for (class in oldClass(x)) {
    if (!is.null(utils::getS3method("[", class, optional = TRUE))) return(TRUE)
  }
  FALSE
}

# But for those that go by the elements.
restore_attributes <- function(part, x) {
  if (inherits(x, "ts")) return(part)
  by_element <- c("names", "dim", "dimnames", "tsp")
  lost <- setdiff(names(attributes(x)), c(names(attributes(part)), by_element))
  for (name in lost) attr(part, name) <- attr(x, name, exact = TRUE)
  part
}

# Base keeps other attributes where no columns are chosen, as x[i, ] does. Frames of other classes
# need theirs.
frame_attributes <- function(source, which, rows, keep) {
  about <- source$attributes
  is_base <- identical(about[["class"]], "data.frame")
  if (!is.null(which)) {
    names <- about[["names"]][which]
    if (is_base) about <- about["class"]
    about$names <- if (is_base && anyDuplicated(names)) make.unique(names) else names
  }
  about$row.names <- part_row_names(source, rows, keep)
  about
}

part_row_names <- function(source, rows, keep) {
  if (is.null(rows)) return(source$row_names())
  names <- source$row_names(rows$from, rows$n)
  if (keep && !is.character(names)) return(.set_row_names(length(row_numbers(rows))))
  if (is.null(rows$index)) return(names)
  names <- names[rows$index]
  if (!anyNA(names) && !anyDuplicated(names)) return(names)
  names[is.na(names)] <- "NA"
  make.unique(as.character(names))
}

# ---- frames of other packages ---------------------------------------------------------------

# `grouped`: all columns that a grouped frame is grouped by are there.
mend_frame <- function(frame, rows, grouped) {
  if (inherits(frame, "sf")) frame <- mend_sf(frame)
  if (inherits(frame, "data.table")) frame <- mend_data_table(frame, rows)
  if (inherits(frame, c("grouped_df", "rowwise_df")) && !(grouped && is.null(rows))) {
    frame <- mend_groups(frame)
  }
  frame
}

mend_sf <- function(frame) {
  agr <- attr(frame, "agr", exact = TRUE)
  others <- setdiff(names(frame), attr(frame, "sf_column", exact = TRUE))
  if (!is.null(agr)) attr(frame, "agr") <- agr[match(others, names(agr))]
  frame
}

# A key holds as far as its columns are there and the rows in order.
mend_data_table <- function(frame, rows) {
  key <- attr(frame, "sorted", exact = TRUE)
  if (!is.null(key)) {
    known <- cumall(key %in% names(frame))
    in_order <- is.null(rows$index) || isFALSE(is.unsorted(rows$index))
    attr(frame, "sorted") <- if (in_order && any(known)) key[known]
  }
  attr(frame, "index") <- NULL
  if (!isNamespaceLoaded("data.table")) return(frame)
  getExportedValue("data.table", "setalloccol")(frame)
}

cumall <- function(x) cumsum(!x) == 0

group_names <- function(groups) setdiff(names(groups), ".rows")

mend_groups <- function(frame) {
  groups <- attr(frame, "groups", exact = TRUE)
  vars <- intersect(group_names(groups), names(frame))
  is_grouped <- inherits(frame, "grouped_df")
  class(frame) <- setdiff(class(frame), c("grouped_df", "rowwise_df"))
  attr(frame, "groups") <- NULL
  if (!has_package("dplyr")) {
    warn(c("The data frame", "its groups are dropped, as dplyr is not installed"), FALSE)
    return(frame)
  }
  if (!is_grouped) {
    rowwise <- getExportedValue("dplyr", "rowwise")
    # it takes expressions
    return(do.call(rowwise, c(list(frame), lapply(vars, as.name)), quote = TRUE))
  }
  if (!length(vars)) return(frame)
  drop <- !isFALSE(attr(groups, ".drop", exact = TRUE))
  getExportedValue("dplyr", "grouped_df")(frame, vars, drop)
}
