test_that("`~` is the home folder, and relative paths are relative", {
  skip_on_os("windows")
  home <- withr::local_tempdir()
  dir.create(file.path(home, "sub"))
  got <- child({
    qs_save(1:3, "~/sub/a.rif")
    setwd("~/sub")
    qs_save(4:6, "b.rif")
    qs_save(7L, "../c.rif")
    qs_save(8L, "./d.rif")
    list(qs_read("~/sub/a.rif"), qs_read("b.rif"), qs_read("../sub/../c.rif"), qs_read("d.rif"))
  }, env = paste0("HOME=", home))
  expect_identical(got, list(1:3, 4:6, 7L, 8L))
  expect_identical(files_in(home), c("c.rif", "sub"))
  expect_identical(files_in(file.path(home, "sub")), c("a.rif", "b.rif", "d.rif"))
})

test_that("paths with spaces, quotes and odd characters work", {
  folder <- file.path(withr::local_tempdir(), "a folder")
  dir.create(folder)
  for (name in c("two words.rif", "it's", "100%d %s.rif", "$HOME", "#!&;", "-f", ".hidden", "no extension")) {
    path <- file.path(folder, name)
    qs_save(name, path)
    expect_identical(qs_read(path), name)
    unlink(path)
    expect_identical(files_in(folder), character(), info = name)
  }
})

test_that("paths of any encoding work, and name the file in errors", {
  skip_if_not_utf8()
  folder <- withr::local_tempdir()
  for (name in list("\u00e9t\u00e9.rif", latin1("\u00fcber.rif"), "\u4e2d\u6587.rif", "\U1F600.rif")) {
    path <- file.path(folder, name)
    condition <- expect_riffle_error(qs_read(path), "io", enc2utf8(name))
    expect_true(validEnc(conditionMessage(condition)))
    qs_save(name, path)
    expect_true(file.exists(enc2utf8(path)))
    expect_identical(qs_read(path), name)
    expect_identical(qs_read(enc2utf8(path)), name)
  }
  expect_length(files_in(folder), 4)
})

test_that("a name as long as the system allows works", {
  skip_on_os("windows")
  path <- file.path(withr::local_tempdir(), strrep("n", 255))
  qs_save(1, path)
  expect_identical(qs_read(path), 1)
})

test_that("a new file gets the permissions of any new file", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  old <- Sys.umask()
  withr::defer(Sys.umask(old))
  for (mask in c("022", "077", "027", "000")) {
    Sys.umask(mask)
    path <- file.path(folder, paste0("ours", mask))
    plain <- file.path(folder, paste0("plain", mask))
    qs_save(1, path)
    writeBin(raw(1), plain)
    expect_identical(mode_of(path), mode_of(plain))
  }
})

test_that("a replaced file keeps its permissions", {
  skip_on_os("windows")
  path <- withr::local_tempfile()
  qs_save(1, path)
  for (mode in c("600", "640", "666", "755")) {
    Sys.chmod(path, mode, use_umask = FALSE)
    qs_save(2, path)
    expect_identical(mode_of(path), mode)
  }
})

test_that("a symbolic link keeps pointing, and its target is replaced", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  target <- file.path(folder, "real", "target.rif")
  dir.create(dirname(target))
  link <- file.path(folder, "link.rif")
  second <- file.path(folder, "second.rif")
  file.symlink("real/target.rif", link)
  file.symlink(link, second)
  for (path in c(link, second)) {   # at first the target is not there yet
    qs_save(path, path)
    expect_identical(qs_read(target), path)
    expect_identical(qs_read(path), path)
  }
  expect_identical(unname(Sys.readlink(c(link, second))), c("real/target.rif", link))
  expect_identical(files_in(folder), c("link.rif", "real", "second.rif"))
  expect_identical(files_in(dirname(target)), "target.rif")
})

test_that("a link that leads nowhere or in a circle is an error", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  circle <- file.path(folder, "circle")
  nowhere <- file.path(folder, "nowhere")
  file.symlink("circle", circle)
  file.symlink("no folder/x", nowhere)
  for (path in c(circle, nowhere)) {
    expect_riffle_error(qs_save(1, path), "io", path)
    expect_riffle_error(qs_read(path), "io", path)
  }
  expect_identical(files_in(folder), c("circle", "nowhere"))
})

test_that("another name of the same file keeps the old content", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  path <- file.path(folder, "a.rif")
  other <- file.path(folder, "b.rif")
  qs_save("old", path)
  skip_if_not(file.link(path, other), "needs hard links")
  qs_save("new", path)
  expect_identical(qs_read(path), "new")
  expect_identical(qs_read(other), "old")
})

test_that("a file that is open while it is replaced keeps its content", {
  skip_on_os("windows")
  path <- withr::local_tempfile()
  qs_save("old", path)
  old <- file(path, "rb")
  withr::defer(close(old))
  qs_save(runif(1e5), path)
  expect_identical(qs_deserialize(readBin(old, "raw", 1e5)), "old")
})

