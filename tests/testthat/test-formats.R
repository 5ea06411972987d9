# Files of others: qs2, RDS in its forms, and what is converted between them.

source(test_path("fixtures", "qs2", "objects.R"), local = TRUE)
qs2_file <- function(name) test_path("fixtures", "qs2", paste0(name, ".qs2"))

# Models, functions and environments differ by their environments' addresses alone.
same_stream <- function(a, b) is_same_stream(serialize(a, NULL), serialize(b, NULL))

general <- function() {
  list(data = data.frame(x = 1:300 / 7, y = rep(letters[1:3], 100)), call = quote(f(x)),
       fun = global_function(function(x) x + 1), env = globalenv())
}

plain <- function() {
  list(mtcars, odd_doubles(), c("caf\u00e9", latin1("caf\u00e9"), NA, ""), 1:1e5, complex(real = 1:9, imaginary = 9:1),
       as.raw(0:255), nested_list(30), pairlist(a = 1, 2), factor(c("u", "v")), as.numeric(1:50000) / 3,
       paste("item", 1:20000))
}

# ---- qs2 ----------------------------------------------------------------------------------

test_that("files that qs2 wrote are read", {
  skip_if_not_utf8()
  for (name in names(qs2_objects)) {
    x <- qs2_objects[[name]]()
    for (threads in c(1, 3)) {
      expect_true(same_stream(qs_read(qs2_file(name), nthreads = threads), x), info = name)
      expect_true(same_stream(qs_read(qs2_file(name), validate_checksum = TRUE, nthreads = threads), x))
    }
    expect_true(same_stream(qs_deserialize(read_bytes(qs2_file(name))), x), info = name)
  }
  expect_identical(qs_read(qs2_file("unshuffled")), qs2_objects$numbers())
  expect_identical(qs_read(qs2_file("frame"), data_only = TRUE), qs2_objects$frame())
  expect_riffle_error(qs_read(qs2_file("environment"), data_only = TRUE), "data_only")
})

test_that("qs2 files of ours are read by us, and are what qs2 describes", {
  path <- withr::local_tempfile(fileext = ".qs2")
  for (x in list(NULL, 1, plain(), general(), numeric(), rnorm(2e5))) {
    for (shuffle in c(TRUE, FALSE)) {
      for (threads in c(1, 3)) {
        qs_save(x, path, shuffle = shuffle, nthreads = threads)
        bytes <- read_bytes(path)
        expect_identical(bytes[1:6], as.raw(c(0x0b, 0x0e, 0x0a, 0xc1, 1, 1)))
        expect_identical(bytes[8], as.raw(shuffle))
        expect_true(same_stream(qs_read(path, validate_checksum = TRUE), x))
      }
    }
  }
})

test_that("qs2 reads our qs2 files with its checksum on, and we read its", {
  skip_if_not_installed("qs2")
  path <- withr::local_tempfile(fileext = ".qs2")
  for (x in list(NULL, 1, plain(), general(), rnorm(3e5), as.character(1:1e5))) {
    qs_save(x, path)
    expect_true(same_stream(qs2::qs_read(path, validate_checksum = TRUE), x))
    qs_save(x, path, compress_level = 9, shuffle = FALSE, nthreads = 3)
    expect_true(same_stream(qs2::qs_read(path, validate_checksum = TRUE, nthreads = 2), x))
    qs2::qs_save(x, path)
    expect_true(same_stream(qs_read(path), x))
    expect_true(same_stream(qs_deserialize(qs2::qs_serialize(x)), x))
  }
})

test_that("a qs2 file cut or changed anywhere is an error", {
  bytes <- read_bytes(qs2_file("frame"))
  expect_outcomes(seq_len(length(bytes)) - 1, function(n) qs_deserialize(head(bytes, n)),
                  c("corrupt", "format"))
  changed <- c(1:7, 17:length(bytes))  # 8 to 16 say nothing of the object
  expect_outcomes(changed, function(at) qs_deserialize(flip(bytes, at)),
                  c("corrupt", "format", "version"))
  expect_outcomes(changed, function(at) qs_deserialize(flip(bytes, at, 1)),
                  c("corrupt", "format", "version"))
  expect_riffle_error(qs_read(local_file(c(bytes, as.raw(1)))), "corrupt")
})

