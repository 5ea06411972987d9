# About 20 MB that hardly compresses, in many blocks, with strings and structure between.
large_object <- function() {
  set.seed(5)
  list(runif(1.5e6), sprintf("%d-%d", 1:20000, sample(20000)), as.list(1:2000), sample(1e9, 1.5e6), letters)
}

# What R's serializer has to write: environments, closures, calls.
general_object <- function() {
  set.seed(6)
  env <- new.env(parent = globalenv())
  env$x <- runif(5e5)
  env$self <- env
  formula <- y ~ x
  environment(formula) <- env
  list(env, global_function(function(a, b = 2) a + b), quote(f(x)), runif(3e5), formula, sum)
}

tiny_objects <- function() list(NULL, 1L, "a", list(), quote(a))

all_objects <- function() c(list(large_object(), general_object()), tiny_objects())

expect_same_stream <- function(restored, x, info = NULL) {
  a <- serialize(restored, NULL)
  b <- serialize(unserialize(serialize(x, NULL)), NULL)
  expect_true(identical(a, b) || is_same_stream(a, b), info = info)
}

# The objects go out and come back, each by a connection that a function opens.
expect_in_order <- function(objects, open_to_write, open_to_read) {
  for (nthreads in c(1, 3)) {
    between <- as.raw(c(1, 0, 255))
    con <- open_to_write()
    for (x in objects) {
      expect_null(qs_save(x, con, nthreads = nthreads))
      expect_true(isOpen(con))
      writeBin(between, con)
    }
    close(con)
    con <- open_to_read()
    for (i in seq_along(objects)) {
      expect_same_stream(qs_read(con, validate_checksum = i %% 2 == 0, nthreads = nthreads), objects[[i]], i)
      expect_true(isOpen(con))
      expect_identical(readBin(con, "raw", 3), between)
    }
    expect_identical(readBin(con, "raw", 1), raw())
    close(con)
    expect_identical(live_calls(), 0L)
  }
}

test_that("an open rawConnection() takes and gives objects in order, between other bytes", {
  bytes <- NULL
  objects <- all_objects()
  for (nthreads in c(1, 3)) for (validate in c(FALSE, TRUE)) {
    con <- rawConnection(raw(), "r+")
    for (x in objects) {
      qs_save(x, con, nthreads = nthreads)
      writeBin(as.raw(7), con)
    }
    if (is.null(bytes)) bytes <- rawConnectionValue(con)
    expect_identical(rawConnectionValue(con), bytes)
    seek(con, 0)
    for (x in objects) {
      expect_same_stream(qs_read(con, validate, nthreads = nthreads), x)
      expect_identical(readBin(con, "raw", 1), as.raw(7))
    }
    expect_identical(readBin(con, "raw", 1), raw())
    close(con)
    expect_identical(live_calls(), 0L)
  }
})

test_that("a connection is given the bytes that a file is given", {
  for (x in all_objects()[-2]) {
    path <- withr::local_tempfile()
    con <- rawConnection(raw(), "wb")
    qs_save(x, con, nthreads = 2)
    qs_save(x, path)
    expect_identical(rawConnectionValue(con), read_bytes(path))
    close(con)
  }
})

test_that("open files take and give objects in order, compressed or not", {
  path <- withr::local_tempfile()
  objects <- all_objects()
  kinds <- list(function(mode) file(path, mode), function(mode) gzfile(path, mode, compression = 1),
                function(mode) gzcon(file(path, mode)))
  for (kind in kinds) expect_in_order(objects, function() kind("wb"), function() kind("rb"))
  small <- c(list(general_object()[-4]), tiny_objects())
  for (kind in list(bzfile, xzfile)) {
    expect_in_order(small, function() kind(path, "wb", compression = 1), function() kind(path, "rb"))
  }
})

test_that("an open file() is written to behind what it holds", {
  path <- local_file(as.raw(1:5))
  con <- file(path, "ab")
  qs_save(letters, con)
  close(con)
  expect_identical(read_bytes(path), c(as.raw(1:5), qs_serialize(letters)))
})

test_that("open pipes take and give objects in order", {
  skip_on_os("windows")
  path <- withr::local_tempfile()
  expect_in_order(all_objects(), function() pipe(paste("cat >", shQuote(path)), "wb"),
                  function() pipe(paste("cat", shQuote(path)), "rb"))
})

