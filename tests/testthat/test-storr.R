new_driver <- function(dr = NULL, ...) {
  driver_riffle(if (is.null(dr)) tempfile("storr-") else dr$path, ...)
}

test_that("the driver passes storr's own tests of a driver", {
  skip_if_not_installed("storr")
  outcome <- function(create) {
    messages <- capture_messages(capture.output(
      failure <- tryCatch(with_reporter("stop", storr::test_driver(create)), error = conditionMessage)
    ))
    if (is.character(failure)) failure else sub("/.*", "", messages)
  }
  expect_match(outcome(new_driver), "^PASS: 0 errors, 0 failures ")
  # ... which do find out a driver that deletes nothing
  expect_match(outcome(function(...) {
    driver <- new_driver(...)
    driver$del_object <- function(hash) FALSE
    driver
  }), "^FAIL: ")
})

test_that("a store keeps any object, and another session finds it", {
  skip_if_not_installed("storr")
  path <- withr::local_tempfile()
  store <- storr_riffle(path)
  expect_s3_class(store, "storr")
  values <- c(example_atomics(), example_attributes(), example_language())
  for (i in seq_along(values)) store$set(names(values)[i], values[[i]])
  again <- storr_riffle(path)
  expect_setequal(again$list(), names(values))
  for (name in names(values)) expect_identical(again$get(name), values[[name]], info = name)
})

test_that("objects are riffle files, by the arguments of qs_save()", {
  skip_if_not_installed("storr")
  path <- withr::local_tempfile()
  store <- storr_riffle(path, codec = "none", shuffle = FALSE)
  hash <- store$set("zeros", numeric(1e4))
  file <- file.path(path, "objects", paste0(hash, ".rif"))
  expect_identical(qs_read(file), numeric(1e4))
  expect_gt(file.size(file), 8e4)
})

test_that("any string is a key and a namespace", {
  keys <- c("a", "A", "aB", "", ".", "..", ".a", "a.b", "a/b", "\\", "a\n", " ", "%", "%41", "+a", "+", "a+b",
            "con", "NA", "\u00e9\u4e2d", latin1("\u00fc"), "a:b*c?\"<>|", "x-y_z", "-")
  names <- riffle:::encode_name(keys)
  expect_match(names, "^[a-z0-9_%+-][a-z0-9_.%+-]*$")
  expect_identical(anyDuplicated(tolower(names)), 0L)
  expect_identical(riffle:::decode_name(names), enc2utf8(keys))

  driver <- new_driver()
  withr::defer(driver$destroy())
  for (key in keys) driver$set_hash(key, key, paste("hash of", key))
  expect_setequal(driver$list_namespaces(), enc2utf8(keys))
  for (key in keys) {
    expect_identical(driver$list_keys(key), enc2utf8(key))
    expect_identical(driver$get_hash(key, key), paste("hash of", key))
  }
})

test_that("keys and namespaces go together pair by pair", {
  driver <- new_driver()
  withr::defer(driver$destroy())
  driver$set_hash("a", "c", "1")
  driver$set_hash("b", "c", "2")
  expect_identical(driver$exists_hash(c("a", "b"), "c"), c(TRUE, TRUE))
  expect_identical(driver$exists_hash("a", c("b", "c")), c(FALSE, TRUE))
  expect_identical(driver$exists_hash("a", character()), logical())
  expect_identical(driver$del_hash(c("a", "a", "b"), c("b", "c", "c")), c(FALSE, TRUE, TRUE))
  expect_identical(driver$list_keys("c"), character())
})

test_that("a key that is set again has the new hash, also of another length", {
  driver <- new_driver()
  withr::defer(driver$destroy())
  file <- file.path(driver$path, "keys", "objects", "key")
  for (hash in c("aaaa", "bbbb", "cc", "dddddddd", "dddddddd")) {
    driver$set_hash("key", "objects", hash)
    expect_identical(driver$get_hash("key", "objects"), hash)
    expect_identical(qs_read(file), hash)
  }
  expect_identical(list.files(dirname(file), all.files = TRUE, no.. = TRUE), "key")
})

test_that("a damaged object is reported as such, not as missing", {
  skip_if_not_installed("storr")
  path <- withr::local_tempfile()
  store <- storr_riffle(path)
  hash <- store$set("cars", mtcars, use_cache = FALSE)
  file <- file.path(path, "objects", paste0(hash, ".rif"))
  bytes <- readBin(file, "raw", file.size(file))
  writeBin(head(bytes, -1), file)
  expect_riffle_error(store$get("cars"), "corrupt")
  unlink(file)
  expect_error(store$get("cars"), class = "HashError")
  expect_error(store$get("bikes"), class = "KeyError")
})

test_that("a store keeps its hash algorithm", {
  path <- withr::local_tempfile()
  expect_identical(driver_riffle(path, "sha1")$hash_algorithm, "sha1")
  expect_identical(driver_riffle(path)$hash_algorithm, "sha1")
  error <- expect_error(driver_riffle(path, "md5"), class = "ConfigError")
  expect_s3_class(error, "riffle_error_argument")
  expect_identical(conditionCall(error), quote(driver_riffle(path, "md5")))
})

test_that("a folder that is no store of ours is refused and left alone", {
  path <- withr::local_tempdir()
  writeLines("mine", file.path(path, "notes.txt"))
  expect_riffle_error(driver_riffle(path), "argument", "`path` must be a store of riffle or an empty folder")
  expect_identical(list.files(path), "notes.txt")
  newer <- withr::local_tempdir()
  qs_save(list(layout = 2L), file.path(newer, "store.rif"))
  expect_riffle_error(driver_riffle(newer), "argument", "needs a newer version of riffle")
  expect_riffle_error(driver_riffle(1), "argument", "`path` must be a string, not 1.")
  expect_riffle_error(driver_riffle(newer, 5), "argument", "`hash_algorithm` must be a string or NULL")
})

test_that("a raw vector of over 2^31 bytes is stored", {
  skip_if_not(Sys.getenv("RIFFLE_BIG") == "1", "RIFFLE_BIG is not 1")
  skip_if_not_installed("storr")
  expect_identical(child({
    store <- storr_riffle(tempfile())
    x <- raw(2^31 + 5)
    marks <- c(1, 2^31 - 1, 2^31 + 5)
    x[marks] <- as.raw(1:3)
    store$driver$set_object("of-the-driver", x)
    store$set("x", x, use_cache = FALSE)
    rm(x)
    lapply(list(store$driver$get_object("of-the-driver"), store$get("x", use_cache = FALSE)),
           function(y) list(length(y), y[marks]))
  }, seconds = 900), rep(list(list(2^31 + 5, as.raw(1:3))), 2))
})
