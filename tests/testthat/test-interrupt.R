# Ctrl-C, sent to this very process: R answers at its next look for one.
press_ctrl_c <- function() tools::pskill(Sys.getpid(), tools::SIGINT)

# "interrupted" or "finished", whatever `expr` came to.
until_interrupted <- function(expr) {
  tryCatch({ expr; "finished" }, interrupt = function(c) "interrupted")
}

# R may have been started to ignore Ctrl-C, as by nohup.
ignores_ctrl_c <- function() {
  if (!file.exists("/proc/self/status")) return(FALSE)
  mask <- grep("^SigIgn:", readLines("/proc/self/status"), value = TRUE)
  strtoi(substring(mask, nchar(mask)), 16L) %/% 2L %% 2L == 1L
}

skip_without_signals <- function() {
  skip_on_os("windows")
  skip_if(ignores_ctrl_c(), "Ctrl-C is ignored")
}

test_that("an interrupt during a save leaves the old file, and nothing else", {
  skip_without_signals()
  skip_if_not_linux()
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  qs_save("old", path)
  held <- c(open_files(), threads_running())
  hook <- function(env) {
    press_ctrl_c()
    NULL
  }
  for (nthreads in c(1, 3)) {
    x <- list(runif(1e6), new.env(), runif(1e6))
    expect_identical(until_interrupted(qs_save(x, path, nthreads = nthreads, refhook = hook)), "interrupted")
    expect_identical(live_calls(), 0L)
    expect_identical(files_in(folder), "x.rif")
    expect_identical(qs_read(path), "old")
    expect_identical(c(open_files(), threads_running()), held)
    expect_identical(until_interrupted(qs_serialize(x, nthreads = nthreads, refhook = hook)), "interrupted")
    expect_identical(live_calls(), 0L)
  }
  x <- list(runif(1e6))
  qs_save(x, path, nthreads = 3)
  expect_identical(qs_read(path), x)
})

test_that("an interrupt during a read leaves nothing behind", {
  skip_without_signals()
  skip_if_not_linux()
  x <- list(runif(1e6), new.env(), runif(1e6))
  path <- withr::local_tempfile()
  qs_save(x, path, refhook = function(env) "env")
  held <- c(open_files(), threads_running())
  hook <- function(names) {
    press_ctrl_c()
    NULL
  }
  for (nthreads in c(1, 3)) for (validate in c(TRUE, FALSE)) {
    expect_identical(until_interrupted(qs_read(path, validate, nthreads, refhook = hook)), "interrupted")
    expect_identical(live_calls(), 0L)
    expect_identical(c(open_files(), threads_running()), held)
  }
  expect_identical(qs_read(path, refhook = identity)[-2], x[-2])
})

test_that("Ctrl-C at any time is answered soon, and saving and reading go on after", {
  skip_on_cran()
  skip_without_signals()
  folder <- withr::local_tempdir()
  marker <- function(i) file.path(folder, paste0("begun", i))
  task <- child_start(quote({
    path <- file.path(folder, "x.rif")
    x <- list(runif(1e6), as.list(1:200000), sprintf("%d", 1:100000), runif(1e6))
    qs_save(x, path)
    bytes <- qs_serialize(x)
    stream <- marshall(x)
    for (f in ls(asNamespace("riffle"))) get(f, asNamespace("riffle"))
    jobs <- list(function() qs_save(x, path, nthreads = 1), function() qs_save(x, path, nthreads = 3),
                 function() qs_read(path, nthreads = 1), function() qs_read(path, nthreads = 3),
                 function() qs_read(path, TRUE, nthreads = 2), function() qs_serialize(x, nthreads = 2),
                 function() qs_deserialize(bytes, nthreads = 2), function() marshall(x),
                 function() unmarshall(stream), function() calc_size(x))
    results <- vapply(seq_along(jobs), function(i) {
      begun <- NULL
      tryCatch({
        file.create(file.path(folder, paste0("begun", i)))
        repeat jobs[[i]]()
      }, interrupt = function(c) NULL)
      riffle:::live_calls() == 0 && identical(qs_read(path), x) &&
        !any(grepl("tmp", list.files(folder, all.files = TRUE)))
    }, NA)
    list(results, riffle:::live_calls())
  }), folder = folder)
  pid <- child_pid(task)
  for (i in 1:10) {
    expect_true(wait_for_file(marker(i), 30))
    Sys.sleep(runif(1, 0.05, 0.15))
    tools::pskill(pid, tools::SIGINT)
  }
  expect_identical(child_result(task), list(rep(TRUE, 10), 0L))
})