test_that("a qs2 file without a hash is read with a warning, or refused", {
  bytes <- read_bytes(qs2_file("frame"))
  bytes[17:24] <- as.raw(0)
  path <- local_file(bytes)
  expect_warning(x <- qs_read(path), "it has no hash: damage would not be found", class = "riffle_warning")
  expect_identical(x, qs2_objects$frame())
  expect_riffle_error(qs_read(path, validate_checksum = TRUE), "corrupt", "it has no hash to be checked by")
  # and then its blocks must still decode
  for (n in seq(25, length(bytes) - 1)) {
    expect_riffle_error(suppressWarnings(qs_deserialize(head(bytes, n))), "corrupt")
  }
})

test_that("qs2 needs a file that can be gone back in", {
  skip_if_not_linux()
  fifo <- withr::local_tempfile(fileext = ".qs2")
  system2("mkfifo", shQuote(fifo))
  reader <- parallel::mcparallel(readBin(fifo, "raw", 1e6))
  expect_riffle_error(qs_save(1, fifo), "io", "needs a file that can be gone back in")
  parallel::mccollect(reader)
})

# ---- RDS ----------------------------------------------------------------------------------

rds_forms <- function() {
  expand.grid(compress = c("gzip", "bzip2", "xz", "FALSE"), ascii = c("FALSE", "TRUE", "NA"),
              version = 2:3, stringsAsFactors = FALSE)
}

save_form <- function(x, form, path) {
  compress <- if (form$compress == "FALSE") FALSE else form$compress
  save_rds(x, path, as.logical(form$ascii), compress, form$version)
}

test_that("RDS files of every form are read as readRDS() reads them", {
  path <- withr::local_tempfile(fileext = ".rds")
  forms <- rds_forms()
  for (i in seq_len(nrow(forms))) {
    for (x in list(NULL, plain(), general())) {
      save_form(x, forms[i, ], path)
      expected <- readRDS(path)
      info <- paste(unlist(forms[i, ]), collapse = " ")
      expect_true(same_stream(qs_read(path), expected), info = info)
      expect_true(same_stream(qs_read(path, nthreads = 1), expected), info = info)
      expect_true(same_stream(qs_deserialize(read_bytes(path)), expected), info = info)
    }
  }
  expect_identical(live_calls(), 0L)
})

test_that("an RDS file that R compressed with zstd is read, where this R can", {
  skip_if(getRversion() < "4.5" || !isTRUE(extSoftVersion()[["zstd"]] != ""), "this R has no zstd")
  path <- withr::local_tempfile()
  saveRDS(plain(), path, compress = "zstd")
  expect_true(same_stream(qs_read(path), plain()))
})

test_that("data_only reads RDS files, but not what is more than data", {
  path <- withr::local_tempfile(fileext = ".rds")
  for (compress in list("gzip", "bzip2", FALSE)) {
    saveRDS(plain(), path, compress = compress)
    expect_true(same_stream(qs_read(path, data_only = TRUE), plain()))
    saveRDS(general(), path, compress = compress)
    expect_riffle_error(qs_read(path, data_only = TRUE), "data_only", "it holds a call")
  }
  saveRDS(1, path, ascii = TRUE)
  expect_riffle_error(qs_read(path, data_only = TRUE), "data_only", "not in one of R's binary formats")
})

test_that("readRDS(), gzfile() and gunzip read our RDS files", {
  path <- withr::local_tempfile(fileext = ".rds")
  for (x in list(NULL, 1, plain(), general(), rnorm(3e5))) {
    for (level in c(0, 1, 6, 9)) {
      qs_save(x, path, compress_level = level, nthreads = 3)
      expect_true(same_stream(readRDS(path), x))
      expect_true(same_stream(qs_read(path), x))
    }
  }
  expect_identical(read_bytes(path)[1:2], as.raw(c(0x1f, 0x8b)))
  skip_if(Sys.which("gunzip") == "", "needs gunzip")
  bytes <- local_file()
  system2("gunzip", "-c", stdin = path, stdout = bytes)
  expect_identical(unserialize(read_bytes(bytes)), x)
})

