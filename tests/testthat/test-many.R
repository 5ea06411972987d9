local_folder <- function(env = parent.frame()) withr::local_tempdir(.local_envir = env)

test_that("qs_savem() and qs_readm() restore objects by their names", {
  path <- withr::local_tempfile(fileext = ".rif")
  a <- 1:3
  `odd name` <- "text"
  nothing <- NULL
  expect_identical(withVisible(qs_savem(a, `odd name`, nothing, file = path)),
                   list(value = NULL, visible = FALSE))
  expect_identical(qs_read(path), list(a = 1:3, `odd name` = "text", nothing = NULL))
  env <- new.env()
  env$a <- "old"
  expect_identical(withVisible(qs_readm(path, env)),
                   list(value = c("a", "odd name", "nothing"), visible = FALSE))
  expect_identical(mget(c("a", "odd name", "nothing"), env),
                   list(a = 1:3, `odd name` = "text", nothing = NULL))
  rm(a, `odd name`, nothing)
  qs_readm(path)
  expect_identical(a, 1:3)
})

test_that("qs_savem() takes names as strings, in `list`, and given ones for expressions", {
  path <- withr::local_tempfile(fileext = ".rif")
  a <- 1
  b <- 2
  c <- 3
  qs_savem("a", d = a + b, b, list = "c", file = path)
  expect_identical(qs_read(path), list(a = 1, d = 3, b = 2, c = 3))
  env <- list2env(list(a = "there"))
  qs_savem(list = "a", file = path, envir = env)
  expect_identical(qs_read(path), list(a = "there"))
  qs_savem(file = path)
  expect_identical(qs_readm(path, env), character())
})

test_that("qs_savem() finds objects through functions that pass on `...`", {
  path <- withr::local_tempfile(fileext = ".rif")
  outer <- function(...) qs_savem(..., file = path)
  inner <- function() {
    hidden <- 5
    outer(hidden, twice = 2 * hidden)
  }
  inner()
  expect_identical(qs_read(path), list(hidden = 5, twice = 10))
})

test_that("qs_savem() forces promises and stores their values", {
  path <- withr::local_tempfile(fileext = ".rif")
  forced <- 0
  delayedAssign("late", { forced <- forced + 1; "value" })
  qs_savem(late, file = path)
  expect_identical(forced, 1)
  expect_identical(qs_read(path), list(late = "value"))
  delayedAssign("bad", stop("its own error"))
  expect_error(qs_savem(bad, file = path), "its own error")
})

test_that("options are passed on to qs_save() and qs_read()", {
  path <- withr::local_tempfile(fileext = ".rif")
  a <- rep(1:10, 1e4) + 0
  qs_savem(a, file = path, codec = "none", shuffle = FALSE)
  expect_gt(file.size(path), 8e5)
  level <- 3
  qs_savem(a, file = path, compress_level = level, nthreads = 1)
  expect_lt(file.size(path), 1e5)
  expect_identical(names(qs_read(path)), "a")
  expect_riffle_error(qs_savem(a, file = path, nthreads = 0), "argument", "`nthreads`")
  f <- function() 1
  qs_savem(f, file = path)
  expect_riffle_error(qs_readm(path, data_only = TRUE), "data_only")
})

test_that("what cannot be saved is an error that names it", {
  path <- withr::local_tempfile(fileext = ".rif")
  a <- 1
  expect_riffle_error(qs_savem(a, no_such_object, file = path), "argument",
                      "The object 'no_such_object' does not exist.")
  expect_riffle_error(qs_savem("no_such_object", file = path), "argument", "'no_such_object'")
  expect_riffle_error(qs_savem(list = c("a", "no_such_object"), file = path), "argument",
                      "'no_such_object'")
  expect_riffle_error(qs_savem(a + 1, file = path), "argument", "`name = a + 1`")
  expect_riffle_error(qs_savem(a, a, file = path), "argument", "'a' is given twice")
  expect_riffle_error(qs_savem(a, path), "argument", "`file` must be given")
  expect_riffle_error(qs_savem(a, file = 1), "argument", "`file`")
  expect_riffle_error(qs_savem(list = 1, file = path), "argument", "`list`")
  expect_false(file.exists(path))
  # the error does not drag the data along
  big <- runif(1e5)
  e <- tryCatch(qs_savem(big, file = path, nthreads = 0), error = identity)
  expect_lt(length(serialize(conditionCall(e), NULL)), 2000)
})

test_that("a file that is no named list is an error", {
  path <- withr::local_tempfile(fileext = ".rif")
  for (x in list(1:3, list(1, 2), list(a = 1, 2), NULL)) {
    qs_save(x, path)
    expect_riffle_error(qs_readm(path), "format", "not a list with a name for each object")
  }
  expect_riffle_error(qs_readm(path, env = list()), "argument", "`env`")
  expect_riffle_error(qs_readm(file.path(tempdir(), "none.rif")), "io")
  qs_save(data.frame(u = 1:2, v = 3:4), path)
  env <- new.env()
  qs_readm(path, env)
  expect_identical(env$v, 3:4)
})

