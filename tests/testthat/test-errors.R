# What an argument is not, and how the message says so.
bad_paths <- function() {
  list("NULL" = NULL, "NA" = NA_character_, "NA" = NA, "\"\"" = "", "7" = 7, "1" = 1L,
       "an object of class 'character' and length 0" = character(),
       "an object of class 'character' and length 2" = c("a", "b"),
       "an object of class 'list' and length 1" = list("a"),
       "a function" = identity, "an object of class 'name' and length 1" = quote(a),
       "an object of class 'environment' and length" = new.env(),
       "an object of class 'factor' and length 1" = factor("a"))
}

bad_threads <- function() {
  list("0" = 0, "0" = 0L, "-1" = -1, "257" = 257, "1e+06" = 1e6, "1.5" = 1.5, "NA" = NA,
       "NA" = NA_integer_, "NA" = NA_real_, "NaN" = NaN, "Inf" = Inf, "\"a\"" = "a", "\"2\"" = "2",
       "TRUE" = TRUE, "NULL" = NULL, "an object of class 'integer' and length 2" = 1:2,
       "an object of class 'numeric' and length 0" = numeric(), "an object of class 'list'" = list(2),
       "an object of class 'factor'" = factor(2), "an object of class 'Date'" = as.Date("1970-01-03"))
}

bad_flags <- function() {
  list("NA" = NA, "1" = 1, "\"TRUE\"" = "TRUE", "NULL" = NULL,
       "an object of class 'logical' and length 2" = c(TRUE, FALSE),
       "an object of class 'logical' and length 0" = logical(), "an object of class 'list'" = list(TRUE))
}

expect_refused <- function(values, name, takes, fun) {
  for (i in seq_along(values)) {
    expect_riffle_error(fun(values[[i]]), "argument",
                        sprintf("`%s` must be %s, not %s", name, takes, names(values)[i]))
  }
}

test_that("a bad path is refused and no file is made", {
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  takes <- "a path or a connection"
  expect_refused(bad_paths(), "file", takes, function(x) qs_save(1, x))
  expect_refused(bad_paths(), "file", takes, function(x) qs_read(x))
  expect_identical(files_in(folder), character())
})

test_that("a bad number of threads is refused", {
  path <- local_file(qs_serialize(1))
  takes <- "a whole number from 1 to 256"
  expect_refused(bad_threads(), "nthreads", takes, function(x) qs_save(1, path, nthreads = x))
  expect_refused(bad_threads(), "nthreads", takes, function(x) qs_read(path, nthreads = x))
  expect_refused(bad_threads(), "nthreads", takes, function(x) qs_serialize(1, nthreads = x))
  expect_refused(bad_threads(), "nthreads", takes, function(x) qs_deserialize(raw(), nthreads = x))
  expect_refused(bad_threads()[-15], "nthreads", takes, function(x) qs_threads(x))
  expect_identical(qs_read(path), 1)
})

test_that("a bad flag is refused", {
  path <- local_file(qs_serialize(1))
  expect_refused(bad_flags(), "shuffle", "TRUE or FALSE", function(x) qs_save(1, path, shuffle = x))
  expect_refused(bad_flags(), "shuffle", "TRUE or FALSE", function(x) qs_serialize(1, shuffle = x))
  expect_refused(bad_flags(), "validate_checksum", "TRUE or FALSE", function(x) qs_read(path, validate_checksum = x))
  expect_refused(bad_flags(), "validate_checksum", "TRUE or FALSE",
                 function(x) qs_deserialize(raw(), validate_checksum = x))
  expect_identical(qs_read(path), 1)
})

test_that("a level outside the codec's range is refused", {
  bad <- bad_threads()
  not_numbers <- bad[!names(bad) %in% c("0", "-1", "257", "1e+06")]
  zstd <- "a whole number from -131072 to 22 for codec \"zstd\""
  lz4 <- "a whole number from 1 to 12 for codec \"lz4\""
  level <- function(codec) function(x) qs_serialize(1, compress_level = x, codec = codec)
  expect_refused(c(not_numbers, "23" = 23, "-131073" = -131073), "compress_level", zstd, level("zstd"))
  expect_refused(c(not_numbers, "13" = 13, "0" = 0, "-1" = -1), "compress_level", lz4, level("lz4"))
  expect_refused(not_numbers, "compress_level", "a whole number", level("none"))
  path <- withr::local_tempfile()
  expect_refused(not_numbers, "compress_level", zstd, function(x) qs_save(1, path, compress_level = x))
  expect_false(file.exists(path))
})