test_that("a refhook's references go through RDS and qs2 files", {
  env <- new.env()
  out <- function(e) if (identical(e, env)) "it" else NULL
  back <- function(name) if (name == "it") env
  for (ext in c(".rds", ".qs2", ".rif")) {
    path <- withr::local_tempfile(fileext = ext)
    qs_save(list(1, env), path, refhook = out)
    expect_identical(qs_read(path, refhook = back)[[2]], env)
  }
  path <- withr::local_tempfile(fileext = ".rds")
  qs_save(list(1, env), path, refhook = out)
  expect_identical(readRDS(path, refhook = back)[[2]], env)
})

test_that("a gzip'ed RDS file cut or changed anywhere is an error, or the same object", {
  x <- list(a = 1:3, b = c("x", NA), c = list(TRUE, 2.5))
  path <- withr::local_tempfile()
  saveRDS(x, path)
  bytes <- read_bytes(path)
  expect_outcomes(seq_len(length(bytes)) - 1, function(n) qs_deserialize(head(bytes, n)),
                  c("corrupt", "format"))
  for (at in seq_along(bytes)) {
    got <- tryCatch(qs_deserialize(flip(bytes, at)), riffle_error = function(e) "an error")
    expect_true(identical(got, "an error") || identical(got, x), info = paste("byte", at))
  }
  expect_identical(live_calls(), 0L)
})

test_that("what follows a gzip'ed object is ignored with a warning", {
  path <- withr::local_tempfile()
  saveRDS(mtcars, path)
  bytes <- read_bytes(path)
  for (rest in list(charToRaw("garbage"), raw(100), as.raw(0x1f))) {
    expect_warning(x <- qs_read(local_file(c(bytes, rest))), "what follows the object in it is ignored",
                   class = "riffle_warning")
    expect_identical(x, mtcars)
  }
  expect_warning(x <- qs_read(local_file(c(bytes, bytes))), "what follows", class = "riffle_warning")
  expect_identical(x, mtcars)
})

test_that("a gzip file of something else is refused by what it holds", {
  gz <- function(text) {
    path <- withr::local_tempfile()
    con <- gzfile(path, "wb")
    writeBin(text, con)
    close(con)
    read_bytes(path)
  }
  expect_riffle_error(qs_deserialize(gz(charToRaw("a,b\n1,2\n"))), "format", "a text file")
  expect_riffle_error(qs_deserialize(gz(raw())), "format")
  path <- withr::local_tempfile()
  x <- 1
  save(x, file = path)
  expect_riffle_error(qs_read(path), "format", "an RData file; load() reads it")
})

test_that("a promise on top of an RDS file is refused", {
  # a PROMSXP without an environment whose expression is a call
  stream <- c(serialize(NULL, NULL, version = 2)[1:14], as.raw(c(0, 0, 0, 5)), as.raw(c(0, 0, 0, 0xfe)),
              serialize(quote(stop("code ran")), NULL, version = 2)[-(1:14)])
  expect_riffle_error(qs_deserialize(stream), "corrupt", "promise")
  path <- withr::local_tempfile()
  con <- gzfile(path, "wb")
  writeBin(stream, con)
  close(con)
  expect_riffle_error(qs_read(path), "corrupt", "promise")
})

test_that("an RDS file that claims far more than it holds is refused", {
  claim <- function(n) {
    head <- serialize(NULL, NULL, version = 2)[1:14]
    path <- withr::local_tempfile()
    con <- gzfile(path, "wb")
    writeBin(c(head, as.raw(c(0, 0, 0, 14)), writeBin(n, raw(), endian = "big"), raw(80)), con)
    close(con)
    read_bytes(path)
  }
  before <- gc(reset = TRUE)
  expect_riffle_error(qs_deserialize(claim(2^30)), "corrupt")
  expect_riffle_error(qs_deserialize(claim(2147483647L)), "corrupt")
  expect_lt(gc()[2, 6] - before[2, 6], 500)
})

