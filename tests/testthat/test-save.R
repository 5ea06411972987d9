test_that("qs_save() returns NULL invisibly, prints nothing and leaves the random seed alone", {
  path <- withr::local_tempfile()
  set.seed(1)
  seed <- .Random.seed
  expect_output(result <- withVisible(qs_save(1:3, path)), NA)
  expect_identical(result, list(value = NULL, visible = FALSE))
  qs_read(path)
  expect_identical(.Random.seed, seed)
})

test_that("the arguments are those of qs2, in their order, then ours", {
  expect_identical(names(formals(qs_save)), c("object", "file", "compress_level", "shuffle",
                                              "nthreads", "codec", "refhook", "format", "progress",
                                              "meta"))
  expect_identical(names(formals(qs_serialize)), c("object", "compress_level", "shuffle",
                                                   "nthreads", "codec", "refhook"))
})

test_that("qs_serialize() gives the bytes that qs_save() writes", {
  path <- withr::local_tempfile()
  for (x in list(1, mtcars, runif(2e5), format(1:5000))) {
    qs_save(x, path)
    expect_identical(qs_serialize(x), read_bytes(path))
  }
})

test_that("saving again gives the same bytes, in another session too", {
  x <- list(iris, sqrt(1:200000), c("a", NA), format(1:3000), quote(a + b))
  bytes <- qs_serialize(x)
  expect_identical(qs_serialize(x), bytes)
  elsewhere <- child({
    x <- list(iris, sqrt(1:200000), c("a", NA), format(1:3000), quote(a + b))
    riffle::qs_serialize(x)
  })
  expect_identical(elsewhere, bytes)
})

test_that("saving does not change the object", {
  x <- list(sort(runif(1000)), 1:1000, as.character(1:1000))
  before <- serialize(x, NULL)
  qs_serialize(x)
  marshall(x)
  calc_size(x)
  expect_identical(serialize(x, NULL), before)
})

test_that("a small object over a large file leaves a small file", {
  path <- withr::local_tempfile()
  qs_save(runif(1e5), path)
  qs_save("small", path)
  expect_identical(qs_read(path), "small")
  expect_lt(file.size(path), 300)
})

# The sizes around n, and those of several blocks.
around <- function(n) c(0, 1, n - 1, n, n + 1, 2 * n - 1, 2 * n, 2 * n + 1, 5 * n + 3)

# Expects that fun(n) comes back for every length n, in a list as in a file of its own.
expect_sizes <- function(lengths, fun) {
  for (n in lengths) {
    x <- fun(n)
    for (shuffle in c(TRUE, FALSE)) {
      same <- is_same(qs_deserialize(qs_serialize(x, shuffle = shuffle)), x)
      expect(same, sprintf("Length %.0f, shuffle %s, does not come back.", n, shuffle))
    }
  }
  together <- lapply(lengths, fun)
  expect_true(is_same(qs_deserialize(qs_serialize(together)), together))
}

test_that("raw vectors of sizes around a block's come back", {
  random <- as.raw(sample(0:255, 5 * 2^19 + 3, TRUE))
  expect_sizes(c(around(2^19), around(2^12)), function(n) random[seq_len(n)])
  expect_sizes(2^19 + -64:2, function(n) raw(n))
})

test_that("integers of sizes around a block's come back", {
  random <- sample(.Machine$integer.max, 5 * 2^17 + 3, TRUE)
  expect_sizes(c(around(2^17), around(2^10)), function(n) random[seq_len(n)])
  expect_sizes(c(around(2^17), around(2^10)), function(n) rep_len(c(1L, NA, 3L), n))
})

test_that("doubles of sizes around a block's come back", {
  random <- rnorm(5 * 2^16 + 3)
  expect_sizes(c(around(2^16), around(2^9)), function(n) random[seq_len(n)])
  expect_sizes(c(around(2^16), around(2^9)), function(n) seq_len(n) * 0.01)
})

