# Examples of what R can hold, as named lists. Closures live in the global environment, so that
# they don't bring the tests' own environment along.

nan_with_payload <- function() {
  readBin(as.raw(c(0x34, 0x12, 0, 0, 0, 0, 0xf8, 0xff)), "double", endian = "little")
}

# R's compiler may take the constant -0 for a 0 that it has already.
minus_zero <- function() -as.double("0")

odd_doubles <- function() {
  c(NA, NaN, nan_with_payload(), minus_zero(), 0, Inf, -Inf, 5e-324, -2.2e-308, .Machine$double.xmax,
    .Machine$double.eps, 2^53, -2^53 - 2, 0.1, 1e-300, 123456789.25)
}

latin1 <- function(x) iconv(x, "UTF-8", "latin1")

as_bytes <- function(x) {
  Encoding(x) <- "bytes"
  x
}

# Not marked, so taken to be in the session's own encoding.
native <- function(x) {
  Encoding(x) <- "unknown"
  x
}

nested_list <- function(depth) {
  x <- list("the innermost")
  for (i in seq_len(depth)) x <- list(x)
  x
}

list_depth <- function(x) {
  depth <- 0
  while (is.list(x)) {
    x <- x[[1]]
    depth <- depth + 1
  }
  depth
}

global_function <- function(f) {
  f <- utils::removeSource(f)
  environment(f) <- globalenv()
  f
}

example_atomics <- function() {
  list(
    "NULL" = NULL,
    "a logical vector" = c(TRUE, FALSE, NA),
    "an integer vector" = c(0L, NA, .Machine$integer.max, -.Machine$integer.max),
    "a vector of odd doubles" = odd_doubles(),
    "a complex vector" = complex(real = odd_doubles(), imaginary = rev(odd_doubles())),
    "a raw vector" = as.raw(0:255),
    "a character vector" = c("a", "", NA, "NA", "a"),
    "a list" = list(1, NULL, "a", list(list(), TRUE)),
    "an expression vector" = expression(a + b, "text", 2, NULL),
    "TRUE" = TRUE, "a number" = pi, "a whole number" = 1L, "a complex number" = 1i,
    "a byte" = as.raw(7), "an empty string" = "", "NA_character_" = NA_character_,
    "no logical" = logical(), "no integer" = integer(), "no double" = double(),
    "no complex" = complex(), "no byte" = raw(), "no string" = character(), "an empty list" = list(),
    "an empty expression" = expression()
  )
}

# Long enough for blocks of their own, and odd values among the plain.
example_long_vectors <- function() {
  set.seed(3)
  n <- 3000
  with_odd <- function(x, odd) {
    x[sample(length(x), length(odd))] <- odd
    x
  }
  list(
    "a long logical vector" = with_odd(sample(c(TRUE, FALSE), n, TRUE), NA),
    "long small integers" = with_odd(sample(5L, n, TRUE), c(NA, -1L, 0L)),
    "long wide integers" = with_odd(as.integer(runif(n, -2e9, 2e9)), c(NA, 2147483647L)),
    "long rising integers" = 1000000L + cumsum(sample(3L, n, TRUE)),
    "one integer many times" = rep(42L, n),
    "NA_integer_ many times" = rep(NA_integer_, n),
    "long whole doubles" = as.numeric(sample(1e6, n)),
    "long prices" = with_odd(round(rlnorm(n, 3), 2), odd_doubles()),
    "long random doubles" = with_odd(rnorm(n), odd_doubles()),
    "long uniform doubles" = runif(n),
    "long multiples of a power of two" = sample(1e5, n, TRUE) / 1024,
    "long odd doubles" = rep(odd_doubles(), length.out = n),
    "one double many times" = rep(0.1, n),
    "a minus zero many times" = rep(minus_zero(), n),
    "a long complex vector" = complex(real = rnorm(n), imaginary = sample(3, n, TRUE)),
    "long random bytes" = as.raw(sample(0:255, 2 * n, TRUE)),
    "one byte many times" = raw(2 * n),
    "long dates" = as.Date("2020-01-01") + sample(0:2000, n, TRUE),
    "long times" = as.POSIXct("2020-01-01", tz = "UTC") + cumsum(runif(n)),
    "few strings often" = sample(c("Kenya", "Uganda", NA, "", "C\u00f4te d'Ivoire"), n, TRUE),
    "many distinct strings" = sprintf("id-%06d", sample(n)),
    "one string many times" = rep("same", n),
    "NA_character_ many times" = rep(NA_character_, n),
    "empty strings many times" = rep("", n),
    "strings of many lengths" = strrep("s", c(0:700, rep(0, 300))),
    "one text in many encodings" = rep(c("\u00e9", latin1("\u00e9"), as_bytes("\xe9"), "e", NA), 400)
  )
}

