#' What makes an object large
#'
#' Measures the serialized bytes of an object and of its parts: elements, attributes, slots, and the
#' environments that its functions and formulas capture, with what is bound there. So it finds the
#' data frame that a small model or recipe drags along in one call.
#'
#' The sizes are those of the stream that [marshall()] makes and that [qs_save()] compresses. They
#' are taken from that stream itself, which is held in memory meanwhile, so all are exact:
#'
#' * The total is `calc_size(x)` without the stream's header (`attr(sizes, "header")`, 23 bytes or
#'   so).
#' * A part has the bytes between its beginning and its end in the stream. The parts of an object
#'   never sum up to more than it; what is left is its own: flags, lengths, the data of a vector.
#' * An environment is stored where it is met first, each later meeting is a reference of 4 or 8
#'   bytes, of type `"reference"`. So are symbols, such as the names of attributes: the first of a
#'   name costs more than the next. The global environment, namespaces and the like are stored by
#'   name.
#' * An object that is stored twice, such as a vector bound to two names, is counted twice, as it is
#'   when it is read back.
#'
#' Nothing of the object is evaluated. A promise that was not forced stays so: it has the size of
#' its expression and its environment. An active binding has the size of its function, and is not
#' called.
#'
#' @param x Any R object.
#' @param depth How many levels of parts to list, a whole number from 0 (only the total) to 100.
#'
#' @return A data frame of class `qs_sizes` with a row for each part, an object's before those of
#'   its parts, and the columns:
#' \describe{
#'   \item{`path`}{An R expression that gets the part, such as `attr(x$terms, ".Environment")`, or
#'     `NA` where there is none. It takes `$` and `[[` for those of lists, whatever the part's class
#'     does.}
#'   \item{`name`}{The name of the element, attribute, slot or binding, or `NA`.}
#'   \item{`kind`}{What the part is to its parent: `"object"` (the whole), `"element"`,
#'     `"attribute"`, `"slot"`, `"srcref"` (an attribute with source references), `"environment"`
#'     (of a function or promise), `"enclosure"` (of an environment), `"binding"`, `"active
#'     binding"`, `"formals"`, `"body"`, `"value"` and `"expression"` (of a promise; the latter of
#'     byte code as well), `"protected"` and `"tag"` (of an external pointer).}
#'   \item{`type`}{As [typeof()] has it, or `"reference"`, or `"namespace"` and the like.}
#'   \item{`class`}{The class attribute, pasted with `"/"`, or `NA`.}
#'   \item{`bytes`, `share`}{The size, and what part of the whole it is.}
#'   \item{`depth`, `parent`}{The level, 0 for the whole, and the row of the parent.}
#'   \item{`target`}{The row of what a reference refers to, if it is listed.}
#'   \item{`environments`, `bytecode`, `srcref`}{How many of the bytes are in environments, in byte
#'     code, and in source references, at any depth, listed or not. What is in two of these, as the
#'     byte code of a function in an environment, is counted in both.}
#' }
#' An impossible `depth` is an error of class `riffle_error_argument`.
#' @seealso [calc_size()] for the total alone.
#' @export
#' @examples
#' make <- function(n) {
#'   frame <- data.frame(x = runif(n))
#'   list(fun = function(x) x + 1)
#' }
#' recipe <- make(1e4)
#' object.size(recipe)
#' qs_sizes(recipe)
#'
#' fit <- lm(mpg ~ wt, mtcars)
#' sizes <- qs_sizes(fit, depth = 2)
#' print(sizes, n = 3)
#' plot(sizes)
qs_sizes <- function(x, depth = 3) {
  if (!is_whole(depth, 0, 100)) abort_argument("depth", "a whole number from 0 to 100", depth)
  label <- path_label(substitute(x))
  bytes <- marshall(x)
  header <- length(marshall(NULL)) - 4
  sizes_table(.Call(ffi_sizes, bytes, header, depth), label, header)
}

is_whole <- function(x, low, high) {
  is.numeric(x) && length(x) == 1 && !is.object(x) && isTRUE(x >= low && x <= high && x == floor(x))
}

# The argument's expression if it is short and gets the object again, else "x".
path_label <- function(expr) {
  if (!is_path(expr)) return("x")
  label <- paste(deparse(expr, width.cutoff = 500, backtick = TRUE), collapse = "")
  if (nchar(label) > 30) "x" else label
}