# ---- formats ------------------------------------------------------------------------------

test_that("the format goes by the extension, or by the argument", {
  first <- function(ext, ...) {
    path <- withr::local_tempfile(fileext = ext)
    qs_save(1, path, ...)
    paste(read_bytes(path)[1:2], collapse = "")
  }
  expect_identical(first(".rif"), "8952")
  expect_identical(first(""), "8952")
  expect_identical(first(".qs2"), "0b0e")
  expect_identical(first(".rds"), "1f8b")
  expect_identical(first(".RDS"), "1f8b")
  expect_identical(first(".rif", format = "qs2"), "0b0e")
  expect_identical(first(".qs2", format = "riffle"), "8952")
  expect_identical(first(".qs2", format = "rds"), "1f8b")
  path <- withr::local_tempfile(fileext = ".rds")
  expect_riffle_error(qs_save(1, path, format = "fst"), "argument", "`format` must be")
  expect_riffle_error(qs_save(1, path, format = 1), "argument", "`format` must be")
  expect_riffle_error(qs_save(1, path, codec = "lz4"), "argument", "`codec`")
  expect_riffle_error(qs_save(1, path, compress_level = 10), "argument", "from 0 to 9")
  expect_false(file.exists(path))
})

# ---- conversion ---------------------------------------------------------------------------

test_that("each format converts to each", {
  extensions <- c(".rif", ".qs2", ".rds")
  for (x in list(NULL, plain(), general())) {
    for (from in extensions) {
      for (to in extensions) {
        input <- withr::local_tempfile(fileext = from)
        output <- withr::local_tempfile(fileext = to)
        qs_save(x, input)
        expect_null(qs_convert(input, output))
        expect_true(same_stream(qs_read(output), x), info = paste(from, to))
        if (to == ".rds") expect_true(same_stream(readRDS(output), x))
      }
    }
  }
  expect_identical(live_calls(), 0L)
})

test_that("R's own RDS files convert, and back", {
  rds <- withr::local_tempfile(fileext = ".rds")
  rif <- withr::local_tempfile(fileext = ".rif")
  qs2 <- withr::local_tempfile(fileext = ".qs2")
  for (x in list(plain(), general())) {
    for (version in 2:3) {
      saveRDS(x, rds, version = version)
      expected <- readRDS(rds)
      rds_to_qs(rds, rif)
      expect_true(same_stream(qs_read(rif), expected))
      rds_to_qs(rds, qs2)
      expect_true(same_stream(qs_read(qs2), expected))
      qs_to_rds(qs2, rds)
      expect_true(same_stream(readRDS(rds), expected))
      qs_to_rds(rif, rds, compress_level = 1)
      expect_true(same_stream(readRDS(rds), expected))
    }
  }
  saveRDS(plain(), rds, compress = "bzip2")
  rds_to_qs(rds, rif)
  expect_true(same_stream(qs_read(rif, data_only = TRUE), plain()))
  skip_if_not_installed("qs2")
  expect_true(same_stream(qs2::qs_read(qs2, validate_checksum = TRUE), general()))
})

test_that("a conversion that fails leaves the old file", {
  input <- local_file(head(qs_serialize(runif(1e5)), -1))
  output <- withr::local_tempfile(fileext = ".rds")
  saveRDS("old", output)
  expect_riffle_error(qs_convert(input, output), "corrupt")
  expect_identical(readRDS(output), "old")
  damaged <- qs_serialize(runif(1e6))
  damaged <- flip(damaged, length(damaged) / 2)
  expect_riffle_error(qs_convert(local_file(damaged), output), "corrupt")
  expect_identical(readRDS(output), "old")
  expect_riffle_error(qs_convert(tempfile(), output), "io")
  # onto itself
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(mtcars, path)
  qs_convert(path, path, format = "qs2")
  expect_identical(qs_read(path), mtcars)
})