test_that("Ctrl-C ends a wait for a pipe that stays silent", {
  skip_on_cran()
  skip_without_signals()
  folder <- withr::local_tempdir()
  pipe <- file.path(folder, "pipe")
  skip_if(system2("mkfifo", shQuote(pipe)) != 0, "needs mkfifo")
  task <- child_start(quote({
    keep <- fifo(pipe, "w+b", blocking = FALSE)   # so that opening it does not wait
    result <- vapply(c(FALSE, TRUE), function(validate) {
      file.create(file.path(folder, paste0("begun", validate)))
      tryCatch({ qs_read(pipe, validate); "a value" }, interrupt = function(c) "interrupted")
    }, "")
    list(unname(result), riffle:::live_calls())
  }), folder = folder, pipe = pipe)
  for (validate in c(FALSE, TRUE)) {
    expect_true(wait_for_file(file.path(folder, paste0("begun", validate)), 30))
    Sys.sleep(0.3)
    tools::pskill(child_pid(task), tools::SIGINT)
  }
  expect_identical(child_result(task, 20), list(rep("interrupted", 2), 0L))
})

test_that("an error in a refhook leaves the old file, and nothing else", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  qs_save("old", path)
  before <- file.mtime(path)
  for (nthreads in c(1, 3)) for (x in list(new.env(), list(runif(5e5), new.env()))) {
    expect_error(qs_save(x, path, nthreads = nthreads, refhook = function(env) stop("from the hook")), "from the hook")
    expect_error(qs_serialize(x, nthreads = nthreads, refhook = function(env) stop("from the hook")), "from the hook")
    expect_identical(live_calls(), 0L)
    expect_identical(files_in(folder), "x.rif")
  }
  expect_identical(qs_read(path), "old")
  expect_identical(file.mtime(path), before)
})

test_that("an error in a refhook that reads leaves nothing behind", {
  bytes <- qs_serialize(list(runif(5e5), new.env(), runif(5e5)), refhook = function(env) "env")
  path <- local_file(bytes)
  for (nthreads in c(1, 3)) {
    expect_error(qs_read(path, nthreads = nthreads, refhook = function(names) stop("from the hook")), "from the hook")
    expect_error(qs_deserialize(bytes, nthreads = nthreads, refhook = function(names) stop("from the hook")),
                 "from the hook")
    expect_identical(live_calls(), 0L)
  }
  expect_length(qs_read(path, refhook = identity), 3)
})

test_that("jumps out of a refhook of any kind leave nothing behind", {
  path <- withr::local_tempfile()
  x <- list(runif(5e5), new.env())
  caught <- tryCatch(qs_save(x, path, refhook = function(env) signalCondition(structure(
    class = c("custom", "condition"), list(message = "m", call = NULL)
  ))), custom = function(c) "caught")
  expect_identical(caught, "caught")
  expect_identical(live_calls(), 0L)
  restarted <- withRestarts(qs_save(x, path, refhook = function(env) invokeRestart("out", "restarted")),
                            out = identity)
  expect_identical(restarted, "restarted")
  expect_identical(live_calls(), 0L)
  left <- callCC(function(k) qs_save(x, path, refhook = function(env) k("left")))
  expect_identical(left, "left")
  expect_identical(live_calls(), 0L)
  expect_false(file.exists(path))
})

test_that("an error inside a nested call leaves the outer call to its own error or success", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "outer.rif")
  inner <- file.path(folder, "inner.rif")
  inner_fails <- function(env) {
    try(qs_save(list(runif(3e5), new.env()), inner, refhook = function(env) stop("inner")), silent = TRUE)
    if (live_calls() == 1L) "recovered"
  }
  qs_save(list(runif(3e5), new.env(), runif(3e5)), path, nthreads = 2, refhook = inner_fails)
  expect_identical(qs_read(path, refhook = identity)[[2]], "recovered")
  expect_identical(files_in(folder), "outer.rif")
  both_fail <- function(env) qs_save(list(runif(3e5), new.env()), inner, refhook = function(env) stop("inner"))
  expect_error(qs_save(list(runif(3e5), new.env()), path, nthreads = 2, refhook = both_fail), "inner")
  expect_identical(live_calls(), 0L)
  expect_identical(files_in(folder), "outer.rif")
})

