# Objects and what must hold for them: tests/fuzz/random-objects.R.
source(test_path("..", "fuzz", "random-objects.R"), local = TRUE)

expect_same_stream <- function(x, what = "The object") {
  difference <- stream_difference(x)
  expect(is.null(difference), sprintf("%s: %s.", what, difference))
}

expect_same_streams <- function(values) {
  for (i in seq_along(values)) expect_same_stream(values[[i]], names(values)[i])
}

# The names of those that R's own serializer has to write.
foreign_among <- function(values) names(values)[!vapply(values, is_plain, NA)]

test_that("atomic vectors and lists are walked to R's bytes", {
  values <- c(example_atomics(), example_long_vectors())
  expect_same_streams(values)
  expect_identical(foreign_among(values), "an expression vector")
})

test_that("every encoding is walked to R's bytes", {
  skip_if_not_utf8()
  values <- example_encodings()
  expect_same_streams(values)
  expect_identical(foreign_among(values), "a call with names in UTF-8")
})

test_that("attributes are walked as they are", {
  values <- example_attributes()
  expect_same_streams(values)
  expect_identical(foreign_among(values), c("a call with attributes", "a function with attributes"))
})

test_that("only data is walked", {
  values <- c(example_language(), example_special_environments())
  expect_same_streams(values)
  expect_identical(
    setdiff(names(values), foreign_among(values)),
    c("a symbol", "a symbol with a space", "the missing argument", "a pairlist",
      "a pairlist with a class", "a long pairlist", "the global environment",
      "the base environment", "the empty environment", "the base namespace")
  )
  expect_false(is_plain(list(1, structure(2, hidden = list(quote(f(x)))))))
})

test_that("R's own ALTREP classes are walked in their compact form and left as they are", {
  values <- example_altrep()
  expect_same_streams(values)
  expect_identical(setdiff(foreign_among(values), "numbers to be strings, with names"),
                   c("a mapped file", "a mapped file that is saved by name"))
  expect_lt(calc_size(1:1e9), 200)
})

test_that("S4 instances, external pointers and data.tables are walked", {
  pointer <- get("C_rnorm", asNamespace("stats"))$address
  values <- list(
    "an instance" = methods::new("RandomSlots", number = 1, text = "a", any = NULL),
    "an instance of a basic type" = methods::new("RandomNumbers", 1:3 / 2, unit = "cm"),
    "a vector with the S4 flag" = asS4(1:3),
    "one pointer twice" = list(pointer, pointer)
  )
  if (requireNamespace("data.table", quietly = TRUE))
    values$"a data.table" <- data.table::data.table(a = 1:3, b = c("x", NA, "y"))
  expect_same_streams(values)
  expect_identical(foreign_among(values), character())
})

test_that("a refhook is asked about an external pointer", {
  pointer <- get("C_rnorm", asNamespace("stats"))$address
  bytes <- qs_serialize(list(pointer), refhook = function(x) "a pointer")
  expect_identical(qs_deserialize(bytes, refhook = toupper), list("A POINTER"))
})

test_that("symbols are numbered as R does, however many", {
  many <- lapply(sprintf("symbol_%05d", c(1:3000, 1:3000)), as.name)
  expect_true(is_plain(many))
  expect_same_stream(many)
})

test_that("a vector's growable flag is left out", {
  grown <- numeric()
  for (i in 1:1000) grown[i] <- i / 2
  expect_identical(marshall(grown), serialize((1:1000) / 2, NULL, xdr = FALSE))
  expect_identical(qs_serialize(grown), qs_serialize((1:1000) / 2))
})

test_that("strings too long for a batch lie between others", {
  long <- strrep("z", 70000)
  x <- c(rep("a", 300), long, long, rep("b", 300), long)
  expect_true(is_plain(x))
  expect_same_stream(x)
})

test_that("a long pairlist is walked in a loop", {
  x <- as.pairlist(as.list(1:100000))
  bytes <- serialize(x, NULL, xdr = FALSE)
  expect_identical(marshall(x), bytes)
  expect_equal(calc_size(x), length(bytes))
})

test_that("lists nested too deeply are an error, and others are not", {
  expect_same_stream(nested_list(1000))
  deep <- nested_list(1e6)
  expect_riffle_error(calc_size(deep), "depth", "nested too deeply")
  expect_riffle_error(marshall(deep), "depth", "nested too deeply")
  expect_riffle_error(qs_serialize(deep), "depth", "nested too deeply")
})

test_that("version 2 is R's own", {
  for (x in list(1:10, iris, "a"))
    expect_identical(marshall(x, 2), serialize(x, NULL, xdr = FALSE, version = 2))
})

test_that("a walk can be interrupted", {
  skip_on_cran()
  x <- rep(list(rep(list(1, "a"), 1000)), 1e5)
  setTimeLimit(elapsed = 0.3, transient = TRUE)
  expect_error(repeat calc_size(x), "reached elapsed time limit")
  setTimeLimit()
  expect_identical(live_calls(), 0L)
})

# But for the largest: all of them take a while.
datasets <- function(package, largest = 5e6) {
  rows <- utils::data(package = package)$results
  names <- unique(sub(" .*", "", rows[, "Item"]))
  files <- unique(sub("^(\\S+)( \\((.*)\\))?$", "\\3", rows[, "Item"]))
  into <- new.env()
  for (name in c(names, files[nzchar(files)]))
    suppressWarnings(try(utils::data(list = name, package = package, envir = into), silent = TRUE))
  values <- mget(ls(into), into)
  Filter(function(x) object.size(x) < largest, values)
}

test_that("the datasets of R and of all installed packages are walked to R's bytes", {
  skip_on_cran()
  packages <- unique(utils::data(package = .packages(TRUE))$results[, "Package"])
  for (package in packages) {
    values <- suppressWarnings(datasets(package))
    if (length(values)) names(values) <- paste0(package, "::", names(values))
    expect_same_streams(values)
  }
  # those that keep formulas or calls
  expect_setequal(foreign_among(datasets("datasets")),
                  c("ChickWeight", "CO2", "DNase", "Indometh", "Loblolly", "Orange", "Theoph",
                    "UScitiesD"))
})

test_that("random objects are walked to R's bytes", {
  first <- as.integer(Sys.time()) %% 1000000L
  seconds <- if (identical(Sys.getenv("NOT_CRAN"), "true")) 10 else 1
  until <- Sys.time() + seconds
  for (seed in first + 0:100000) {
    x <- random_object(seed)
    expect_true(is_plain(x), info = seed)
    expect_same_stream(x, sprintf("random_object(%d)", seed))
    expect_same_stream(random_object(seed, any = TRUE), sprintf("random_object(%d, TRUE)", seed))
    if (Sys.time() > until) break
  }
})