test_that("an unknown codec is refused", {
  bad <- list("\"gzip\"" = "gzip", "\"ZSTD\"" = "ZSTD", "\"zst\"" = "zst", "\"\"" = "", "NA" = NA_character_,
              "1" = 1, "NULL" = NULL, "an object of class 'character' and length 2" = c("zstd", "lz4"),
              "an object of class 'character' and length 0" = character(), "an object" = list("zstd"))
  takes <- "\"zstd\", \"lz4\" or \"none\""
  path <- withr::local_tempfile()
  expect_refused(bad, "codec", takes, function(x) qs_save(1, path, codec = x))
  expect_refused(bad, "codec", takes, function(x) qs_serialize(1, codec = x))
})

test_that("a refhook that is no function is refused", {
  bad <- list("\"identity\"" = "identity", "1" = 1, "an object of class 'list'" = list(identity))
  path <- local_file(qs_serialize(1))
  takes <- "a function or NULL"
  expect_refused(bad, "refhook", takes, function(x) qs_save(1, path, refhook = x))
  expect_refused(bad, "refhook", takes, function(x) qs_read(path, refhook = x))
  expect_refused(bad, "refhook", takes, function(x) qs_serialize(1, refhook = x))
  expect_refused(bad, "refhook", takes, function(x) qs_deserialize(raw(), refhook = x))
})

test_that("what is no raw vector is refused", {
  bad <- list("NULL" = NULL, "\"text\"" = "text", "1" = 1, "an object of class 'list'" = list(raw(3)),
              "an object of class 'integer' and length 3" = 1:3)
  expect_refused(bad, "input", "a raw vector", qs_deserialize)
  expect_refused(bad, "input", "a raw vector", unmarshall)
})

test_that("an unknown version of the stream is refused", {
  bad <- list("1" = 1, "4" = 4, "2.5" = 2.5, "NA" = NA, "\"3\"" = "3", "NULL" = NULL, "an object" = 2:3)
  expect_refused(bad, "version", "2 or 3", function(x) marshall(1, version = x))
  expect_refused(bad, "version", "2 or 3", function(x) calc_size(1, version = x))
})

test_that("long and strange values are described, not printed", {
  long <- strrep("x", 1e5)
  condition <- expect_riffle_error(qs_serialize(1, codec = paste(long, "\n\u00e9")), "argument")
  expect_lt(nchar(conditionMessage(condition)), 2e5)
  expect_riffle_error(qs_serialize(1, nthreads = quote(stop("evaluated"))), "argument",
                      "not an object of class 'call'")
  thing <- structure(list(), class = "riffle_test_thing")
  expect_riffle_error(qs_serialize(1, nthreads = thing), "argument", "'riffle_test_thing' and length 0")
})

test_that("an error's call is that of the function that was called", {
  name_of <- function(condition) as.character(conditionCall(condition)[[1]])
  path <- file.path(withr::local_tempdir(), "none.rif")
  expect_identical(name_of(expect_riffle_error(qs_read(path), "io")), "qs_read")
  expect_identical(name_of(expect_riffle_error(qs_save(1, NULL), "argument")), "qs_save")
  expect_identical(name_of(expect_riffle_error(qs_serialize(1, codec = 1), "argument")), "qs_serialize")
  expect_identical(name_of(expect_riffle_error(qs_deserialize(raw()), "format")), "qs_deserialize")
  expect_identical(name_of(expect_riffle_error(unmarshall(1), "argument")), "unmarshall")
  expect_identical(name_of(expect_riffle_error(marshall(1, 5), "argument")), "marshall")
  expect_identical(name_of(expect_riffle_error(calc_size(1, 5), "argument")), "calc_size")
})

test_that("a file that is not there is an error with its path and the system's reason", {
  folder <- withr::local_tempdir()
  for (path in file.path(folder, c("none.rif", "no folder/x.rif", "it's.rif"))) {
    reason <- paste0("'", path, "': No such file or directory.")
    expect_riffle_error(qs_read(path), "io", paste("Can't read", reason))
  }
  path <- file.path(folder, "no folder", "x.rif")
  expect_riffle_error(qs_save(1, path), "io", paste0("Can't save '", path, "': No such file or directory."))
  expect_identical(files_in(folder), character())
})

test_that("a folder is an error with its path", {
  folder <- withr::local_tempdir()
  expect_riffle_error(qs_read(folder), "io", paste0("Can't read '", folder, "': Is a directory."))
  expect_riffle_error(qs_save(1, folder), "io", paste0("Can't save '", folder, "': Is a directory."))
  expect_identical(files_in(folder), character())
})

