varied_object <- function() {
  set.seed(11)
  list(
    rnorm(250000), round(rlnorm(150000, 8), 2), sample(300000L), cumsum(sample(9L, 200000, TRUE)),
    sample(c("Complete", "Partial", NA), 150000, TRUE), sprintf("id-%d", sample(70000)),
    as.list(runif(40000)), as.raw(sample(0:255, 600000, TRUE)), raw(700000), mtcars
  )
}

test_that("the bytes do not depend on the number of threads", {
  x <- varied_object()
  for (codec in c("zstd", "lz4", "none")) for (shuffle in c(TRUE, FALSE)) {
    bytes <- qs_serialize(x, nthreads = 1, codec = codec, shuffle = shuffle)
    for (nthreads in c(2, 3, 8)) {
      expect_true(identical(qs_serialize(x, nthreads = nthreads, codec = codec, shuffle = shuffle), bytes),
                  info = paste(nthreads, codec, shuffle))
    }
    expect_true(identical(qs_deserialize(bytes, nthreads = 3), x), info = paste(codec, shuffle))
  }
})

test_that("a file's bytes do not depend on the number of threads either", {
  x <- varied_object()
  path <- withr::local_tempfile()
  expected <- qs_serialize(x, nthreads = 1)
  for (nthreads in c(1, 2, 3, 8, 256)) {
    qs_save(x, path, nthreads = nthreads)
    expect_true(identical(read_bytes(path), expected), info = nthreads)
  }
})

test_that("what is read does not depend on the number of threads", {
  x <- varied_object()
  path <- withr::local_tempfile()
  qs_save(x, path)
  for (nthreads in c(1, 2, 3, 8, 256)) for (validate in c(TRUE, FALSE))
    expect_true(identical(qs_read(path, validate, nthreads), x), info = paste(nthreads, validate))
})

test_that("small objects are the same with any number of threads", {
  for (x in list(NULL, 1, mtcars, letters, 1:10 + 0L))
    for (nthreads in c(2, 8, 256)) {
      bytes <- qs_serialize(x, nthreads = nthreads)
      expect_identical(bytes, qs_serialize(x, nthreads = 1))
      expect_identical(qs_deserialize(bytes, nthreads = nthreads), x)
    }
})

# How many threads more than before there are while `before` has been saved and an environment that
# follows is about to be.
threads_started <- function(before, nthreads) {
  own <- threads_running()
  started <- NA
  count <- function(env) {
    started <<- threads_running() - own
    "env"
  }
  qs_serialize(list(before, new.env()), nthreads = nthreads, refhook = count)
  started
}

test_that("threads are started for large objects alone, and are gone after", {
  skip_if_not_linux()
  before <- threads_running()
  expect_identical(threads_started(1, 4), 0L)
  expect_identical(threads_started(mtcars, 4), 0L)
  expect_identical(threads_started(runif(5000), 4), 0L)
  expect_identical(threads_started(runif(1e6), 1), 0L)
  started <- threads_started(runif(1e6), 4)
  expect_gte(started, 1L)
  expect_lte(started, 3L)
  expect_identical(threads_running(), before)
})

test_that("no thread and no memory is left by errors while threads run", {
  skip_if_not_linux()
  before <- threads_running()
  x <- list(runif(1e6), new.env())
  for (i in 1:5) expect_error(qs_serialize(x, nthreads = 4, refhook = function(e) stop("no")), "no")
  bytes <- qs_serialize(x, refhook = function(e) "e")
  for (i in 1:5) expect_error(qs_deserialize(bytes, nthreads = 4, refhook = function(e) stop("no")), "no")
  expect_identical(threads_running(), before)
  expect_identical(live_calls(), 0L)
})

test_that("hundreds of saves and reads with threads give the same each time", {
  skip_on_cran()
  x <- list(runif(2e5), sample(3e5L), sprintf("%d", 1:20000))
  bytes <- qs_serialize(x, nthreads = 1)
  for (i in 1:40) {
    if (!identical(qs_serialize(x, nthreads = 2 + i %% 3), bytes)) fail(paste("save", i))
    if (!identical(qs_deserialize(bytes, nthreads = 2 + i %% 3), x)) fail(paste("read", i))
  }
  small <- list(1:10, "a")
  bytes <- qs_serialize(small)
  for (i in 1:500) {
    if (!identical(qs_serialize(small, nthreads = 4), bytes)) fail(paste("save", i))
    if (!identical(qs_deserialize(bytes, nthreads = 4), small)) fail(paste("read", i))
  }
  succeed()
})

test_that("forked children save and read with threads, after the parent did", {
  skip_on_cran()
  skip_on_os("windows")
  got <- child({
    x <- list(runif(4e5), sprintf("%d", 1:50000))
    path <- tempfile()
    qs_save(x, path, nthreads = 3)
    works <- parallel::mclapply(1:4, function(i) {
      own <- paste0(path, i)
      y <- list(i, x)
      qs_save(y, own, nthreads = 2)
      c(qs_threads() == 1L, identical(qs_read(own, nthreads = 2), y), identical(qs_read(path, nthreads = 3), x),
        identical(qs_deserialize(qs_serialize(y)), y), identical(unmarshall(marshall(y)), y))
    }, mc.cores = 4)
    qs_save(x, path, nthreads = 3)
    list(works, identical(qs_read(path, nthreads = 3), x), riffle:::live_calls())
  })
  expect_identical(got, list(rep(list(rep(TRUE, 5)), 4), TRUE, 0L))
})

test_that("a child that is forked in the middle of a save can save", {
  skip_on_cran()
  skip_on_os("windows")
  got <- child({
    fork <- function(env) {
      job <- parallel::mcparallel(identical(qs_deserialize(qs_serialize(1:10, nthreads = 2)), 1:10))
      if (isTRUE(parallel::mccollect(job)[[1]])) "worked" else "failed"
    }
    x <- list(runif(1e6), new.env(), runif(1e6))
    bytes <- qs_serialize(x, nthreads = 3, refhook = fork)
    restored <- qs_deserialize(bytes, nthreads = 3, refhook = identity)
    list(identical(restored[-2], x[-2]), restored[[2]])
  })
  expect_identical(got, list(TRUE, "worked"))
})
