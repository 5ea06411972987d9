stream_len <- function(x) length(serialize(x, NULL, xdr = FALSE))

# Without the stream's header.
body_len <- function(x) stream_len(x) - stream_len(NULL) + 4

row_of <- function(sizes, path) {
  row <- which(sizes$path == path)
  if (length(row) != 1) stop("no one row for ", path)
  as.data.frame(sizes)[row, ]
}

# As if it were defined at top level and without source references, so that nothing of the tests is
# captured.
top_level <- function(f) {
  f <- utils::removeSource(f)
  environment(f) <- globalenv()
  f
}

# What holds for the sizes of any object, at any depth.
expect_consistent <- function(x, what = "The object", depth = 4) {
  sizes <- qs_sizes(x, depth)
  rows <- seq_along(sizes$bytes)[-1]
  sums <- vapply(rows, function(row) sum(sizes$bytes[which(sizes$parent == row)]), 0)
  expect(sizes$bytes[1] + attr(sizes, "header") == calc_size(x), paste(what, "has another total."))
  expect(all(sums <= sizes$bytes[rows]), paste(what, "has a part smaller than its parts."))
  expect(sum(sizes$bytes[sizes$depth == 1]) <= sizes$bytes[1],
         paste(what, "is smaller than its parts."))
  expect(all(sizes$parent[rows] < rows) && is.na(sizes$parent[1]), paste(what, "has no tree."))
  expect(all(sizes$depth[rows] == sizes$depth[sizes$parent[rows]] + 1),
         paste(what, "has wrong depths."))
  expect(all(sizes$bytes >= 4) && all(sizes$depth <= depth), paste(what, "has impossible rows."))
  inside <- pmax(sizes$environments, sizes$bytecode, sizes$srcref)
  expect(all(inside <= sizes$bytes), paste(what, "has more in environments than there is."))
  expect(!anyNA(sizes$type) && !anyNA(sizes$kind), paste(what, "has unknown types."))
  # totals do not depend on how much is listed
  total <- qs_sizes(x, 0)
  columns <- c("bytes", "type", "class", "environments", "bytecode", "srcref")
  expect(identical(as.list(total[1, columns]), as.list(sizes[1, columns])),
         paste(what, "differs by depth."))
  expect_identical(live_calls(), 0L)
  invisible(sizes)
}

# The expressions get what they say, of the type they say.
expect_paths <- function(sizes, env = parent.frame()) {
  for (row in which(!is.na(sizes$path) & sizes$type != "reference")) {
    value <- tryCatch(eval(parse(text = sizes$path[row]), env), error = identity)
    type <- sub("^(base|global|empty) |^(namespace|package)$", "environment", sizes$type[row])
    type <- sub("environmentenvironment", "environment", type)
    # promises are told by their expression, byte code by what was compiled
    if (type %in% c("promise", "bytecode", "language", "pairlist", "expression")) next
    expect(identical(typeof(value), type), sprintf("%s is not %s but %s.", sizes$path[row], type,
                                                    typeof(value)))
  }
}

test_that("elements have their exact bytes", {
  x <- list(a = c(1, 2, 3), b = letters, 1L, NULL)
  sizes <- qs_sizes(x)
  expect_s3_class(sizes, c("qs_sizes", "data.frame"), exact = TRUE)
  expect_identical(sizes$path, c("x", "x$a", "x$b", "x[[3]]", "x[[4]]", "attr(x, \"names\")"))
  expect_identical(sizes$kind, c("object", rep("element", 4), "attribute"))
  expect_identical(sizes$type, c("list", "double", "character", "integer", "NULL", "character"))
  expected <- vapply(list(x, c(1, 2, 3), letters, 1L, NULL, names(x)), body_len, 0)
  expect_identical(sizes$bytes, expected)
  expect_identical(sizes$share, expected / expected[1])
  expect_identical(sizes$parent, c(NA, rep(1L, 5)))
  expect_identical(sizes$depth, c(0L, rep(1L, 5)))
  expect_identical(attr(sizes, "header"), stream_len(NULL) - 4)
})

test_that("classes and attributes are told", {
  sizes <- expect_consistent(iris)
  expect_identical(row_of(sizes, "x")$class, "data.frame")
  species <- row_of(sizes, "x$Species")
  expect_identical(c(species$type, species$class), c("integer", "factor"))
  expect_identical(row_of(sizes, "attr(x$Species, \"levels\")")$bytes,
                   body_len(levels(iris$Species)))
  x <- structure(1, class = c("one", "two"))
  expect_identical(qs_sizes(x, 0)$class, "one/two")
})