is_path <- function(expr) {
  if (is.name(expr)) return(nzchar(as.character(expr)))
  if (!is.call(expr) || !is.name(expr[[1]]) || length(expr) != 3) return(FALSE)
  as.character(expr[[1]]) %in% c("$", "@", "[[") && is_path(expr[[2]]) &&
    (is.name(expr[[3]]) || is.atomic(expr[[3]]))
}

# ---- the data frame -------------------------------------------------------------------------

# In the order of enum scan_kind (src/scan.h).
scan_kinds <- c("object", "element", "attribute", "slot", "srcref", "environment", "enclosure",
                "binding", "active binding", "formals", "body", "value", "expression", "protected",
                "tag")

scan_types <- c(
  "1" = "symbol", "2" = "pairlist", "3" = "closure", "4" = "environment", "5" = "promise",
  "6" = "language", "7" = "special", "8" = "builtin", "9" = "char", "10" = "logical",
  "13" = "integer", "14" = "double", "15" = "complex", "16" = "character", "17" = "...",
  "19" = "list", "20" = "expression", "21" = "bytecode", "22" = "externalptr", "23" = "weakref",
  "24" = "raw", "25" = "S4", "241" = "base environment", "242" = "empty environment",
  "247" = "persistent", "248" = "package", "249" = "namespace", "250" = "namespace",
  "251" = "symbol", "252" = "unbound", "253" = "global environment", "254" = "NULL",
  "255" = "reference"
)

sizes_table <- function(scan, label, header) {
  n <- length(scan$kind)
  sizes <- list(
    path = rep(NA_character_, n), name = scan$name, kind = scan_kinds[scan$kind],
    type = type_names(scan$type), class = class_labels(scan$class), bytes = scan$bytes,
    share = scan$bytes / scan$bytes[1], depth = as.integer(scan$depth),
    parent = as.integer(scan$parent), target = as.integer(scan$target),
    environments = scan$environments, bytecode = scan$bytecode, srcref = scan$srcref
  )
  sizes$path[1] <- label
  # level by level, from those of the parents
  for (level in seq_len(max(sizes$depth))) {
    rows <- which(sizes$depth == level)
    sizes$path[rows] <- child_paths(sizes, rows, scan$index[rows])
  }
  structure(sizes, row.names = .set_row_names(n), class = c("qs_sizes", "data.frame"),
            header = header)
}

type_names <- function(types) unname(scan_types)[match(types, as.numeric(names(scan_types)))]

class_labels <- function(classes) {
  out <- rep(NA_character_, length(classes))
  has <- lengths(classes) > 0
  out[has] <- vapply(classes[has], paste, "", collapse = "/")
  out
}

child_paths <- function(sizes, rows, index) {
  parent <- sizes$parent[rows]
  from <- sizes$path[parent]
  kind <- sizes$kind[rows]
  type <- sizes$type[rows]
  name <- sizes$name[rows]
  owner <- sizes$type[parent]
  kind[kind == "element" & has_own_name(parent, name) & owner %in% c("list", "pairlist")] <- "named"
  kind[kind == "element" & owner == "..."] <- "hidden"
  kind[kind == "binding" & type == "promise"] <- "unforced"
  kind[owner == "promise" & kind != "expression"] <- "hidden"
  kind[is.na(from)] <- "hidden"
  path <- rep(NA_character_, length(rows))
  for (k in intersect(kind, names(steps))) {
    of <- kind == k
    path[of] <- steps[[k]](from[of], name[of], index[of])
  }
  path
}

# From the path of the whole to that of the part. What no function of R gets (the value of a
# promise, the elements of `...`, what a pointer protects) has none.
steps <- list(
  element = function(from, name, index) paste0(from, "[[", format_index(index), "]]"),
  named = function(from, name, index) paste0(from, "$", symbol_text(name)),
  attribute = function(from, name, index) paste0("attr(", from, ", ", quoted(name), ")"),
  srcref = function(from, name, index) paste0("attr(", from, ", ", quoted(name), ")"),
  slot = function(from, name, index) paste0(from, "@", symbol_text(name)),
  binding = function(from, name, index) paste0(from, "$", symbol_text(name)),
  # anything but this would force it
  unforced = function(from, name, index) paste0("substitute(", symbol_text(name), ", ", from, ")"),
  "active binding" = function(from, name, index) {
    paste0("activeBindingFunction(", quoted(name), ", ", from, ")")
  },
  environment = function(from, name, index) paste0("environment(", from, ")"),
  enclosure = function(from, name, index) paste0("parent.env(", from, ")"),
  formals = function(from, name, index) paste0("formals(", from, ")"),
  body = function(from, name, index) paste0("body(", from, ")"),
  expression = function(from, name, index) from
)

