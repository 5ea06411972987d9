# Each look is an update, not only those after 2 seconds.
local_progress_always <- function(env = parent.frame()) {
  old <- riffle:::progress_pace(0)
  withr::defer(riffle:::progress_pace(old), env)
}

# C calls `show` where it would call riffle's own.
local_show <- function(show, env = parent.frame()) {
  ns <- asNamespace("riffle")
  set <- function(f) {
    unlockBinding("progress_show", ns)
    assign("progress_show", f, ns)
    lockBinding("progress_show", ns)
  }
  old <- ns$progress_show
  set(show)
  withr::defer(set(old), env)
  old
}

# What C told about the progress while `expr` ran: a row for each update.
updates_of <- function(expr) {
  local_progress_always()
  rows <- list()
  local_show(function(words, is_path, numbers) {
    rows[[length(rows) + 1]] <<- data.frame(doing = words[1], thing = words[2], is_path, done = numbers[1],
                                            total = numbers[2], seconds = numbers[3])
    0
  })
  force(expr)
  do.call(rbind, rows)
}

# What cli wrote.
shown_by <- function(expr) {
  paste(capture.output(invisible(expr), type = "message"), collapse = "\n")
}

has_bar <- function() !is.null(riffle:::bar$id)

expect_whole_way <- function(updates, total, steps = 3) {
  expect_gte(nrow(updates), steps)
  expect_true(all(diff(updates$done) >= 0))
  expect_gte(length(unique(updates$done)), steps)
  expect_identical(tail(updates$done, 1), total)
}

test_that("the progress of a save and a read goes up to the length of the stream", {
  path <- withr::local_tempfile()
  x <- list(runif(3e6), sprintf("%d", 1:3e5), as.list(runif(1e5)), raw(3e6))
  total <- calc_size(x)
  for (nthreads in c(1, 3)) {
    saving <- updates_of(qs_save(x, path, nthreads = nthreads, progress = TRUE))
    expect_whole_way(saving, total)
    expect_identical(unique(saving$total), total)
    expect_identical(unique(saving[c("doing", "thing", "is_path")]),
                     data.frame(doing = "save", thing = path, is_path = TRUE))
    reading <- updates_of(expect_identical(qs_read(path, nthreads = nthreads, progress = TRUE), x))
    expect_whole_way(reading, total)
    expect_identical(unique(reading$total), total)
    expect_identical(unique(reading$doing), "read")
  }
  expect_false(has_bar())
})

test_that("updates come every few megabytes, whatever is saved or read", {
  path <- withr::local_tempfile()
  numbers <- runif(6e6)
  objects <- list(numbers, rep(sprintf("string %d", 1:1e5), 5), lapply(1:120, function(i) numbers[1:5e4 + i]),
                  as.list(1:300000), list(new.env(), numbers))
  for (x in objects) for (nthreads in c(1, 3)) {
    gap <- function(u) max(diff(c(0, u$done)))
    expect_lte(gap(updates_of(qs_save(x, path, nthreads = nthreads, progress = TRUE))), 2^25)
    expect_lte(gap(updates_of(qs_read(path, nthreads = nthreads, progress = TRUE))), 2^25)
  }
})

test_that("the total of an object that R's serializer writes is not known, that of its file is", {
  path <- withr::local_tempfile()
  x <- list(new.env(parent = emptyenv()), runif(2e6), sprintf("%d", 1:2e5))
  total <- as.numeric(length(serialize(x, NULL, xdr = FALSE)))
  saving <- updates_of(qs_save(x, path, progress = TRUE))
  expect_whole_way(saving, total)
  expect_true(all(is.na(saving$total)))
  reading <- updates_of(qs_read(path, progress = TRUE))
  expect_whole_way(reading, total)
  expect_identical(unique(reading$total), total)
})

test_that("verifying first is a pass of its own", {
  path <- withr::local_tempfile()
  x <- runif(6e6)
  total <- calc_size(x)
  qs_save(x, path)
  updates <- updates_of(qs_read(path, validate_checksum = TRUE, progress = TRUE))
  expect_identical(unique(updates$doing), c("check", "read"))
  checking <- updates[updates$doing == "check", ]
  expect_true(all(diff(checking$done) > 0))
  expect_identical(unique(checking$total), total)
  expect_whole_way(updates[updates$doing == "read", ], total, steps = 2)
})