test_that("without the permission to write or read the error says so", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  Sys.chmod(c(tempdir(), folder), "0755", use_umask = FALSE)
  file <- file.path(folder, "x.rif")
  qs_save("old", file)
  secret <- file.path(folder, "secret.rif")
  qs_save("old", secret)
  # root may do anything
  is_root <- Sys.info()[["effective_user"]] == "root"
  skip_if(is_root && !nzchar(Sys.which("setpriv")), "needs another user than root")
  if (!is_root) Sys.chmod(c(file, folder), c("0444", "0555"), use_umask = FALSE)
  Sys.chmod(secret, "0000", use_umask = FALSE)
  withr::defer(Sys.chmod(folder, "0755", use_umask = FALSE))
  got <- child({
    say <- function(expr) tryCatch({ expr; "a value" }, riffle_error_io = conditionMessage)
    c(say(qs_save(1, file)), say(qs_save(1, file.path(dirname(file), "new.rif"))), say(qs_read(secret)),
      qs_read(file))
  }, file = file, secret = secret,
  with = if (is_root) "setpriv --reuid=65534 --regid=65534 --clear-groups" else "")
  skip_if(startsWith(got[1], "the child died"), "another user may not read the library")
  expect_identical(got, c(paste0("Can't save '", file, "': Permission denied."),
                          paste0("Can't save '", file.path(folder, "new.rif"), "': Permission denied."),
                          paste0("Can't read '", secret, "': Permission denied."), "old"))
  expect_identical(files_in(folder), c("secret.rif", "x.rif"))
})

test_that("a fifo is written to and read from directly", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  pipe <- file.path(folder, "pipe")
  skip_if(shell("mkfifo", shQuote(pipe)) != 0, "needs mkfifo")
  copy <- file.path(folder, "copy.rif")
  x <- list(runif(2e5), sprintf("%d", 1:20000), mtcars)
  for (y in list(1, x)) {
    shell("cat", shQuote(pipe), ">", shQuote(copy), wait = FALSE)
    qs_save(y, pipe, nthreads = 2)
    expect_true(wait_for_file(copy, 5))
    wait_until(file.size(copy) == length(qs_serialize(y)))
    expect_identical(qs_read(copy), y)
    for (validate in c(FALSE, TRUE)) {
      shell("cat", shQuote(copy), ">", shQuote(pipe), wait = FALSE)
      expect_true(identical(qs_read(pipe, validate, nthreads = 2), y))
    }
    unlink(copy)
  }
  expect_identical(files_in(folder), "pipe")
})

test_that("a fifo that ends early or holds something else is an error", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  pipe <- file.path(folder, "pipe")
  skip_if(shell("mkfifo", shQuote(pipe)) != 0, "needs mkfifo")
  bytes <- qs_serialize(runif(1e5))
  bad <- list(corrupt = head(bytes, -1), corrupt = head(bytes, 5e4), corrupt = head(bytes, 40),
              corrupt = flip(bytes, 3e5), format = charToRaw("a,b\n1,2\n"), format = raw())
  for (i in seq_along(bad)) for (validate in c(FALSE, TRUE)) {
    file <- local_file(bad[[i]])
    shell("cat", shQuote(file), "2>/dev/null >", shQuote(pipe), wait = FALSE)
    expect_riffle_error(qs_read(pipe, validate), names(bad)[i], pipe)
  }
})

test_that("two objects in one pipe are read one after the other", {
  skip_if_not_linux()
  skip_on_cran()
  folder <- withr::local_tempdir()
  first <- file.path(folder, "1.rif")
  second <- file.path(folder, "2.rif")
  qs_save(list("first", runif(1e5)), first)
  qs_save("second", second)
  got <- child(list(qs_read("/dev/stdin")[[1]], qs_read("/dev/stdin")),
               before = paste("cat", shQuote(first), shQuote(second), "|"))
  expect_identical(got, list("first", "second"))
})

test_that("a pipe whose reader goes away is an error, not the end of R", {
  skip_on_os("windows")
  skip_on_cran()
  folder <- withr::local_tempdir()
  pipe <- file.path(folder, "pipe")
  skip_if(shell("mkfifo", shQuote(pipe)) != 0, "needs mkfifo")
  got <- child({
    system(paste("head -c 10", shQuote(pipe), "> /dev/null"), wait = FALSE)
    message <- tryCatch(qs_save(runif(1e6), pipe, nthreads = 2), riffle_error_io = conditionMessage)
    list(message, riffle:::live_calls(), qs_deserialize(qs_serialize(1:3)))
  }, pipe = pipe)
  expect_match(got[[1]], "Broken pipe.", fixed = TRUE)
  expect_identical(got[-1], list(0L, 1:3))
})