test_that("a file in the place of a folder is an error with the path", {
  skip_on_os("windows")
  path <- file.path(local_file(as.raw(1)), "x.rif")
  expect_riffle_error(qs_read(path), "io", paste0("Can't read '", path, "': Not a directory."))
  expect_riffle_error(qs_save(1, path), "io", paste0("Can't save '", path, "': Not a directory."))
})

test_that("a name that is too long is an error with the path", {
  skip_on_os("windows")
  path <- file.path(withr::local_tempdir(), strrep("n", 300))
  expect_riffle_error(qs_read(path), "io", "File name too long.")
  expect_riffle_error(qs_save(1, path), "io", path)
})

test_that("files of other formats are named, and what reads them", {
  saved <- function(fun, ...) {
    path <- withr::local_tempfile()
    fun(..., file = path)
    read_bytes(path)
  }
  x <- mtcars
  magic <- function(text, ...) c(charToRaw(text), as.raw(c(...)), raw(100))
  others <- list(
    "an empty file." = raw(),
    "a text file, not a riffle file." = charToRaw("a,b\n1,2\n"),
    "a text file, not a riffle file." = charToRaw(strrep("<html>404 not found</html>\n", 50)),
    "an RData file; load() reads it." = saved(save, x),
    "an RData file; load() reads it." = saved(save, x, compress = "xz"),
    "an RData file; load() reads it." = saved(save, x, compress = FALSE),
    "an RData file; load() reads it." = saved(save, x, compress = FALSE, version = 2),
    "an RData file; load() reads it." = saved(save, x, ascii = TRUE, compress = FALSE),
    "a qdata file; qs2::qd_read() reads it." = magic("", 0x0b, 0x0e, 0x0a, 0xcd),
    "a file of the older qs package; qs::qread() reads it." = magic("", 0x0b, 0x0e, 0x0a, 0x0c),
    "a parquet file; arrow::read_parquet() reads it." = magic("PAR1"),
    "a feather (Arrow) file; arrow::read_feather() reads it." = magic("ARROW1"),
    "a feather file; arrow::read_feather() reads it." = magic("FEA1"),
    "an fst file; fst::read_fst() reads it." =
      magic("12345678", 1, 0, 0, 0, 1, rep(0, 11), 1),
    "not a riffle file, nor any other that riffle knows." = as.raw(rep(0:255, 20)),
    "not a riffle file, nor any other that riffle knows." = raw(5000),
    "not a riffle file, nor any other that riffle knows." = as.raw(1),
    "a PNG file, not a riffle file." = magic("", 0x89, 0x50, 0x4e, 0x47),
    "a zip file, not a riffle file." = magic("PK", 3, 4)
  )
  for (i in seq_along(others)) {
    path <- local_file(others[[i]])
    reason <- paste(": it is", names(others)[i])
    for (validate in c(TRUE, FALSE)) {
      expect_riffle_error(qs_read(path, validate), "format", paste0("Can't read '", path, "'", reason))
      expect_riffle_error(qs_deserialize(others[[i]], validate), "format",
                          paste0("Can't read the raw vector", reason))
    }
  }
})

test_that("each error of a broken file has the file's path", {
  bytes <- qs_serialize(runif(1e5))
  for (bad in list(raw(), head(bytes, 20), head(bytes, -1), flip(bytes, 1), flip(bytes, 40), c(bytes, raw(1)))) {
    path <- local_file(bad)
    condition <- tryCatch(qs_read(path), riffle_error = identity)
    expect_match(conditionMessage(condition), paste0("Can't read '", path, "': "), fixed = TRUE)
  }
})

test_that("errors are caught as riffle_error and as error", {
  expect_identical(tryCatch(qs_read("none"), riffle_error = function(c) "caught"), "caught")
  expect_identical(tryCatch(qs_read("none"), riffle_error_io = function(c) "caught"), "caught")
  expect_s3_class(try(qs_read("none"), silent = TRUE), "try-error")
})

test_that("failing calls leave no file open", {
  skip_if_not_linux()
  bytes <- qs_serialize(list(runif(1e4), letters))
  cut <- local_file(head(bytes, -50))
  empty <- local_file()
  fail_all <- function() {
    outcome(qs_read(cut))
    outcome(qs_read(empty))
    outcome(qs_read(tempdir()))
    outcome(qs_save(1, tempdir()))
    outcome(qs_save(1, file.path(cut, "x")))
    outcome(qs_save(list(runif(1e5), new.env()), empty, refhook = function(x) stop("no")))
  }
  fail_all()
  before <- open_files()
  for (i in 1:20) fail_all()
  expect_identical(open_files(), before)
})