test_that("complex vectors of sizes around a block's come back", {
  random <- complex(real = rnorm(5 * 2^15 + 3), imaginary = 1)
  expect_sizes(c(around(2^15), around(2^8)), function(n) random[seq_len(n)])
})

test_that("character vectors of sizes around a block's come back", {
  distinct <- format(sample(5 * 2^16 + 3))
  expect_sizes(c(around(2^16), around(2^8)), function(n) distinct[seq_len(n)])
  expect_sizes(c(around(2^16), around(2^8)), function(n) rep_len(c("a", NA, "b", ""), n))
})

test_that("strings of lengths around a batch's and a block's come back", {
  for (n in c(2^16 + -2:2, 2^19 + -9:9, 2^20 + -9:9, 3e6)) {
    long <- strrep("s", n)
    expect_true(identical(qs_deserialize(qs_serialize(long)), long), info = n)
  }
  for (n in c(2^16 + -2:2, 2^19, 2^20)) {
    among <- rep("short", 600)
    among[c(1, 300, 301, 600)] <- strrep("s", n)
    among[302] <- NA
    expect_true(identical(qs_deserialize(qs_serialize(among)), among), info = n)
  }
  many_long <- strrep(letters, 2^16 - 5)[rep(1:26, 20)]
  expect_true(identical(qs_deserialize(qs_serialize(many_long)), many_long))
})

test_that("lists of many small things come back", {
  x <- list(as.list(runif(1e5)), rep(list(list(id = 1L, n = "a", v = c(1, 2))), 2e4))
  expect_true(identical(qs_deserialize(qs_serialize(x)), x))
})

test_that("streams that end around the border of a bytes block come back", {
  filler <- as.list(seq_len(32700) + 0)   # 16 bytes each
  for (n in 0:80) {
    x <- c(filler, list(as.raw(seq_len(n))), filler[1:10])
    if (n %% 8 == 0) x <- c(x, filler)
    expect_true(identical(qs_deserialize(qs_serialize(x)), x), info = n)
  }
})

test_that("every codec and level gives the object back", {
  x <- list(mtcars, rnorm(1e4), sample(1e4), format(1:3000))
  levels <- list(zstd = c(-131072, -50, -1, 0, 1, 3, 9, 19, 22), lz4 = 1:12,
                 none = c(-100, 0, 1, 22, 1e6))
  for (codec in names(levels)) for (level in levels[[codec]]) {
    bytes <- qs_serialize(x, compress_level = level, codec = codec)
    expect_true(identical(qs_deserialize(bytes), x), info = paste(codec, level))
  }
})

test_that("a level may be an integer or a double", {
  expect_identical(qs_serialize(mtcars, compress_level = 5L), qs_serialize(mtcars, compress_level = 5))
})

test_that("codecs, levels and shuffling make files smaller", {
  x <- list(cumsum(sample(9, 2e5, TRUE)), round(rlnorm(1e5, 8), 2), sample(month.name, 1e5, TRUE))
  size <- function(...) length(qs_serialize(x, ...))
  expect_lt(size(), size(codec = "lz4"))
  expect_lt(size(codec = "lz4"), size(codec = "none", shuffle = FALSE))
  expect_lt(size(), size(shuffle = FALSE))
  expect_lt(size(shuffle = FALSE, compress_level = 15), size(shuffle = FALSE, compress_level = -10))
})

test_that("what cannot be compressed is hardly larger than its stream", {
  x <- as.raw(sample(0:255, 3e6, TRUE))
  for (codec in c("zstd", "lz4", "none"))
    expect_lt(length(qs_serialize(x, codec = codec)), calc_size(x) * 1.001)
})

test_that("half a million distinct strings take seconds at most", {
  skip_on_cran()
  x <- sprintf("id_%07d", sample(5e5))
  time <- system.time(restored <- qs_deserialize(qs_serialize(x)))[["elapsed"]]
  expect_identical(restored, x)
  expect_lt(time, 10)
})

# ---- refhook --------------------------------------------------------------------------------

hooked_object <- function() {
  e <- new.env(parent = globalenv())
  e$big <- as.numeric(1:1e5)
  list(1, e, e, "end")
}

