# Objects over 2^31 elements or bytes: 10 to 16 GB of memory and a few of disk, some minutes.
# RIFFLE_BIG=1 runs them.
skip_unless_big <- function() skip_if_not(Sys.getenv("RIFFLE_BIG") == "1", "RIFFLE_BIG is not 1")

# Each in a process of its own, which gives all its memory back.
big <- function(code) eval.parent(substitute(child(code, seconds = 900)))

test_that("a raw vector of over 2^31 bytes is saved and read", {
  skip_unless_big()
  expect_identical(big({
    x <- raw(2^31 + 5)
    marks <- c(1, 2^19, 2^31 - 1, 2^31, 2^31 + 5)
    x[marks] <- as.raw(1:5)
    path <- tempfile()
    qs_save(x, path)
    rm(x)
    y <- qs_read(path)
    list(length(y), y[marks], sum(file.size(path)) < 1e7)
  }), list(2^31 + 5, as.raw(1:5), TRUE))
})

test_that("a logical vector of over 2^31 elements is saved and read", {
  skip_unless_big()
  expect_identical(big({
    x <- logical(2^31 + 5)
    marks <- c(1, 2^17, 2^31 - 1, 2^31, 2^31 + 5)
    x[marks] <- NA
    path <- tempfile()
    qs_save(list("before", x, "after"), path)
    rm(x)
    gc()
    y <- qs_read(path)
    list(y[c(1, 3)], length(y[[2]]), y[[2]][marks], sum(y[[2]][2^31 + 1:4]))
  }), list(list("before", "after"), 2^31 + 5, rep(NA, 5), 0L))
})

test_that("a list of 3 GB is saved and read", {
  skip_unless_big()
  expect_identical(big({
    set.seed(1)
    random <- as.raw(sample(0:255, 1e6, TRUE))
    x <- c(lapply(1:180, function(i) as.numeric(seq_len(2e6)) * i / 7), list(letters, rep(random, 100)))
    path <- tempfile()
    qs_save(x, path)
    y <- qs_read(path)
    list(calc_size(x) > 2.9e9, identical(x, y))
  }), list(TRUE, TRUE))
})

test_that("marshall(), unmarshall() and calc_size() work over 2^31 bytes", {
  skip_unless_big()
  expect_identical(big({
    x <- numeric(2.8e8)
    marks <- c(1, 2^28 - 1, 2^28, 2.8e8)
    x[marks] <- c(1.5, 2.5, 3.5, 4.5)
    size <- calc_size(x)
    bytes <- marshall(x)
    rm(x)
    gc()
    y <- unmarshall(bytes)
    list(size, as.numeric(length(bytes)), length(y), y[marks], riffle:::live_calls())
  })[c(3, 4, 5)], list(280000000L, c(1.5, 2.5, 3.5, 4.5), 0L))
  expect_identical(big({
    x <- raw(2^31 + 5)
    c(calc_size(x), calc_size(x, version = 2), length(marshall(x)))
  }) - (2^31 + 5) > 0, rep(TRUE, 3))
})

test_that("qs_serialize() and qs_deserialize() work over 2^31 bytes", {
  skip_unless_big()
  expect_identical(big({
    set.seed(1)
    random <- as.raw(sample(0:255, 1e6, TRUE))
    x <- rep(random, 2200)
    bytes <- qs_serialize(x, codec = "none", nthreads = 2)
    rm(x)
    gc()
    y <- qs_deserialize(bytes, nthreads = 2)
    n <- length(bytes)
    rm(bytes)
    list(n > 2^31, length(y), identical(y[2^31 + 1:1e6], rep(random, 3)[2^31 %% 1e6 + 1:1e6]))
  }), list(TRUE, 2.2e9, TRUE))
})