test_that("/dev/stdout and its like are written to where they stand", {
  skip_if_not_linux()
  skip_on_cran()
  out <- withr::local_tempfile()
  script <- withr::local_tempfile()
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")), "library(riffle)",
               "qs_save(1:3, '/dev/stdout')", "qs_save(letters, '/dev/fd/1')"), script)
  skip_if_not(file.exists(file.path(getNamespaceInfo("riffle", "path"), "Meta", "package.rds")))
  run <- paste(shQuote(file.path(R.home("bin"), "Rscript")), shQuote(script))
  expected <- c(qs_serialize(1:3), qs_serialize(letters))
  shell(run, "| cat >", shQuote(out))
  expect_identical(read_bytes(out), expected)
  shell("{ printf before;", run, "; printf after; } >", shQuote(out))
  expect_identical(read_bytes(out), c(charToRaw("before"), expected, charToRaw("after")))
})

test_that("devices are written to and read directly", {
  skip_if_not_linux()
  qs_save(runif(1e5), "/dev/null")
  expect_identical(file.info("/dev/null")$size, 0)
  expect_riffle_error(qs_read("/dev/null"), "format", "Can't read '/dev/null': it is an empty file")
  expect_riffle_error(qs_save(1:3, "/dev/full"), "io", "No space left on device.")
  expect_riffle_error(qs_save(runif(1e6), "/dev/full", nthreads = 3), "io", "No space left on device.")
})

test_that("a save that the disk has no room for leaves the old file, and nothing else", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  qs_save("old", path)
  got <- child({
    x <- rep(as.raw(sample(0:255, 1e6, TRUE)), 4)
    say <- function(expr) tryCatch({ expr; "a value" }, riffle_error_io = conditionMessage)
    list(say(qs_save(x, path, nthreads = 1)), say(qs_save(x, path, nthreads = 3)),
         say(qs_save(x, file.path(dirname(path), "new.rif"))), riffle:::live_calls(),
         qs_deserialize(qs_serialize(1:3)))
  }, path = path, before = "trap '' XFSZ; ulimit -f 1000")
  expect_identical(got[[1]], paste0("Can't save '", path, "': writing failed: File too large."))
  expect_identical(got[[2]], got[[1]])
  expect_match(got[[3]], "new.rif': writing failed: File too large.", fixed = TRUE)
  expect_identical(got[4:5], list(0L, 1:3))
  expect_identical(qs_read(path), "old")
  expect_identical(files_in(folder), "x.rif")
})

test_that("a kill in the middle of a save leaves a whole file", {
  skip_on_cran()
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  x <- list(number = 0, data = as.numeric(1:300000) / 7)
  qs_save(x, path)
  for (kill in 1:4) {
    task <- child_start(quote({
      x <- qs_read(path)
      repeat {
        x$number <- x$number + 1
        qs_save(x, path, nthreads = 2)
        if (x$number %% 5 == 0) file.create(begun)
      }
    }), path = path, begun = file.path(folder, "begun"))
    expect_true(wait_for_file(file.path(folder, "begun"), 30))
    Sys.sleep(runif(1, 0, 0.05))
    tools::pskill(child_pid(task), tools::SIGKILL)
    wait_until(!is_running(child_pid(task)))
    unlink(file.path(folder, "begun"))
    restored <- qs_read(path)
    expect_gte(restored$number, 1)
    expect_identical(restored$data, x$data)
  }
  expect_match(setdiff(files_in(folder), "x.rif"), "^\\.riffle-[0-9]+-[0-9]+\\.tmp$", all = TRUE)
})

test_that("what an earlier process left does not stand in the way", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  left <- file.path(folder, sprintf(".riffle-%d-%d.tmp", Sys.getpid(), 0:3))
  file.create(left)
  qs_save(1:3, path)
  expect_identical(qs_read(path), 1:3)
  expect_true(all(file.exists(left)))
  expect_identical(file.size(left), rep(0, 4))
})

test_that("a failed save leaves no file where there was none", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  expect_error(qs_save(new.env(), path, refhook = function(env) stop("no")), "no")
  expect_riffle_error(qs_save(1, path, nthreads = 0), "argument")
  expect_identical(files_in(folder), character())
})

test_that("many processes may save to one path: one of them wins", {
  skip_on_cran()
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.rif")
  got <- child({
    data <- as.numeric(1:100000) / 7
    unlist(parallel::mclapply(1:4, function(i) {
      for (k in 1:20) {
        qs_save(list(i, data), path)
        if (!identical(qs_read(path)[[2]], data)) return(FALSE)
      }
      TRUE
    }, mc.cores = 4))
  }, path = path)
  expect_identical(got, rep(TRUE, 4))
  expect_identical(files_in(folder), "x.rif")
})