test_that("the option decides where the argument does not, and off is off", {
  path <- withr::local_tempfile()
  bytes <- qs_serialize(1:10)
  calls <- list(save = function(...) qs_save(1:10, path, ...), read = function(...) qs_read(path, ...),
                serialize = function() qs_serialize(1:10), read = function() qs_deserialize(bytes))
  seen <- function(setting) {
    withr::local_options(riffle.progress = setting)
    lapply(unname(calls), function(f) unique(updates_of(f())$doing))
  }
  expect_identical(seen(TRUE), as.list(names(calls)))
  expect_identical(seen(FALSE), rep(list(NULL), 4))
  expect_identical(seen(NULL), if (interactive()) as.list(names(calls)) else rep(list(NULL), 4))
  withr::local_options(riffle.progress = TRUE)
  expect_null(updates_of(calls[[1]](progress = FALSE)))
  expect_null(updates_of(calls[[2]](progress = FALSE)))
})

test_that("`progress` must be TRUE, FALSE or NULL", {
  path <- withr::local_tempfile()
  expect_riffle_error(qs_save(1, path, progress = NA), "argument", "`progress` must be TRUE, FALSE or NULL, not NA.")
  expect_riffle_error(qs_save(1, path, progress = "yes"), "argument", "`progress` must be TRUE, FALSE or NULL, not \"yes\".")
  expect_false(file.exists(path))
  qs_save(1, path, progress = NULL)
  expect_riffle_error(qs_read(path, progress = 1), "argument", "`progress` must be TRUE, FALSE or NULL, not 1.")
  withr::local_options(riffle.progress = "nonsense")
  expect_null(updates_of(expect_identical(qs_read(path), 1)))
})

test_that("a call of less than 2 seconds shows nothing", {
  path <- withr::local_tempfile()
  seen <- 0
  local_show(function(...) seen <<- seen + 1)
  qs_save(runif(1e6), path, progress = TRUE)
  qs_read(path, progress = TRUE)
  expect_identical(seen, 0)
})

test_that("cli draws the bar, and nothing without it", {
  skip_if_not_installed("cli", "3.4.0")
  local_progress_always()
  folder <- withr::local_tempdir()
  path <- file.path(folder, "{x}{.val}.rif")
  x <- runif(2e6)
  expect_match(shown_by(qs_save(x, path, progress = TRUE)), "Saving \\{x\\}.*[0-9]+%, [0-9.]+ [kMG]?B/s, ETA 0:0")
  expect_match(shown_by(qs_read(path, progress = TRUE)), "Reading \\{x\\}.*[0-9]+%, [0-9.]+ [kMG]?B/s, ETA 0:0")
  expect_match(shown_by(qs_save(list(x, new.env()), path, progress = TRUE)), "Saving \\{x\\}.*: [0-9.]+ [kM]?B, [0-9.]+ ")
  withr::local_options(riffle.progress = TRUE)
  expect_match(shown_by(bytes <- qs_serialize(x)), "Serializing the object .*%")
  expect_match(shown_by(qs_deserialize(bytes)), "Reading the raw vector .*%")
  expect_identical(shown_by(qs_save(x, path, progress = FALSE)), "")
  expect_identical(shown_by(expect_identical(qs_read(path, progress = FALSE), x)), "")
  expect_false(has_bar())
  expect_length(cli:::clienv$progress, 0)
})

test_that("the bar leaves the random numbers, options and warnings alone", {
  skip_if_not_installed("cli", "3.4.0")
  local_progress_always()
  set.seed(1)
  seed <- .Random.seed
  set <- options()
  path <- withr::local_tempfile()
  x <- list(1:1e6 + 0, "a")
  expect_warning(shown_by(qs_save(x, path, progress = TRUE)), NA)
  expect_warning(shown_by(y <- qs_read(path, progress = TRUE)), NA)
  expect_identical(y, x)
  expect_identical(.Random.seed, seed)
  expect_identical(options()[names(set)], set)
})

test_that("without cli there is no bar and no message", {
  skip_on_cran()
  folder <- withr::local_tempdir()
  file.copy(getNamespaceInfo("riffle", "path"), folder, recursive = TRUE)
  got <- child({
    .libPaths(folder, include.site = FALSE)
    assign(".Library", character(), environment(.libPaths))
    riffle:::progress_pace(0)
    path <- tempfile()
    text <- capture.output(qs_save(runif(1e6), path, progress = TRUE), type = "message")
    list(requireNamespace("cli", quietly = TRUE), text, length(qs_read(path, progress = TRUE)))
  }, folder = folder)
  skip_if(isTRUE(got[[1]]), "cli could not be hidden")
  expect_identical(got, list(FALSE, character(), 1000000L))
})

test_that("an error of the bar ends it and not the save or the read", {
  local_progress_always()
  path <- withr::local_tempfile()
  x <- list(runif(2e6), "a")
  calls <- 0
  local_show(function(...) {
    calls <<- calls + 1
    stop("from the bar")
  })
  expect_silent(qs_save(x, path, progress = TRUE))
  expect_identical(calls, 1)
  expect_silent(y <- qs_read(path, progress = TRUE))
  expect_identical(calls, 2)
  expect_identical(y, x)
  outer <- 0
  withCallingHandlers(qs_save(x, path, progress = TRUE), error = function(e) outer <<- outer + 1)
  expect_identical(c(calls, outer), c(3, 0))
  local_show(function(...) "nonsense")
  expect_identical({ suppressWarnings(qs_save(x, path, progress = TRUE)); qs_read(path) }, x)
  expect_identical(live_calls(), 0L)
})

