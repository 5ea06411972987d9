test_that("marshall() gives the bytes of serialize(xdr = FALSE)", {
  values <- c(example_objects(), example_altrep())
  for (i in seq_along(values)) {
    expected <- serialize(values[[i]], NULL, xdr = FALSE)
    expect(identical(marshall(values[[i]]), expected), paste(names(values)[i], "has other bytes."))
    expect(identical(calc_size(values[[i]]), as.numeric(length(expected))),
           paste(names(values)[i], "has another size."))
  }
})

test_that("marshall() gives the bytes of serialize() in version 2, too", {
  values <- c(example_objects(), example_altrep())
  for (i in seq_along(values)) {
    expected <- serialize(values[[i]], NULL, xdr = FALSE, version = 2)
    expect(identical(marshall(values[[i]], version = 2), expected),
           paste(names(values)[i], "has other bytes."))
    expect(identical(calc_size(values[[i]], version = 2L), as.numeric(length(expected))),
           paste(names(values)[i], "has another size."))
    expect_identical(serialize(unmarshall(expected), NULL), serialize(unserialize(expected), NULL))
  }
})

test_that("marshall() gives the bytes of serialize() for environments and functions", {
  e <- new.env(parent = globalenv())
  e$self <- e
  e$f <- local(function(x) x + y, e)
  delayedAssign("p", stop("not run"), e, e)
  values <- list(e, lm(mpg ~ wt, mtcars), list(e, e, quote(a), quote(a)), emptyenv())
  for (x in values) expect_identical(marshall(x), serialize(x, NULL, xdr = FALSE))
})

test_that("marshall() and calc_size() warn of a package's environment as serialize() does", {
  warned <- function(expr) {
    messages <- character()
    withCallingHandlers(expr, warning = function(w) {
      messages <<- c(messages, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    unique(messages)
  }
  stats <- as.environment("package:stats")
  theirs <- warned(expected <- serialize(stats, NULL, xdr = FALSE))
  expect_identical(warned(bytes <- marshall(stats)), theirs)
  expect_identical(warned(size <- calc_size(stats)), theirs)
  expect_identical(bytes, expected)
  expect_equal(size, length(bytes))
})

test_that("marshall() needs no more than a list of its own", {
  x <- lapply(1:300, function(i) runif(i))
  expect_identical(unmarshall(marshall(x)), x)
})

test_that("unmarshall() reads every form that serialize() writes", {
  x <- list(a = 1:3, b = c(pi, NA, Inf, -0), c = c("text", NA, "new\nline"), d = quote(f(x)), 2i)
  for (version in 2:3) for (ascii in c(TRUE, FALSE, NA)) for (xdr in c(TRUE, FALSE)) {
    bytes <- serialize(x, NULL, ascii = ascii, xdr = xdr, version = version)
    expect_identical(unmarshall(bytes), unserialize(bytes), info = paste(version, ascii, xdr))
  }
})

test_that("calc_size() is a double and makes nothing of a sequence", {
  expect_type(calc_size(NULL), "double")
  expect_lt(calc_size(1:1e9), 200)
  expect_gt(calc_size(numeric(1e6)), 8e6)
})

test_that("the bytes of a vector grown by assignment are not longer for it", {
  x <- numeric()
  for (i in 1:2000) x[i] <- i / 2
  expect_identical(length(marshall(x)), length(marshall(1:2000 / 2)))
  expect_identical(unmarshall(marshall(x)), x)
})

test_that("a stream cut at any byte is corrupt", {
  bytes <- marshall(list(a = 1:3, b = "text", c = quote(x + y), d = globalenv(), e = 1:10 / 3))
  expect_outcomes(seq_along(bytes) - 1L, function(n) unmarshall(bytes[seq_len(n)]), c("corrupt", "format"))
  expect_identical(outcome(unmarshall(bytes[1:100])), "corrupt")
})

test_that("what is no stream is refused", {
  not <- "Can't unserialize the raw vector: it is not a stream that serialize() or marshall() makes."
  for (bytes in list(raw(), as.raw(0x42), charToRaw("text"), raw(1000), qs_serialize(1)))
    expect_riffle_error(unmarshall(bytes), "format", not)
})

test_that("a top-level promise is refused, and its code not run", {
  header <- head(serialize(NULL, NULL, xdr = FALSE), -4)
  stop_call <- tail(serialize(quote(stop("ran")), NULL, xdr = FALSE), -length(header))
  int <- function(x) as.raw(c(x, 0, 0, 0))
  bytes <- c(header, int(5), int(252), stop_call)   # a promise: no value yet, and what to evaluate
  expect_riffle_error(unmarshall(bytes), "corrupt", "it")
  expect_riffle_error(unmarshall(bytes), "corrupt", "its object is a promise, which could run code")
})