test_that("a url() is read", {
  path <- withr::local_tempfile()
  x <- large_object()
  qs_save(x, path)
  address <- paste0("file://", path)
  for (nthreads in c(1, 3)) {
    con <- url(address, "rb")
    expect_identical(qs_read(con, nthreads = nthreads), x)
    close(con)
    con <- url(address)
    expect_identical(qs_read(con, nthreads = nthreads), x)
    expect_false(isOpen(con))
    close(con)
    con <- gzcon(url(address, "rb"))
    expect_identical(qs_read(con, nthreads = nthreads), x)
    close(con)
  }
})

test_that("a fifo() is read while it is written, blocking or not", {
  skip_on_cran()
  skip_on_os("windows")
  path <- withr::local_tempfile()
  objects <- all_objects()
  for (blocking in c(TRUE, FALSE)) for (nthreads in c(1, 3)) {
    system2("mkfifo", shQuote(path))
    task <- child_start(quote({
      con <- fifo(path, "wb", blocking = TRUE)
      for (x in objects) {
        qs_save(x, con, nthreads = nthreads)
        Sys.sleep(0.1)
      }
      close(con)
      riffle:::live_calls()
    }), path = path, objects = objects, nthreads = nthreads)
    con <- fifo(path, "rb", blocking = blocking)
    for (x in objects) expect_same_stream(qs_read(con, nthreads = nthreads), x)
    expect_identical(child_result(task), 0L)
    close(con)
    unlink(path)
  }
})

test_that("a fifo() that is not open is as its path", {
  skip_on_cran()
  skip_on_os("windows")
  path <- withr::local_tempfile()
  system2("mkfifo", shQuote(path))
  x <- large_object()
  task <- child_start(quote({
    con <- fifo(path)
    qs_save(x, con)
    isOpen(con)
  }), path = path, x = x)
  con <- fifo(path)
  expect_identical(qs_read(con), x)
  expect_false(isOpen(con))
  close(con)
  expect_false(child_result(task))
})

# Two ends of a socket: the function is given the port and this process's end.
with_socket <- function(code, ..., blocking, use) {
  port <- NULL
  for (try in 1:20) {
    port <- sample(20000:60000, 1)
    server <- tryCatch(serverSocket(port), error = function(e) NULL)
    if (!is.null(server)) break
  }
  task <- child_start(code, port = port, ...)
  con <- socketAccept(server, blocking = blocking, open = "r+b", timeout = 60)
  close(server)
  use(con)
  close(con)
  child_result(task)
}

test_that("sockets give objects in order, blocking or not", {
  skip_on_cran()
  skip_if(getRversion() < "4.0", "needs serverSocket()")
  objects <- all_objects()
  for (blocking in c(TRUE, FALSE)) for (nthreads in c(1, 3)) {
    ended <- with_socket(quote({
      con <- socketConnection(port = port, open = "r+b", blocking = TRUE)
      for (x in objects) {
        Sys.sleep(0.1)
        qs_save(x, con, nthreads = nthreads)
      }
      heard <- qs_read(con)
      close(con)
      list(heard, riffle:::live_calls())
    }), objects = objects, nthreads = nthreads, blocking = blocking, use = function(con) {
      for (x in objects) expect_same_stream(qs_read(con, nthreads = nthreads), x)
      qs_save("thanks", con)
    })
    expect_identical(ended, list("thanks", 0L))
  }
})

test_that("a socket whose other end is gone is an error, read or written", {
  skip_on_cran()
  bytes <- qs_serialize(runif(3e5))
  for (blocking in c(TRUE, FALSE)) {
    with_socket(quote({
      con <- socketConnection(port = port, open = "r+b", blocking = TRUE)
      writeBin(bytes, con)
      close(con)
    }), bytes = head(bytes, 1e6), blocking = blocking, use = function(con) {
      expect_riffle_error(qs_read(con), "corrupt", "it is truncated")
      Sys.sleep(0.2)
      expect_riffle_error(qs_save(runif(1e6), con), "io", "writing to it failed")
    })
  }
})

test_that("what is not open is opened, closed, and stays a valid connection", {
  for (x in list(large_object()[1:2], "tiny")) for (kind in list(file, gzfile, bzfile)) {
    path <- withr::local_tempfile()  # anew: file() goes by what is there
    con <- kind(path)
    for (i in 1:2) {
      expect_null(qs_save(x, con))
      expect_false(isOpen(con))
      expect_identical(qs_read(con), x)
      expect_false(isOpen(con))
    }
    unopened <- kind(path)
    expect_identical(qs_read(unopened), x)
    expect_error(close(con), NA)
    expect_error(close(unopened), NA)
    expect_identical(live_calls(), 0L)
  }
})