test_that("the total is calc_size() whatever the object", {
  values <- c(example_atomics(), example_attributes(), example_altrep(), example_language(),
              example_special_environments())
  for (i in seq_along(values)) expect_consistent(values[[i]], names(values)[i])
  stats <- asNamespace("stats")
  for (name in c("lm", "glm", "optim", "loess", "predict.lm", "make.link")) {
    expect_consistent(stats[[name]], name, depth = 10)
  }
})

test_that("a frame that a small function drags along is found in one call", {
  make <- top_level(function(n) {
    frame <- data.frame(x = seq_len(n) / 7)
    list(fun = function(x) x + 1)
  })
  recipe <- make(1e5)
  sizes <- expect_consistent(recipe)
  expect_gt(sizes$environments[1], 8e5)
  sizes <- qs_sizes(recipe)
  frame <- row_of(sizes, "environment(recipe$fun)$frame")
  expect_gt(frame$share, 0.99)
  expect_identical(frame$class, "data.frame")
  expect_identical(eval(parse(text = frame$path))$x, seq_len(1e5) / 7)
  expect_output(print(sizes), "800 kB +100.0 %  +\\$frame <data.frame>")
  # where the environment lies too deep to be listed
  expect_output(print(qs_sizes(recipe, 1)), "\\$fun <closure> \\[800 kB in environments\\]")
})

test_that("models and formulas show what they capture", {
  fit_in_function <- top_level(function() {
    large <- rnorm(1e4)
    lm(mpg ~ wt, mtcars)
  })
  fit <- fit_in_function()
  sizes <- expect_consistent(fit)
  expect_paths(qs_sizes(fit))
  sizes <- qs_sizes(fit)
  # that of the terms is that of the model frame's terms
  captured <- sizes[which(sizes$name == ".Environment"), ]
  expect_setequal(captured$type, c("environment", "reference"))
  expect_identical(sum(captured$type == "environment"), 1L)
  expect_true(all(captured$bytes[captured$type == "reference"] <= 8))
  whole <- which(sizes$name == ".Environment" & sizes$type == "environment")
  expect_identical(unique(captured$target[captured$type == "reference"]), whole)
  expect_gt(sizes$bytes[whole], 8e4)
  expect_consistent(glm(am ~ wt, binomial, mtcars))
  f <- y ~ x
  expect_identical(row_of(qs_sizes(f), "attr(f, \".Environment\")")$kind, "attribute")
  # data that a call has swallowed
  called <- do.call(lm, list(mpg ~ wt, mtcars))
  expect_gt(row_of(qs_sizes(called, 2), "called$call[[3]]")$bytes, 2000)
})

test_that("nothing is forced or called", {
  x <- new.env(parent = globalenv())
  x$value <- 1:3 / 7
  x$self <- x
  makeActiveBinding("act", function() stop("called"), x)
  delayedAssign("late", stop("forced"), globalenv(), x)
  delayedAssign("done", 6 * 7, globalenv(), x)
  x$done
  lockEnvironment(x, bindings = TRUE)
  sizes <- expect_consistent(x)
  expect_paths(qs_sizes(x))
  sizes <- qs_sizes(x)
  expect_identical(row_of(sizes, "x$value")$bytes, body_len(1:3 / 7))
  self <- row_of(sizes, "x$self")
  expect_identical(list(self$type, self$bytes, self$target), list("reference", 4, 1L))
  active <- row_of(sizes, "activeBindingFunction(\"act\", x)")
  expect_identical(c(active$kind, active$type), c("active binding", "closure"))
  late <- sizes[which(sizes$name == "late"), ]
  expect_identical(c(late$kind, late$type, late$path),
                   c("binding", "promise", "substitute(late, x)"))
  parts <- sizes[which(sizes$parent == as.integer(rownames(late))), ]
  expect_identical(parts$kind, c("environment", "value", "expression"))
  expect_identical(parts$type, c("global environment", "unbound", "language"))
  # as in the stream: a promise that was not forced has no value there
  expect_error(x$late, "forced")
})

test_that("environments that hold each other and long chains of them end", {
  a <- new.env()
  b <- new.env()
  a$b <- b
  b$a <- a
  expect_consistent(list(a, b, a))
  chain <- NULL
  for (i in 1:300) chain <- list2env(list(following = chain), parent = emptyenv())
  sizes <- expect_consistent(chain, depth = 100)
  expect_identical(max(sizes$depth), 100L)
  object <- local({
    self <- environment()
    private <- list2env(list(data = 1:10 / 3, self = self))
    get <- function() private$data
    set <- function(x) private$data <- x
    class(self) <- "like_R6"
    self
  })
  sizes <- expect_consistent(object)
  sizes <- qs_sizes(object)
  expect_identical(sizes$class[1], "like_R6")
  expect_identical(row_of(sizes, "object$self")$type, "reference")
  expect_identical(row_of(sizes, "object$private$data")$bytes, body_len(1:10 / 3))
  expect_identical(row_of(sizes, "environment(object$get)")$target, 1L)
})