test_that("a warning turned into an error leaves nothing behind", {
  withr::local_options(warn = 2)
  path <- withr::local_tempfile()
  x <- list(runif(5e5), as.environment("package:stats"))
  for (fun in list(function() qs_save(x, path, nthreads = 3), function() qs_serialize(x, nthreads = 3),
                   function() marshall(x), function() calc_size(x))) {
    expect_error(fun(), "may not be available")
    expect_identical(live_calls(), 0L)
  }
  expect_false(file.exists(path))
})

test_that("an ALTREP object that cannot be restored is what base R makes of it", {
  file <- withr::local_tempfile()
  writeBin(as.numeric(1:2000), file)
  mapped <- .Internal(mmap_file(file, "double", TRUE, FALSE, TRUE))
  bytes <- qs_serialize(mapped)
  stream <- serialize(mapped, NULL)
  expect_identical(qs_deserialize(bytes)[1:3], c(1, 2, 3))
  unlink(file)
  what_happens <- function(expr) tryCatch(serialize(expr, NULL), condition = conditionMessage)
  expect_identical(what_happens(qs_deserialize(bytes)), what_happens(unserialize(stream)))
  expect_identical(live_calls(), 0L)
})

test_that("running out of memory is an error, and the next call works", {
  skip_on_cran()
  skip_if_not_linux()
  got <- child({
    x <- rep(list(rep(as.raw(sample(0:255, 1e6, TRUE)), 100)), 4)   # 400 MB of stream
    path <- tempfile()
    fails <- function(expr) tryCatch({ expr; "worked" }, error = function(e) "an error")
    serialized <- fails(qs_serialize(x, nthreads = 2, codec = "none", shuffle = FALSE))
    marshalled <- fails(marshall(x))
    qs_save(x, path, codec = "none", shuffle = FALSE)
    read <- fails(qs_read(path))
    list(c(serialized, marshalled, read), riffle:::live_calls(), qs_deserialize(qs_serialize(1:3)))
  }, before = "ulimit -v 500000")
  expect_identical(got, list(rep("an error", 3), 0L, 1:3))
})

test_that("an interrupt while a connection is waited for leaves nothing behind, and the next call works", {
  skip_on_cran()
  skip_without_signals()
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  marker <- function(i) file.path(folder, paste0("begun", i))
  task <- child_start(quote({
    x <- c(list(runif(1e6)), as.list(1:1000), runif(1e6))
    general <- list(new.env(), x)
    bytes <- qs_serialize(x)
    half <- file.path(folder, "half")
    writeBin(head(bytes, 3e6), half)
    slow_read <- sprintf("cat '%s'; sleep 2", half)
    jobs <- list(
      function(con = pipe(slow_read, "rb")) qs_read(con, nthreads = 1),
      function(con = pipe(slow_read, "rb")) qs_read(con, TRUE, nthreads = 3),
      function(con = pipe("sleep 2", "wb")) qs_save(x, con, nthreads = 1),
      function(con = pipe("sleep 2", "wb")) qs_save(x, con, nthreads = 3),
      function(con = pipe("sleep 2", "wb")) qs_save(general, con, nthreads = 3),
      function() qs_read(pipe(slow_read), nthreads = 2)
    )
    got <- character()
    for (i in seq_along(jobs)) {
      got[i] <- tryCatch({
        file.create(file.path(folder, paste0("begun", i)))
        jobs[[i]]()
        "no interrupt"
      }, interrupt = function(e) "interrupted", error = conditionMessage)
      suppressWarnings(closeAllConnections())
    }
    list(unique(got), riffle:::live_calls(), qs_deserialize(bytes)[[2]])
  }), folder = folder)
  for (i in 1:6) {
    expect_true(wait_for_file(marker(i), 60))
    Sys.sleep(0.5)
    tools::pskill(child_pid(task), tools::SIGINT)
  }
  expect_identical(child_result(task, 90), list("interrupted", 0L, 1L))
})

test_that("a reader that waits for a silent connection is interrupted", {
  skip_on_cran()
  skip_without_signals()
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  task <- child_start(quote({
    system2("mkfifo", file.path(folder, "fifo"))
    con <- fifo(file.path(folder, "fifo"), "rb")
    file.create(file.path(folder, "begun"))
    got <- tryCatch(qs_read(con), interrupt = function(e) "interrupted")
    list(got, isOpen(con), riffle:::live_calls())
  }), folder = folder)
  expect_true(wait_for_file(file.path(folder, "begun"), 30))
  Sys.sleep(0.5)
  tools::pskill(child_pid(task), tools::SIGINT)
  expect_identical(child_result(task), list("interrupted", TRUE, 0L))
})