test_that("what is not open is compressed as it says", {
  path <- withr::local_tempfile()
  x <- rep(letters, 1e5)
  size <- function(level) {
    con <- gzfile(path, compression = level)
    on.exit(close(con))
    qs_save(x, con, codec = "none", shuffle = FALSE)
    file.size(path)
  }
  expect_gt(size(0), 2 * size(9))
  con <- gzfile(path, compression = 0)  # also if it was read before, which leaves it for reading only
  on.exit(close(con))
  readChar(con, 1, useBytes = TRUE)
  expect_identical(summary(con)[["can write"]], "no")
  qs_save(x, con)
  expect_identical(qs_read(gzfile(path)), x)
})

test_that("a pipe() that is not open runs its command, which has to succeed", {
  skip_on_os("windows")
  path <- withr::local_tempfile()
  x <- large_object()
  con <- pipe(paste("cat >", shQuote(path)))
  expect_null(qs_save(x, con))
  expect_false(isOpen(con))
  close(con)
  expect_identical(qs_read(path), x)
  con <- pipe(paste("cat", shQuote(path), "; exit 3"))
  expect_identical(qs_read(con), x)
  expect_false(isOpen(con))
  close(con)
  con <- pipe("cat > /dev/null; exit 3")
  expect_riffle_error(qs_save(x, con), "io", "Can't save to the connection 'cat > /dev/null; exit 3': its command failed.")
  expect_false(isOpen(con))
  close(con)
})

test_that("a unz() is read, open or not", {
  skip_if(Sys.which("zip") == "", "needs zip")
  withr::local_dir(withr::local_tempdir())
  qs_save(letters, "x.rif")
  utils::zip("a.zip", "x.rif", flags = "-q")
  con <- unz("a.zip", "x.rif")
  expect_identical(qs_read(con), letters)
  expect_false(isOpen(con))
  open(con, "rb")
  expect_identical(qs_read(con), letters)
  close(con)
})

test_that("a connection that cannot be had in a second copy is read whole", {
  path <- local_file(qs_serialize(letters))
  con <- gzfile(path)
  got <- riffle:::read_whole(con, summary(con), stop)
  expect_identical(got, qs_serialize(letters))
  expect_false(isOpen(con))
  close(con)
})

test_that("a refhook and data_only work with connections", {
  con <- rawConnection(raw(), "r+")
  qs_save(list(new.env(), 1), con, refhook = function(env) "env")
  qs_save(sum, con)
  seek(con, 0)
  expect_identical(qs_read(con, refhook = identity), list("env", 1))
  expect_riffle_error(qs_read(con, data_only = TRUE), "data_only", "Can't read the connection 'raw()'")
  close(con)
})

test_that("a hook may save to the same connection, behind what is written already", {
  con <- rawConnection(raw(), "wb")
  qs_save(list(new.env()), con, refhook = function(env) {
    qs_save("inner", con)
    "env"
  })
  bytes <- rawConnectionValue(con)
  close(con)
  inner <- qs_serialize("inner")
  con <- rawConnection(bytes, "rb")
  expect_identical(readBin(con, "raw", length(inner)), inner)
  expect_identical(qs_read(con, refhook = identity), list("env"))
  close(con)
})

# ---- errors -------------------------------------------------------------------------------

test_that("a connection in text mode or open the other way is refused, with how to open it", {
  path <- local_file(qs_serialize(1))
  refused <- function(con, fun, message) {
    on.exit(close(con))
    expect_riffle_error(fun(con), "argument", message)
    expect_true(isOpen(con))
  }
  save <- function(con) qs_save(1, con)
  refused(file(path, "r"), qs_read, "`file` must be a connection in binary mode: open it with \"rb\", not with \"r\".")
  refused(textConnection("a"), qs_read, "open it with \"rb\"")
  refused(file(path, "a"), save, "in binary mode: open it with \"wb\", not with \"a\".")
  refused(file(path, "rb"), save, "`file` must be a connection that can be written to: open it with \"wb\", not with \"rb\".")
  refused(file(path, "ab"), qs_read, "`file` must be a connection that can be read: open it with \"rb\", not with \"ab\".")
  expect_riffle_error(qs_save(1, stdout()), "argument", "binary mode")
  expect_identical(read_bytes(path), qs_serialize(1))
})

test_that("a connection that was closed is refused", {
  con <- rawConnection(raw(), "r+")
  close(con)
  expect_riffle_error(qs_save(1, con), "argument", "`file` is an invalid connection: it has been closed.")
  expect_riffle_error(qs_read(con), "argument", "`file` is an invalid connection: it has been closed.")
})