test_that("source references and byte code are told apart", {
  code <- "function(x, y = 2) {\n  # a comment\n  if (x) y + 1 else sapply(y, function(z) z + x)\n}"
  f <- eval(parse(text = code, keep.source = TRUE), globalenv())
  sizes <- expect_consistent(f, depth = 8)
  sizes <- qs_sizes(f)
  expect_identical(unique(sizes$name[sizes$kind == "srcref"]),
                   c("srcref", "srcfile", "wholeSrcref"))
  expect_identical(sizes$environments[1], 0)
  bare <- utils::removeSource(f)
  expect_identical(qs_sizes(bare)$srcref[1], 0)
  # what goes with them is their bytes and the symbols and cells that held them
  saved <- sizes$bytes[1] - qs_sizes(bare)$bytes[1]
  expect_gt(sizes$srcref[1], 0.9 * saved)
  expect_lte(sizes$srcref[1], saved)
  compiled <- compiler::cmpfun(f)
  sizes <- expect_consistent(compiled, depth = 8)
  sizes <- qs_sizes(compiled)
  expect_gt(sizes$srcref[1], qs_sizes(f)$srcref[1] / 2)
  expect_gt(sizes$bytecode[1], 0)
})

test_that("byte code has the expression that was compiled as a part", {
  f <- compiler::cmpfun(top_level(function(x) for (i in 1:3) x <- x + i))
  sizes <- qs_sizes(f)
  body <- which(sizes$kind == "body")
  expect_identical(sizes$type[body], "bytecode")
  expect_identical(sizes$bytecode[body], sizes$bytes[body])
  expect_identical(sizes$kind[which(sizes$parent == body)], "expression")
  expect_lt(sizes$bytes[which(sizes$parent == body)], sizes$bytes[body])
})

test_that("slots, pairlists, pointers and expressions have paths", {
  methods::setClass("Measured", representation(number = "numeric", parts = "list"),
                    where = environment())
  x <- methods::new("Measured", number = 1:5 / 3, parts = list(a = letters))
  sizes <- expect_consistent(x)
  sizes <- qs_sizes(x)
  number <- row_of(sizes, "x@number")
  expect_identical(list(number$kind, number$bytes), list("slot", body_len(1:5 / 3)))
  expect_identical(row_of(sizes, "x@parts$a")$bytes, body_len(letters))
  expect_identical(sizes$kind[sizes$name %in% "class" & sizes$depth == 1], "attribute")
  x <- list(pairlist(a = 1, 2), expression(u, v + 1), quote(f(x, y)), globalenv(),
            asNamespace("stats"))
  sizes <- expect_consistent(x)
  sizes <- qs_sizes(x)
  expect_paths(sizes)
  expect_true(all(c("x[[1]]$a", "x[[1]][[2]]", "x[[2]][[2]]", "x[[3]][[3]]") %in% sizes$path))
  expect_identical(sizes$type[sizes$depth == 1],
                   c("pairlist", "expression", "language", "global environment", "namespace"))
})

test_that("names that are no symbols, missing or twice there are quoted or left for the position", {
  x <- list(`a b` = 1, 2, a = 3, a = 4, `if` = list(5))
  names(x)[3:4] <- "a"
  sizes <- qs_sizes(x, 1)
  expect_identical(sizes$path[2:6], c("x$`a b`", "x[[2]]", "x$a", "x[[4]]", "x$`if`"))
  expect_identical(sizes$name[2:6], c("a b", "", "a", "a", "if"))
  x <- structure(list(1, 2), names = c(NA, "\""))
  expect_identical(qs_sizes(x)$path[2:3], c("x[[1]]", "x$`\"`"))
  skip_if_not_utf8()
  x <- stats::setNames(list(1), "\u00fcber")
  expect_identical(qs_sizes(x)$name[2], "\u00fcber")
})

test_that("wrapped and compact vectors have the size they are stored in", {
  wrapped <- as.list(1:100)
  names(wrapped) <- paste0("n", 1:100)
  copy <- wrapped
  attr(copy, "more") <- TRUE
  sizes <- expect_consistent(copy)
  expect_identical(sizes$name[2:101], names(wrapped))
  x <- list(compact = 1:1e6, strings = as.character(1:1e6), sorted = sort(c(3, 1, 2)))
  sizes <- expect_consistent(x)
  expect_lt(sizes$bytes[2], 200)
  expect_identical(sizes$type[2:4], c("integer", "character", "double"))
  x <- structure(list(1, 2), names = as.character(1:2))
  expect_consistent(x)
})