format_index <- function(index) format(index, scientific = FALSE, trim = TRUE)

quoted <- function(name) encodeString(name, quote = "\"")

symbol_text <- function(name) {
  known <- unique(name)
  odd <- !is.na(known) & make.names(known) != known
  text <- known
  text[odd] <- encodeString(known[odd], quote = "`")
  text[match(name, known)]
}

# Whether `$` finds this one: the first of its name, by a name.
has_own_name <- function(parent, name) {
  has <- !is.na(name) & nzchar(name)
  has[has] <- !duplicated(paste(parent[has], name[has]))
  has
}

#' @export
`[.qs_sizes` <- function(x, ...) {
  out <- NextMethod()
  if (is.data.frame(out)) as.data.frame.qs_sizes(out) else out
}

#' @rdname qs_sizes
#' @param row.names,optional Not used.
#' @export
as.data.frame.qs_sizes <- function(x, row.names = NULL, optional = FALSE, ...) {
  attr(x, "header") <- NULL
  class(x) <- "data.frame"
  x
}

# ---- the tree -------------------------------------------------------------------------------

#' @rdname qs_sizes
#' @param n How many parts of an object to print at most, the largest. The rest is summed up.
#' @param ... Not used; for [plot()], further arguments of [graphics::title()].
#' @export
print.qs_sizes <- function(x, n = 5, ...) {
  cat(format(x, n = n), sep = "\n")
  invisible(x)
}

#' @rdname qs_sizes
#' @export
format.qs_sizes <- function(x, n = 5, ...) {
  tree <- tree_lines(x, n)
  size <- format(size_text(tree$bytes), justify = "right")
  share <- format(share_text(tree$bytes / x$bytes[1]), justify = "right")
  c(sizes_title(x), paste(size, share, tree$text, sep = "  "))
}

sizes_title <- function(x) {
  inside <- c("in environments" = x$environments[1], "in byte code" = x$bytecode[1],
              "in source references" = x$srcref[1])
  inside <- inside[inside > 0]
  title <- sprintf("<qs_sizes> %s and %s of header", trimws(size_text(x$bytes[1])),
                   trimws(size_text(attr(x, "header"))))
  if (!length(inside)) return(title)
  paste0(title, "; ", paste(trimws(size_text(inside)), names(inside), collapse = ", "))
}

# Depth first, the largest part first; the recursion is as deep as the tree.
tree_lines <- function(x, n) {
  parts_of <- parts_finder(x)
  labels <- character()
  levels <- bytes <- numeric()
  add <- function(level, label, size) {
    at <- length(labels) + 1
    labels[at] <<- label
    levels[at] <<- level
    bytes[at] <<- size
  }
  show <- function(row, level) {
    add(level, row_label(x, row), x$bytes[row])
    parts <- parts_of(row)
    if (!length(parts)) return()
    parts <- parts[order(-x$bytes[parts])]
    shown <- worth_showing(x$share[parts], n)
    for (part in parts[shown]) show(part, level + 1)
    others <- parts[!shown]
    if (length(others)) add(level + 1, sprintf("%d others", length(others)), sum(x$bytes[others]))
    own <- x$bytes[row] - sum(x$bytes[parts])
    if (own >= 0.01 * x$bytes[1]) add(level + 1, "itself", own)
  }
  show(1L, 0)
  list(text = paste0(strrep("  ", levels), labels), bytes = bytes)
}

parts_finder <- function(x) {
  rows <- order(x$parent, na.last = NA)
  n <- tabulate(x$parent, length(x$parent))
  before <- cumsum(n) - n
  function(row) rows[before[row] + seq_len(n[row])]
}

# The first n of those that are over a hundredth; one alone is not worth the line "1 others".
worth_showing <- function(share, n) {
  shown <- seq_along(share) <= n & share >= 0.01
  if (sum(!shown) == 1) shown[] <- TRUE
  shown
}

row_label <- function(x, row) {
  paste0(step_label(x, row), " <", if (is.na(x$class[row])) x$type[row] else x$class[row], ">",
         row_notes(x, row))
}