test_that("a refhook stands in for environments, on the way out and back", {
  x <- hooked_object()
  path <- withr::local_tempfile()
  out <- function(env) if (identical(env, x[[2]])) c("the", "one")
  back <- function(names) if (identical(names, c("the", "one"))) x[[2]]
  qs_save(x, path, refhook = out)
  expect_lt(file.size(path), 1000)
  expect_true(identical(qs_read(path, refhook = back), x))
  expect_true(identical(qs_deserialize(qs_serialize(x, refhook = out), refhook = back), x))
})

test_that("with a refhook the stream is that of serialize()", {
  x <- list(hooked_object(), asNamespace("stats"), globalenv())
  seen <- list()
  out <- function(env) {
    seen <<- c(seen, list(env))
    if (length(seen) %% 2) "some name"
  }
  theirs <- serialize(x, NULL, xdr = FALSE, refhook = out)
  their_calls <- seen
  seen <- list()
  bytes <- qs_serialize(x, codec = "none", shuffle = FALSE, refhook = out)
  expect_identical(stream_in(bytes), theirs)
  expect_true(identical(seen, their_calls))
})

test_that("a refhook may return strings of any encoding", {
  skip_if_not_utf8()
  names <- c("\u4e2d", latin1("\u00e9"), "a", "")
  bytes <- qs_serialize(new.env(), refhook = function(x) names)
  got <- qs_deserialize(bytes, refhook = identity)
  expect_identical(got, names)
  expect_identical(Encoding(got), Encoding(names))
})

test_that("a refhook that returns NULL changes nothing", {
  x <- hooked_object()
  expect_identical(qs_serialize(x, refhook = function(env) NULL), qs_serialize(x))
})

test_that("a refhook that returns something else is an error", {
  for (value in list(1, list("a"), TRUE, character())) {
    expect_riffle_error(qs_serialize(new.env(), refhook = function(x) value), "argument",
                        "`refhook` must be a function that returns a character vector or NULL")
  }
})

test_that("without a refhook to read, what another stands for is an error", {
  bytes <- qs_serialize(new.env(), refhook = function(x) "a")
  expect_error(qs_deserialize(bytes), "restore|persist|hook")
  expect_identical(live_calls(), 0L)
})

test_that("a builtin function may be a refhook", {
  bytes <- qs_serialize(list(new.env()), refhook = class)
  expect_identical(qs_deserialize(bytes, refhook = length), list(1L))
})

test_that("a refhook may save, read and serialize itself", {
  folder <- withr::local_tempdir()
  x <- hooked_object()
  depths <- integer()
  out <- function(env) {
    depths <<- c(depths, live_calls())
    path <- file.path(folder, "inner.rif")
    qs_save(list(env, runif(2e5)), path, nthreads = 2)
    stopifnot(identical(qs_deserialize(marshal_twice(env))$big, env$big))
    path
  }
  marshal_twice <- function(env) {
    stopifnot(identical(unmarshall(marshall(env))$big, env$big))
    qs_serialize(env)
  }
  back <- function(path) {
    depths <<- c(depths, live_calls())
    qs_read(path, nthreads = 2)[[1]]
  }
  path <- file.path(folder, "outer.rif")
  qs_save(list(runif(2e5), x, runif(2e5)), path, nthreads = 2, refhook = out)
  restored <- qs_read(path, nthreads = 2, refhook = back)
  expect_identical(restored[[2]][[2]]$big, x[[2]]$big)
  expect_identical(restored[[2]][[3]]$big, x[[2]]$big)
  expect_identical(unique(depths), 1L)
  expect_identical(live_calls(), 0L)
  expect_identical(files_in(folder), c("inner.rif", "outer.rif"))
})

test_that("a refhook may save to the file that is being saved: the outer save wins", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  qs_save(list(1, new.env()), path, refhook = function(env) {
    qs_save("inner", path)
    "name"
  })
  expect_identical(qs_read(path, refhook = identity), list(1, "name"))
  expect_identical(files_in(folder), "x.rif")
})