example_encodings <- function() {
  utf8 <- "na\u00efve \u4e2d\u6587 \U1F600"
  mixed <- c(latin1("\u00c4rger"), utf8, as_bytes("\xff\xfe raw"), "ascii", NA, "", latin1("\u00c4rger"))
  list(
    "a vector of mixed encodings" = mixed,
    "unmarked text of the session's encoding" = native("\u00e9t\u00e9"),
    "names of mixed encodings" = structure(seq_along(mixed), names = mixed),
    "a list of mixed encodings" = as.list(mixed),
    "an attribute of mixed encodings" = structure(1, note = mixed),
    "levels of mixed encodings" = factor(mixed[c(1, 4)], levels = mixed[c(4, 1)]),
    "a symbol in UTF-8" = as.name("\u4e2d"),
    "a call with names in UTF-8" = as.call(list(as.name("\u00e7"), "\u00fc" = 1)),
    "control characters" = c("\t\n\r", "\001\037\177", "quote \" and \\"),
    "a byte order mark" = "\ufeffa"
  )
}

example_attributes <- function() {
  with_note <- function(x) structure(x, note = structure("n", deep = list(1, "a")))
  time <- as.POSIXct("2017-05-05 10:20:30.25", tz = "America/New_York")
  list(
    "names" = c(a = 1, b = 2),
    "names that are NA, empty and equal" = structure(1:4, names = c(NA, "", "NA", "NA")),
    "a matrix" = matrix(1:6, 2),
    "a matrix with dimnames" = matrix(1:4, 2, dimnames = list(NULL, c("a", "b"))),
    "an array with named dimnames" = array(1:8, c(2, 2, 2), list(x = c("a", "b"), NULL, z = 1:2)),
    "an array of length 0" = array(1L, c(2, 0, 2)),
    "a one-dimensional array" = array(1:3, 3, list(letters[1:3])),
    "a list with dimensions" = matrix(list(1, "a", NULL, TRUE), 2),
    "a factor" = factor(c("b", "a", NA), levels = c("b", "a", "unused")),
    "an ordered factor" = factor(c("lo", "hi"), levels = c("lo", "hi"), ordered = TRUE),
    "a factor with a level NA" = addNA(factor(c(1, NA))),
    "a factor of length 0" = factor(character(), levels = c("", "b")),
    "a date" = as.Date("2016-01-02"),
    "a date in integers" = structure(17000L, class = "Date"),
    "a time with its zone" = time,
    "a time in its parts" = as.POSIXlt(time),
    "a time difference" = as.difftime(c(1.5, NA), units = "mins"),
    "a time series" = ts(1:24, start = c(2000, 1), frequency = 12),
    "a data frame" = data.frame(a = 1:2, b = c("x", NA), stringsAsFactors = TRUE),
    "a data frame with row names" = mtcars[1:5, ],
    "a data frame with row numbers" = data.frame(v = 1:5)[c(5, 2), , drop = FALSE],
    "a data frame without rows" = iris[0, ],
    "a data frame without columns" = iris[, 0],
    "an empty data frame" = data.frame(),
    "a data frame with a matrix and a list" =
      structure(list(m = diag(2), l = list(1, "a")), class = "data.frame", row.names = 1:2),
    "row names that only claim to be compact" =
      structure(list(v = 1:3), class = "data.frame", row.names = c(NA, 3L)),
    "a table" = table(mtcars$cyl, mtcars$am, dnn = c("cyl", "am")),
    "a class of many names" = structure(list(), class = paste0("c", 1:300)),
    "attributes in an odd order" = structure(1:2, zz = 1, class = "q", aa = 2, names = c("x", "y")),
    "a version" = numeric_version("1.2.3"),
    "a comment" = {
      x <- 1
      comment(x) <- "remark"
      x
    },
    "a logical with attributes" = with_note(NA),
    "an integer with attributes" = with_note(1L),
    "a double with attributes" = with_note(1),
    "a complex with attributes" = with_note(1i),
    "a string with attributes" = with_note("a"),
    "a byte with attributes" = with_note(as.raw(1)),
    "a list with attributes" = with_note(list(1)),
    "an expression with attributes" = with_note(expression(a)),
    "a call with attributes" = with_note(quote(f(x))),
    "a pairlist with attributes" = with_note(pairlist(a = 1)),
    "a function with attributes" = with_note(global_function(function(x) x)),
    "an empty vector with attributes" = with_note(integer()),
    "an attribute that is long" = structure(1, long = as.numeric(1:2000) / 7, text = format(1:500))
  )
}