step_label <- function(x, row) {
  name <- x$name[row]
  switch(x$kind[row],
    object = x$path[row],
    element = if (is.na(name) || !nzchar(name)) {
      if (is.na(x$path[row])) "element" else sub("^.*(\\[\\[[0-9]+\\]\\])$", "\\1", x$path[row])
    } else {
      paste0("$", symbol_text(name))
    },
    attribute = , srcref = paste("attr", quoted(name)),
    slot = paste0("@", symbol_text(name)),
    binding = , "active binding" = paste0("$", symbol_text(name)),
    x$kind[row]
  )
}

# What a reference is to, and where the bytes are of what has no parts listed.
row_notes <- function(x, row) {
  target <- x$path[x$target[row]]
  to <- if (is.na(target)) "" else paste(" to", target)
  if (row %in% x$parent) return(to)
  environments <- if (x$type[row] == "environment") 0 else x$environments[row]
  srcref <- if (x$kind[row] == "srcref") 0 else x$srcref[row]
  inside <- function(bytes, what) {
    if (bytes > 0) sprintf(" [%s in %s]", trimws(size_text(bytes)), what) else ""
  }
  paste0(to, inside(environments, "environments"), inside(srcref, "source references"))
}

size_text <- function(bytes) {
  unit <- findInterval(bytes, c(1e3, 1e6, 1e9)) + 1L
  value <- bytes / 1000^(unit - 1)
  digits <- ifelse(unit == 1, 0, ifelse(value < 10, 2, ifelse(value < 100, 1, 0)))
  paste(sprintf("%.*f", as.integer(digits), value), c("B ", "kB", "MB", "GB")[unit])
}

share_text <- function(share) {
  ifelse(share < 0.001, "<0.1 %", sprintf("%.1f %%", 100 * share))
}

# ---- the plot -------------------------------------------------------------------------------

#' @rdname qs_sizes
#' @param y Not used.
#' @details
#' [plot()] draws the tree as nested bars: the whole on top, below each part its own parts, as wide
#' as they are large.
#' @export
plot.qs_sizes <- function(x, y, ...) {
  bars <- nested_bars(x)
  graphics::plot.new()
  graphics::plot.window(c(0, 1), c(max(x$depth) + 1, 0), xaxs = "i")
  graphics::rect(bars$left, bars$depth + 0.95, bars$right, bars$depth, col = bar_colours[bars$sort],
                 border = "white")
  fits <- graphics::strwidth(bars$label) < bars$right - bars$left - 0.01
  graphics::text(bars$left[fits] + 0.005, bars$depth[fits] + 0.48, bars$label[fits], adj = 0)
  title <- list(main = sprintf("%s: %s", x$path[1], trimws(size_text(x$bytes[1]))))
  do.call(graphics::title, utils::modifyList(title, list(...)))
  graphics::legend("bottom", names(bar_colours), fill = bar_colours, horiz = TRUE, bty = "n",
                   xpd = NA, inset = c(0, -0.12))
  invisible(x)
}

bar_colours <- c(data = "#9ecae1", code = "#c7e9c0", environment = "#fdae6b", srcref = "#d4b9da")

# Where each part lies from 0 to 1, the largest first among those of its parent; those that can be
# seen, a thousandth wide.
nested_bars <- function(x) {
  left <- numeric(length(x$bytes))
  for (level in seq_len(max(x$depth))) {
    rows <- which(x$depth == level)
    rows <- rows[order(x$parent[rows], -x$bytes[rows])]
    # what lies before each one on its level, less what lies before its first sibling
    before <- cumsum(x$share[rows]) - x$share[rows]
    first <- match(x$parent[rows], x$parent[rows])
    left[rows] <- left[x$parent[rows]] + before - before[first]
  }
  rows <- which(x$share >= 0.001)
  steps <- vapply(rows, function(row) step_label(x, row), "")
  label <- paste(steps, trimws(size_text(x$bytes[rows])))
  data.frame(left = left[rows], right = left[rows] + x$share[rows], depth = x$depth[rows],
             sort = bar_sort(x$kind[rows], x$type[rows]), label = label)
}

bar_sort <- function(kind, type) {
  sort <- rep("data", length(kind))
  sort[type %in% c("closure", "language", "bytecode", "promise")] <- "code"
  sort[type == "environment"] <- "environment"
  sort[kind == "srcref"] <- "srcref"
  sort
}