test_that("an error or an interrupt ends the bar", {
  skip_if_not_installed("cli", "3.4.0")
  local_progress_always()
  path <- withr::local_tempfile()
  x <- list(runif(2e6), new.env(), runif(2e6))
  text <- shown_by(expect_error(
    qs_save(x, path, progress = TRUE, refhook = function(e) {
      expect_true(has_bar())
      stop("from the hook")
    }), "from the hook"
  ))
  expect_match(text, "Saving")
  expect_false(has_bar())
  expect_length(cli:::clienv$progress, 0)

  draw <- local_show(function(...) {
    draw(...)
    stop(structure(class = c("interrupt", "condition"), list()))
  })
  shown_by(got <- tryCatch(qs_save(x, path, progress = TRUE), interrupt = function(e) "interrupted"))
  expect_identical(got, "interrupted")
  expect_false(has_bar())
  expect_length(cli:::clienv$progress, 0)
  expect_identical(live_calls(), 0L)
  expect_false(file.exists(path))
})

test_that("an error while the bar is taken away goes no further", {
  skip_if_not_installed("cli", "3.4.0")
  local_progress_always()
  path <- withr::local_tempfile()
  local_show(function(...) {
    bar <- riffle:::bar
    bar$id <- list("not an id")
    0
  })
  expect_silent(qs_save(runif(1e6), path, progress = TRUE))
  expect_length(qs_read(path, progress = TRUE), 1e6)
  expect_false(has_bar())
})

test_that("of calls inside calls the outermost alone shows progress", {
  path <- withr::local_tempfile()
  inner <- withr::local_tempfile()
  hook <- function(env) {
    qs_save(runif(2e6), inner, progress = TRUE)
    stopifnot(length(qs_read(inner, progress = TRUE)) == 2e6, calc_size(runif(1e6)) > 8e6)
    "env"
  }
  updates <- updates_of(qs_save(list(runif(2e6), new.env(), runif(2e6)), path, progress = TRUE, refhook = hook))
  expect_identical(unique(updates$thing), path)
  updates <- updates_of(qs_read(path, progress = TRUE, refhook = function(x) hook()))
  expect_true(all(diff(updates$done) >= 0))
  expect_identical(unique(updates$thing), path)
  updates <- updates_of(qs_save(list(runif(2e6), new.env(), runif(2e6)), path, progress = FALSE, refhook = hook))
  expect_null(updates)
})

test_that("what shows the progress may save, read, and collect garbage", {
  local_progress_always()
  path <- withr::local_tempfile()
  inner <- withr::local_tempfile()
  x <- list(runif(1e6), rep(sprintf("s%d", 1:1e5), 3), as.list(1:1e4), mtcars, quote(a),
            setNames(as.list(1:10000), sprintf("n%d", 1:10000)), factor(sample(letters, 1e5, TRUE)))
  for (object in list(x, c(x, new.env()))) {
    seen <- 0
    local_show(function(...) {
      seen <<- seen + 1
      if (seen %% 4 == 0) gc()
      qs_save(1:10, inner, progress = TRUE)
      stopifnot(qs_read(inner, progress = TRUE) == 1:10, length(unmarshall(marshall(mtcars))) == 11)
      0
    })
    qs_save(object, path, nthreads = 2, progress = TRUE)
    y <- qs_read(path, nthreads = 2, progress = TRUE)
    expect_gt(seen, 8)
    expect_identical(y[seq_along(x)], x)
  }
})

test_that("sizes, times and names are short", {
  expect_identical(vapply(c(0, 999, 1000, 1234567, 5e9, 1e20), riffle:::bytes_text, ""),
                   c("0 B", "999 B", "1.0 kB", "1.2 MB", "5.0 GB", "100000.0 PB"))
  expect_identical(vapply(c(0, 0.1, 7, 59.5, 61, 3599, 3600, 36061), riffle:::time_text, ""),
                   c("0:00", "0:01", "0:07", "1:00", "1:01", "59:59", "1:00:00", "10:01:01"))
  expect_identical(riffle:::progress_title(c("save", "/tmp/folder/data.rif"), TRUE), "Saving data.rif")
  expect_identical(riffle:::progress_title(c("save", "/a/a_very_long_name.rif"), TRUE), "Saving a_very_lon...")
  expect_identical(riffle:::progress_title(c("read", "the raw vector"), FALSE), "Reading the raw vector")
})