test_that("qs_cache() evaluates once and where it is told", {
  folder <- file.path(local_folder(), "made", "for it")
  calls <- 0
  compute <- function() {
    calls <<- calls + 1
    NULL
  }
  expect_message(value <- qs_cache(compute(), "it", cache_dir = folder), "^not cached: it")
  expect_null(value)
  expect_message(value <- qs_cache(compute(), "it", cache_dir = folder), "^cached: it")
  expect_null(value)
  expect_identical(calls, 1)
  expect_identical(files_in(folder), "it.rif")
  env <- list2env(list(a = 5))
  expect_silent(value <- qs_cache(a + 1, "other", env, folder, verbose = FALSE,
                                  qs_save_params = list(codec = "none"),
                                  qs_read_params = list(validate_checksum = TRUE)))
  expect_identical(value, 6)
  expect_true(withVisible(qs_cache(0, "other", cache_dir = folder, verbose = FALSE))$visible)
  by_wrapper <- function(e) qs_cache(e, "third", cache_dir = folder, verbose = FALSE)
  here <- "here"
  expect_identical(by_wrapper(paste(here)), "here")
})

test_that("qs_cache() removes one file or all", {
  folder <- local_folder()
  for (name in c("a", "b", "c")) qs_cache(1, name, cache_dir = folder, verbose = FALSE)
  writeLines("mine", file.path(folder, "mine.txt"))
  clear <- function(...) {
    qs_cache(..., cache_dir = folder, clear = TRUE, prompt = FALSE, verbose = FALSE)
  }
  expect_identical(withVisible(clear(name = "a")), list(value = TRUE, visible = FALSE))
  expect_false(clear(name = "a"))
  expect_identical(files_in(folder), c("b.rif", "c.rif", "mine.txt"))
  if (!interactive()) {
    expect_riffle_error(qs_cache(name = "b", cache_dir = folder, clear = TRUE), "argument",
                        "`prompt`")
  }
  expect_true(clear())
  expect_identical(files_in(folder), "mine.txt")
})

test_that("a damaged cache file is computed again, with a warning", {
  folder <- local_folder()
  path <- file.path(folder, "x.rif")
  cache <- function(value) qs_cache(value, "x", cache_dir = folder, verbose = FALSE)
  cache(runif(1000))
  bytes <- read_bytes(path)
  damaged <- list(head(bytes, -10), flip(bytes, 200), raw(), charToRaw("not a riffle file at all"))
  for (i in seq_along(damaged)) {
    write_bytes(damaged[[i]], path)
    expect_warning(value <- cache(i), "It is evaluated again", info = i)
    expect_identical(value, i)
    expect_silent(value <- cache("another"))
    expect_identical(value, i)
  }
})

test_that("a value that cannot be kept is returned all the same", {
  folder <- local_folder()
  file <- file.path(folder, "file")
  writeLines("no folder", file)
  expect_warning(value <- qs_cache(7, "x", cache_dir = file, verbose = FALSE), "It is not cached")
  expect_identical(value, 7)
  expect_identical(live_calls(), 0L)
})

test_that("impossible arguments of qs_cache() are errors before anything is evaluated", {
  fails <- function(...) qs_cache(stop("evaluated"), ..., verbose = FALSE)
  expect_riffle_error(fails(), "argument", "`name`")
  for (name in list("", "a/b", "..\\a", NA_character_, 1, c("a", "b"))) {
    expect_riffle_error(fails(name), "argument", "`name`")
  }
  expect_riffle_error(fails("a", cache_dir = 1), "argument", "`cache_dir`")
  expect_riffle_error(fails("a", clear = NA), "argument", "`clear`")
})

test_that("two processes that meet at a name both get the right value", {
  folder <- local_folder()
  run <- quote({
    writeLines("", file.path(folder, me))
    until <- Sys.time() + 30
    both <- file.path(folder, c("one", "two"))
    while (!all(file.exists(both)) && Sys.time() < until) Sys.sleep(0.001)
    evaluated <- 0
    good <- logical()
    for (i in 1:40) {
      value <- qs_cache({
        evaluated <- evaluated + 1
        rep(i + 0.5, 2e5)
      }, paste0("n", i), cache_dir = folder, verbose = FALSE, qs_save_params = list(codec = "none"))
      good[i] <- identical(value, rep(i + 0.5, 2e5))
    }
    list(good = all(good), evaluated = evaluated)
  })
  others <- lapply(c("one", "two"), function(me) child_start(run, folder = folder, me = me))
  results <- lapply(others, child_result)
  expect_identical(lapply(results, function(r) r$good), list(TRUE, TRUE))
  # each value was made by one of them at least, and the files are whole
  expect_gte(results[[1]]$evaluated + results[[2]]$evaluated, 40)
  expect_identical(files_in(folder), sort(c("one", "two", paste0("n", 1:40, ".rif"))))
  expect_identical(qs_read(file.path(folder, "n40.rif")), rep(40.5, 2e5))
})