test_that("a plot's data and environment are told", {
  skip_if_not_installed("ggplot2")
  make <- function() {
    hidden <- runif(1e4)
    ggplot2::ggplot(mtcars, ggplot2::aes(wt, mpg)) + ggplot2::geom_point()
  }
  sizes <- expect_consistent(top_level(make)(), depth = 12)
  expect_gt(sizes$environments[1], 8e4)
  expect_true("hidden" %in% sizes$name)
})

test_that("depth says how many levels are listed", {
  x <- list(list(list(list(list(1)))))
  for (depth in 0:5) expect_identical(max(qs_sizes(x, depth)$depth), depth)
  expect_identical(nrow(qs_sizes(x, 0)), 1L)
  expect_identical(nrow(qs_sizes(x, 100)), 6L)
  for (depth in list(-1, 1.5, 101, NA, "1", NULL, 1:2)) {
    expect_riffle_error(qs_sizes(x, depth), "argument", "a whole number from 0 to 100")
  }
  deep <- NULL
  for (i in 1:5000) deep <- list(deep)
  expect_consistent(deep, depth = 3)
})

test_that("the argument's expression is the root of all paths, if it is short", {
  object <- list(part = list(1))
  expect_identical(qs_sizes(object$part)$path[2], "object$part[[1]]")
  expect_identical(qs_sizes(object[["part"]])$path[1], "object[[\"part\"]]")
  expect_identical(qs_sizes(list(1))$path, c("x", "x[[1]]"))
  expect_identical(do.call(qs_sizes, list(object))$path[1], "x")
})

test_that("print() shows a tree, the largest first, and sums up the small", {
  x <- list(small = 1, large = runif(1e4), tiny1 = 1, tiny2 = 2,
            inner = list(a = runif(1e3), b = 1:2 / 3))
  lines <- capture.output(shown <- withVisible(print(qs_sizes(x))))
  expect_false(shown$visible)
  expect_match(lines[1], "^<qs_sizes> 88\\.[0-9] kB and [0-9]+ B of header$")
  expect_match(lines[2], "^88\\.[0-9] kB  100\\.0 %  x <list>$")
  expect_match(lines[3], "^80\\.0 kB   [0-9.]+ %    \\$large <double>$")
  expect_match(lines[4], "^8\\.[0-9]+ kB    [0-9.]+ %    \\$inner <list>$")
  expect_match(lines[5], "^8\\.[0-9]+ kB    [0-9.]+ %      \\$a <double>$")
  expect_match(lines[6], "^ *[0-9]+ B +<0\\.1 %      2 others$")
  expect_match(lines[7], "^ *[0-9]+ B +<?0\\.[0-9] %    4 others$")
  expect_identical(length(lines), 7L)
  expect_identical(format(qs_sizes(x)), lines)
  expect_identical(length(format(qs_sizes(x), n = 1)), 4L)
  expect_output(print(qs_sizes(NULL)), "4 B +100.0 %  x <NULL>")
})

test_that("sizes have units", {
  expect_identical(trimws(size_text(c(0, 999, 1000, 12345, 999999, 1e6, 123.4e6, 5.678e9))),
                   c("0 B", "999 B", "1.00 kB", "12.3 kB", "1000 kB", "1.00 MB", "123 MB",
                     "5.68 GB"))
})

test_that("rows are a plain data frame", {
  sizes <- qs_sizes(mtcars)
  plain <- as.data.frame(sizes)
  expect_identical(class(plain), "data.frame")
  expect_null(attr(plain, "header"))
  expect_identical(class(sizes[1:3, ]), "data.frame")
  expect_identical(sizes[2, "path"], "mtcars$mpg")
  expect_identical(class(head(sizes)), "data.frame")
})

test_that("plot() draws any object", {
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  sizes <- qs_sizes(lm(mpg ~ wt, mtcars))
  expect_identical(withVisible(plot(sizes))$visible, FALSE)
  plot(qs_sizes(NULL))
  plot(qs_sizes(iris, 0))
  bars <- nested_bars(sizes)
  expect_true(all(bars$right <= 1 + 1e-9) && all(bars$left >= 0))
  # those of a level do not overlap
  for (level in split(bars, bars$depth)) {
    level <- level[order(level$left), ]
    expect_true(all(level$left[-1] >= level$right[-nrow(level)] - 1e-9))
  }
})

test_that("large vectors are measured in no time", {
  x <- list(runif(1e6), sample(letters, 1e6, TRUE), factor(sample(letters, 1e6, TRUE)))
  expect_lt(system.time(qs_sizes(x))[["elapsed"]], 2)
})