test_that("riffle.max_bytes limits what is read, of every format", {
  zeros <- list(numeric(1e6), "end")
  withr::local_options(riffle.max_bytes = 1e5)
  for (ext in c(".rif", ".qs2", ".rds")) {
    path <- withr::local_tempfile(fileext = ext)
    qs_save(zeros, path)
    expect_lt(file.size(path), 1e5)
    expect_riffle_error(qs_read(path), "limit", "riffle.max_bytes")
    expect_riffle_error(qs_deserialize(read_bytes(path)), "limit", "riffle.max_bytes")
    qs_save(c(zeros[2], general()), path)
    expect_length(qs_read(path), 5)
  }
  withr::local_options(riffle.max_bytes = "many")
  expect_riffle_error(qs_read(path), "argument", "riffle.max_bytes")
})

test_that("of two processes that save to one path, one of the two files is there in the end", {
  path <- withr::local_tempfile(fileext = ".rif")
  save <- function(value) {
    child_start(quote({ for (i in 1:60) qs_save(rep(value, 2e5), path); "done" }), value = value, path = path)
  }
  children <- list(save(1L), save(2L))
  wait_for_file(path, 30)
  seen <- vapply(1:200, function(i) length(unique(qs_read(path))), 1L)
  expect_true(all(seen == 1))
  for (child in children) expect_identical(child_result(child), "done")
  expect_true(qs_read(path)[1] %in% 1:2)
  expect_identical(length(files_in(dirname(path))[grepl("^[.]riffle", files_in(dirname(path)))]), 0L)
})

test_that("streams on an open connection are read one by one, and no byte more", {
  objects <- list(plain(), general(), NULL, 1:10, "text")
  path <- withr::local_tempfile()
  for (xdr in c(TRUE, FALSE)) {
    con <- file(path, "wb")
    for (x in objects) {
      serialize(x, con, xdr = xdr)
      writeBin(as.raw(7), con)
      qs_save(x, con)
    }
    close(con)
    con <- file(path, "rb")
    for (x in objects) {
      expect_true(same_stream(qs_read(con), x))
      expect_identical(readBin(con, "raw", 1), as.raw(7))
      expect_true(same_stream(qs_read(con), x))
    }
    expect_identical(readBin(con, "raw", 1), raw())
    close(con)
  }
})

test_that("RDS goes to and comes from connections", {
  path <- withr::local_tempfile()
  for (x in list(plain(), general())) {
    con <- file(path, "wb")
    qs_save(x, con, format = "rds")
    close(con)
    expect_true(same_stream(readRDS(path), x))
    for (open in list(file, gzfile)) {
      con <- open(path, "rb")
      expect_true(same_stream(qs_read(con), x))
      close(con)
      expect_true(same_stream(qs_read(open(path)), x))
    }
    con <- file(path, "wb")
    expect_riffle_error(qs_save(x, con, format = "qs2"), "io", "can be gone back in")
    close(con)
    saveRDS(x, path, compress = "xz")
    con <- file(path, "rb")
    expect_riffle_error(qs_read(con), "format", "gzfile()")
    close(con)
    con <- gzfile(path, "rb")
    expect_true(same_stream(qs_read(con), x))
    close(con)
  }
  gc()
})

