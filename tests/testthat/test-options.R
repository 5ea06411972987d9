local_options_reset <- function(env = parent.frame()) {
  withr::local_options(riffle.compress_level = NULL, riffle.shuffle = NULL,
                       riffle.validate_checksum = NULL, .local_envir = env)
  threads <- qs_threads()
  withr::defer(qs_threads(threads), env)
}

test_that("qopt() tells the defaults", {
  local_options_reset()
  expect_identical(qopt("compress_level"), 1L)
  expect_identical(qopt("shuffle"), TRUE)
  expect_identical(qopt("validate_checksum"), FALSE)
  expect_identical(qopt("nthreads"), qs_threads())
})

test_that("qopt() sets a default and gives the old one, invisibly", {
  local_options_reset()
  expect_identical(withVisible(qopt("compress_level", 7)), list(value = 1L, visible = FALSE))
  expect_identical(qopt("compress_level"), 7)
  expect_identical(qopt("shuffle", FALSE), TRUE)
  expect_identical(qopt("shuffle"), FALSE)
  expect_identical(qopt("validate_checksum", TRUE), FALSE)
  expect_identical(qopt("validate_checksum"), TRUE)
  threads <- qs_threads()
  expect_identical(qopt("nthreads", 3), threads)
  expect_identical(qopt("nthreads"), 3L)
  expect_identical(qs_threads(), 3L)
})

test_that("the defaults are those of the functions", {
  local_options_reset()
  x <- list(mtcars, round(rlnorm(1e4), 2))
  plain <- qs_serialize(x)
  qopt("compress_level", 19)
  expect_identical(qs_serialize(x), qs_serialize(x, compress_level = 19))
  expect_false(identical(qs_serialize(x), plain))
  qopt("shuffle", FALSE)
  expect_identical(qs_serialize(x), qs_serialize(x, compress_level = 19, shuffle = FALSE))
})

test_that("qopt() and options() are the same thing", {
  local_options_reset()
  qopt("compress_level", 4)
  expect_identical(getOption("riffle.compress_level"), 4)
  options(riffle.shuffle = FALSE)
  expect_identical(qopt("shuffle"), FALSE)
})

test_that("an impossible option is found out at its use", {
  local_options_reset()
  options(riffle.compress_level = "high")
  expect_riffle_error(qs_serialize(1), "argument", "`compress_level` must be a whole number from")
  options(riffle.compress_level = NULL, riffle.shuffle = NA)
  expect_riffle_error(qs_serialize(1), "argument", "`shuffle` must be TRUE or FALSE, not NA.")
  options(riffle.shuffle = NULL, riffle.validate_checksum = "yes")
  bytes <- qs_serialize(1)
  expect_riffle_error(qs_deserialize(bytes), "argument",
                      "`validate_checksum` must be TRUE or FALSE, not \"yes\".")
})

test_that("qopt() refuses unknown parameters and impossible values, and keeps what was", {
  local_options_reset()
  unknown <- "`parameter` must be \"compress_level\", \"shuffle\", \"nthreads\" or \"validate_checksum\", not "
  expect_riffle_error(qopt("level"), "argument", unknown)
  expect_riffle_error(qopt(""), "argument", unknown)
  expect_riffle_error(qopt(NA_character_), "argument", unknown)
  expect_riffle_error(qopt(1), "argument", unknown)
  expect_riffle_error(qopt(NULL), "argument", unknown)
  expect_riffle_error(qopt(c("shuffle", "nthreads")), "argument", unknown)
  expect_riffle_error(qopt(list("shuffle")), "argument", unknown)
  expect_riffle_error(qopt("compress_level", 23), "argument", "from -131072 to 22")
  expect_riffle_error(qopt("compress_level", "a"), "argument", "not \"a\"")
  expect_riffle_error(qopt("shuffle", 1), "argument", "`shuffle` must be TRUE or FALSE, not 1.")
  expect_riffle_error(qopt("validate_checksum", NA), "argument", "`validate_checksum` must be")
  expect_riffle_error(qopt("nthreads", 0), "argument", "`nthreads` must be a whole number from 1 to 256, not 0.")
  expect_identical(qopt("compress_level"), 1L)
  expect_identical(qopt("shuffle"), TRUE)
  expect_identical(qopt("validate_checksum"), FALSE)
})

test_that("qs_threads() sets the number and gives the old one, invisibly", {
  local_options_reset()
  qs_threads(2)
  expect_identical(withVisible(qs_threads(5L)), list(value = 2L, visible = FALSE))
  expect_identical(qs_threads(), 5L)
  expect_riffle_error(qs_threads(0), "argument", "`nthreads` must be a whole number from 1 to 256, not 0.")
  expect_identical(qs_threads(), 5L)
})

test_that("the number of threads at the start follows the environment", {
  skip_on_cran()
  threads <- function(...) child(qs_threads(), env = c(...))
  cores <- threads()
  expect_true(cores >= 1L && cores <= 256L)
  expect_identical(threads("RIFFLE_THREADS=7"), 7L)
  expect_identical(threads("OMP_THREAD_LIMIT=1"), 1L)
  expect_identical(threads("RIFFLE_THREADS=7", "OMP_THREAD_LIMIT=3"), 3L)
  expect_identical(threads("RIFFLE_THREADS=7", "_R_CHECK_LIMIT_CORES_=TRUE"), 2L)
  expect_identical(threads("RIFFLE_THREADS=7", "_R_CHECK_LIMIT_CORES_=false"), 7L)
  for (nonsense in c("0", "two", "9999999999"))
    expect_identical(threads(paste0("RIFFLE_THREADS=", nonsense)), cores)
})

test_that("a process that may use one core starts with one thread", {
  skip_on_cran()
  skip_if_not_linux()
  skip_if(!nzchar(Sys.which("taskset")), "needs taskset")
  expect_identical(child(qs_threads(), with = "taskset -c 0"), 1L)
})

test_that("a forked child starts over with one thread, until it sets its own", {
  skip_on_os("windows")
  skip_on_cran()
  got <- child({
    qs_threads(4)
    job <- parallel::mcparallel({
      first <- qs_threads()
      qs_threads(3)
      c(first, qs_threads())
    })
    list(parallel::mccollect(job)[[1]], qs_threads())
  })
  expect_identical(got, list(c(1L, 3L), 4L))
})