# Without the place in this file that it comes from.
language <- function(text) parse(text = text, keep.source = FALSE)[[1]]

example_language <- function() {
  list(
    "a symbol" = quote(x),
    "a symbol with a space" = as.name("odd name"),
    "a call" = quote(f(a = 1, , g(b))),
    "a call of a value" = as.call(list(sum, 1, 2)),
    "a condition" = quote(if (a) b else c),
    "a function that is not evaluated" = language("function(x, y = 2, ...) x"),
    "a loop" = language("for (i in 1:3) { next }"),
    "slots and back-ticks" = quote(x$`a b`@c),
    "a formula without environment" = structure(quote(y ~ x + (1 | g)), class = "formula"),
    "the missing argument" = alist(a = , b = 1),
    "a pairlist" = pairlist(a = 1, 2, b = NULL),
    "a pairlist with a class" = structure(pairlist(q = 1), class = "pl"),
    "a long pairlist" = as.pairlist(structure(as.list(1:500), names = rep(c("a", "b", ""), length.out = 500))),
    "a special function" = `if`,
    "a builtin function" = sum,
    "a function" = global_function(function(x, y = 2, ...) x + y),
    "a compiled function" = compiler::cmpfun(global_function(function(n) {
      s <- 0
      for (i in seq_len(n)) {
        if (i %% 2 == 0) next
        s <- s + switch("b", a = 1, b = i, 0)
      }
      s
    })),
    "compiled code" = compiler::compile(quote(a + b * 2))
  )
}

example_special_environments <- function() {
  list(
    "the global environment" = globalenv(),
    "the base environment" = baseenv(),
    "the empty environment" = emptyenv(),
    "the base namespace" = .BaseNamespaceEnv,
    "a namespace" = asNamespace("stats"),
    "a function of a package" = stats::sd
  )
}

altrep_wrap <- function(x, sorted = NA_integer_, no_na = TRUE) .Internal(wrap_meta(x, sorted, no_na))

example_altrep <- function() {
  file <- tempfile()
  writeBin(as.numeric(1:2000) / 7, file)
  half_used <- as.character(1:2000)
  half_used[3]
  noted <- runif(100)
  kept <- noted
  attr(noted, "unit") <- "m"
  list(
    "a sequence" = 1:1000000,
    "a falling sequence" = 10:-10,
    "a sequence of doubles" = 2147483646:2147483650,
    "a sequence with names" = structure(1:3, names = c("a", "b", "c")),
    "a sequence as a column" = data.frame(v = 1:100),
    "a sequence that was expanded" = {
      x <- 1:2000
      sum(x[-1])
      x
    },
    "numbers to be strings" = as.character(1:2000),
    "doubles to be strings" = as.character(c(1.5, NA, 1e10)),
    "numbers to be strings, some of which are" = half_used,
    "numbers to be strings, with names" = structure(as.character(1:3), names = letters[1:3]),
    "sorted integers" = sort(sample(2000L)),
    "sorted doubles" = sort(c(3.5, runif(2000), -1)),
    "sorted strings" = sort(sprintf("%04d", 2000:1)),
    "a vector that shares its data" = noted,
    "a wrapped logical" = altrep_wrap(rep(TRUE, 100)),
    "a wrapped integer" = altrep_wrap(rep(1L, 2000), 1L),
    "a wrapped double" = altrep_wrap(rep(1.5, 2000), -1L),
    "a wrapped complex" = altrep_wrap(rep(1i, 100)),
    "a wrapped raw" = altrep_wrap(raw(100)),
    "a wrapped string" = altrep_wrap(rep("a", 2000), 1L),
    "a wrapped list" = altrep_wrap(rep(list(1), 100)),
    "a wrapped sequence" = altrep_wrap(1:2000, 1L),
    "a mapped file" = .Internal(mmap_file(file, "double", TRUE, FALSE, FALSE)),
    "a mapped file that is saved by name" = .Internal(mmap_file(file, "double", TRUE, FALSE, TRUE))
  )
}

# All of which one can ask whether it is identical.
example_objects <- function() {
  c(example_atomics(), example_long_vectors(), example_encodings(), example_attributes(),
    example_language(), example_special_environments())
}

# A function of a package that may be missing; `::` would make the package a dependency.
from <- function(package, name) {
  skip_if_not_installed(package)
  getExportedValue(package, name)
}