test_that("damage in files that R unpacks is found before anything is made of it", {
  x <- list(a = 1:20, b = c(1.5, NA, pi), s = c("a", "caf\u00e9", NA), l = list(NULL, TRUE, quote(x)))
  path <- withr::local_tempfile(fileext = ".rds")
  out <- withr::local_tempfile(fileext = ".rif")
  for (codec in c("xz", "bzip2")) {
    saveRDS(x, path, compress = codec)
    bytes <- read_bytes(path)
    try_all <- function(b) {
      write_bytes(b, path)
      withr::local_options(warn = 2)
      for (read in list(function() qs_read(path), function() qs_deserialize(b),
                        function() { qs_convert(path, out); qs_read(out) })) {
        got <- tryCatch(read(), riffle_error = function(e) "refused")
        expect_true(identical(got, "refused") || identical(got, x))
      }
    }
    for (n in seq(1, length(bytes) - 1, by = 3)) try_all(head(bytes, n))
    for (at in seq(1, length(bytes), by = 2)) try_all(flip(bytes, at, 2^(at %% 8)))
  }
  # large enough that the damage lies behind many good bytes
  x <- rnorm(1e5)
  for (codec in c("xz", "bzip2")) {
    saveRDS(x, path, compress = codec)
    bytes <- read_bytes(path)
    for (at in length(bytes) - c(1, 8, 20, 50, 100, 1000, 1e5)) {
      got <- tryCatch(qs_deserialize(flip(bytes, at, 1)), riffle_error = function(e) "refused")
      expect_true(identical(got, "refused") || identical(got, x), info = paste(codec, at))
      expect_riffle_error(qs_deserialize(head(bytes, at)), "corrupt")
    }
  }
  expect_identical(live_calls(), 0L)
})

test_that("a conversion of a bare stream that was cut is an error", {
  path <- withr::local_tempfile(fileext = ".rds")
  out <- withr::local_tempfile(fileext = ".qs2")
  for (ascii in c(FALSE, TRUE)) {
    saveRDS(as.list(runif(1000)), path, compress = FALSE, ascii = ascii)
    bytes <- read_bytes(path)
    write_bytes(head(bytes, length(bytes) / 2), path)
    expect_error(qs_convert(path, out))
    expect_false(file.exists(out))
  }
})

test_that("a bare stream that can be read only once is not converted, and nothing hangs", {
  skip_if_not_linux()
  rds <- withr::local_tempfile()
  fifo <- withr::local_tempfile()
  out <- withr::local_tempfile(fileext = ".qs2")
  saveRDS(1:10, rds, compress = FALSE)
  system2("mkfifo", shQuote(fifo))
  system(paste("cat", shQuote(rds), ">", shQuote(fifo), "2>/dev/null"), wait = FALSE)
  expect_riffle_error(qs_convert(fifo, out), "io", "can be read only once")
  expect_false(file.exists(out))
})

test_that("a stream that arrives in small pieces is known all the same", {
  skip_if_not_linux()
  rds <- withr::local_tempfile()
  saveRDS(list(1:3, "text"), rds, version = 2)
  bytes <- read_bytes(rds)
  for (first in c(12, 20, 40, length(bytes) - 9)) {
    fifo <- withr::local_tempfile()
    system2("mkfifo", shQuote(fifo))
    writer <- parallel::mcparallel({
      con <- pipe(paste("cat >", shQuote(fifo)), "wb")
      writeBin(bytes[1:first], con)
      flush(con)
      Sys.sleep(0.3)
      writeBin(bytes[-(1:first)], con)
      close(con)
    })
    expect_identical(qs_read(fifo), list(1:3, "text"))
    parallel::mccollect(writer)
  }
})

test_that("objects in the ASCII format on one connection are read one by one", {
  path <- withr::local_tempfile()
  con <- file(path, "wb")
  objects <- list(list(1), "a b\n", letters, list("x", NULL), 5)
  for (x in objects) serialize(x, con, ascii = TRUE)
  close(con)
  con <- file(path, "rb")
  for (x in objects) expect_identical(qs_read(con), x)
  close(con)
})

test_that("attributes of attributes nested too deep are an error, not a crash", {
  x <- 1
  for (i in 1:1e5) {
    y <- 1
    attr(y, "n") <- x
    x <- y
  }
  path <- withr::local_tempfile()
  # R 4.6 goes through attributes itself, and its stack of protected objects may end first
  for (f in list(function() qs_save(x, path), function() qs_hash(x), function() marshall(x))) {
    got <- tryCatch(f(), riffle_error_depth = function(e) "refused",
                    stackOverflowError = function(e) "refused")
    expect_identical(got, "refused")
  }
  expect_false(file.exists(path))
  expect_identical(live_calls(), 0L)
})