test_that("an error in a connection comes from the exported function", {
  con <- rawConnection(raw(20), "rb")
  on.exit(close(con))
  expect_identical(conditionCall(tryCatch(qs_read(con), error = identity)), quote(qs_read(con)))
  expect_identical(conditionCall(tryCatch(qs_save(1, con), error = identity)), quote(qs_save(1, con)))
  none <- gzfile("/none/at/all")
  expect_identical(conditionCall(tryCatch(qs_read(none), error = identity)), quote(qs_read(none)))
  close(none)
})

test_that("what cannot be opened is an error with the reason, and is closed", {
  path <- file.path(withr::local_tempdir(), "none", "at", "all")
  for (kind in list(file, gzfile, bzfile)) {
    con <- kind(path)
    expect_riffle_error(qs_save(1, con), "io", "No such file or directory")
    expect_riffle_error(qs_read(con), "io", "No such file or directory")
    expect_false(isOpen(con))
    close(con)
  }
})

test_that("bytes that end too soon, at any place, are an error", {
  bytes <- qs_serialize(list(runif(300), letters, quote(a)))
  for (n in seq_len(length(bytes)) - 1) for (validate in c(FALSE, TRUE)) {
    con <- rawConnection(head(bytes, n), "rb")
    expect_identical(outcome(qs_read(con, validate)), if (n == 0) "format" else "corrupt", info = n)
    close(con)
  }
  expect_identical(live_calls(), 0L)
})

test_that("a damaged object on a connection is an error, with its blocks verified first or not", {
  bytes <- qs_serialize(large_object())
  for (nthreads in c(1, 3)) for (validate in c(FALSE, TRUE)) {
    con <- rawConnection(flip(bytes, length(bytes) %/% 2), "rb")
    expect_riffle_error(qs_read(con, validate, nthreads = nthreads), "corrupt", "checksum")
    close(con)
  }
})

test_that("a pipe whose command ends too soon is a truncated connection", {
  skip_on_os("windows")
  path <- local_file(qs_serialize(large_object()))
  command <- paste("head -c 3000000", shQuote(path), "; exit 4")
  for (nthreads in c(1, 3)) {
    con <- pipe(command, "rb")
    expect_riffle_error(qs_read(con, nthreads = nthreads), "corrupt",
                        paste0("Can't read the connection '", command, "': it is truncated."))
    expect_true(isOpen(con))
    close(con)
    con <- pipe(command)
    expect_riffle_error(qs_read(con, nthreads = nthreads), "corrupt", "it is truncated")
    close(con)
  }
})

test_that("a pipe that nobody reads any longer is an error, and the next call works", {
  skip_on_cran()
  skip_on_os("windows")
  x <- c(list(runif(1e6)), general_object())
  for (nthreads in c(1, 3)) for (open in c("", "wb")) for (object in list(x, runif(2e6))) {
    con <- pipe("head -c 10 >/dev/null", open)
    expect_riffle_error(qs_save(object, con, nthreads = nthreads), "io",
                        "Can't save to the connection 'head -c 10 >/dev/null': writing to it failed: ")
    expect_identical(isOpen(con), open == "wb")
    suppressWarnings(try(close(con), silent = TRUE))
  }
  expect_identical(qs_deserialize(qs_serialize(1:3)), 1:3)
})

test_that("a full disk is an error", {
  skip_if_not(file.exists("/dev/full"), "needs /dev/full")
  con <- file("/dev/full", "wb", raw = TRUE)
  expect_riffle_error(qs_save(large_object(), con), "io", "writing to it failed: problem writing to connection")
  close(con)
  con <- gzfile("/dev/full", "wb")
  expect_riffle_error(qs_save(large_object(), con), "io", "writing to it failed")
  suppressWarnings(close(con))
})

test_that("an error in a refhook leaves nothing behind but the connection", {
  x <- list(runif(5e5), new.env(), runif(5e5))
  for (nthreads in c(1, 3)) {
    con <- rawConnection(raw(), "wb")
    expect_error(qs_save(x, con, nthreads = nthreads, refhook = function(env) stop("from the hook")), "from the hook")
    expect_true(isOpen(con))
    close(con)
    con <- rawConnection(qs_serialize(x, refhook = function(env) "env"), "rb")
    expect_error(qs_read(con, nthreads = nthreads, refhook = function(names) stop("from the hook")), "from the hook")
    expect_true(isOpen(con))
    close(con)
    expect_identical(live_calls(), 0L)
  }
})
