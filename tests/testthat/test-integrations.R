# Each against the real package; vignettes/integrations.Rmd shows the same recipes.

# Processes that the other package starts need the same riffle.
local_library <- function(env = parent.frame()) {
  skip_on_cran()
  folder <- dirname(getNamespaceInfo("riffle", "path"))
  skip_if_not(file.exists(file.path(folder, "riffle", "Meta", "package.rds")),
              "needs riffle to be installed")
  paths <- paste(unique(c(folder, .libPaths())), collapse = .Platform$path.sep)
  withr::local_envvar(R_LIBS = paths, .local_envir = env)
}

riffle_cache <- function(dir = withr::local_tempdir(.local_envir = parent.frame())) {
  cachem::cache_disk(dir, read_fn = qs_read, write_fn = qs_save, extension = ".rif")
}

is_riffle_file <- function(path) identical(readBin(path, "raw", 4), as.raw(c(0x89, 0x52, 0x49, 0x46)))

test_that("cachem keeps its objects in riffle files", {
  skip_if_not_installed("cachem", "1.0.7")
  cache <- riffle_cache()
  cache$set("cars", mtcars)
  expect_identical(cache$get("cars"), mtcars)
  file <- file.path(cache$info()$dir, "cars.rif")
  expect_true(is_riffle_file(file))
  expect_identical(qs_read(file), mtcars)
  cache$remove("cars")
  expect_true(cachem::is.key_missing(cache$get("cars")))
})

test_that("memoise remembers by riffle files, also in another cache of the same folder", {
  skip_if_not_installed("cachem", "1.0.7")
  skip_if_not_installed("memoise", "2.0.0")
  calls <- 0
  slow <- function(n) {
    calls <<- calls + 1
    data.frame(n = seq_len(n), square = seq_len(n)^2)
  }
  cache <- riffle_cache()
  fast <- memoise::memoise(slow, cache = cache)
  expect_identical(fast(10), fast(10))
  expect_identical(calls, 1)
  files <- list.files(cache$info()$dir, full.names = TRUE)
  expect_length(files, 1)
  expect_true(is_riffle_file(files))
  again <- memoise::memoise(slow, cache = riffle_cache(cache$info()$dir))
  expect_identical(again(10), slow(10))
  expect_identical(calls, 2)
})

test_that("targets stores by riffle, and skips what is up to date", {
  skip_if_not_installed("targets")
  local_library()
  withr::local_dir(withr::local_tempdir())
  writeLines(c(
    "library(targets)",
    "tar_option_set(format = tar_format(",
    "  read = function(path) riffle::qs_read(path),",
    "  write = function(object, path) riffle::qs_save(object, path)",
    "))",
    "list(",
    "  tar_target(numbers, as.numeric(1:1000)),",
    "  tar_target(model, lm(y ~ x, data.frame(x = numbers, y = numbers^2))),",
    "  tar_target(slope, coef(model)[[\"x\"]])",
    ")"
  ), "_targets.R")
  run <- function() {
    targets::tar_make(reporter = "silent")
    progress <- targets::tar_progress()
    structure(progress$progress, names = progress$name)[c("numbers", "model", "slope")]
  }
  expect_identical(unname(run()), rep("completed", 3))
  expect_equal(targets::tar_read_raw("slope"), 1001)
  expect_identical(targets::tar_read_raw("numbers"), as.numeric(1:1000))
  files <- list.files(file.path("_targets", "objects"), full.names = TRUE)
  expect_length(files, 3)
  expect_true(all(vapply(files, is_riffle_file, NA)))
  expect_identical(unname(run()), rep("skipped", 3))
})

test_that("mirai sends objects of a class by riffle, to a daemon and back", {
  skip_if_not_installed("mirai", "2.0.0")
  local_library()
  config <- mirai::serial_config("riffle_test", riffle::qs_serialize, riffle::qs_deserialize)
  mirai::daemons(1, serial = config, .compute = "riffle-test")
  withr::defer(mirai::daemons(0, .compute = "riffle-test"))
  counter <- structure(new.env(parent = emptyenv()), class = "riffle_test")
  counter$values <- as.numeric(1:1e5)
  got <- mirai::mirai({
    sent <- list(class = class(counter), sum = sum(counter$values), has_riffle = isNamespaceLoaded("riffle"))
    counter$values <- rev(counter$values)
    list(sent, counter)
  }, counter = counter, .compute = "riffle-test")[]
  expect_identical(got[[1]], list(class = "riffle_test", sum = 5000050000, has_riffle = TRUE))
  expect_s3_class(got[[2]], "riffle_test")
  expect_identical(got[[2]]$values, rev(counter$values))
})

test_that("callr gets and gives large objects by file", {
  skip_if_not_installed("callr")
  local_library()
  file <- withr::local_tempfile(fileext = ".rif")
  result <- withr::local_tempfile(fileext = ".rif")
  frame <- data.frame(id = 1:1e5, value = (1:1e5) / 7)
  qs_save(frame, file)
  callr::r(function(file, result) {
    frame <- riffle::qs_read(file)
    frame$double <- 2 * frame$value
    riffle::qs_save(frame, result)
  }, list(file, result))
  frame$double <- 2 * frame$value
  expect_identical(qs_read(result), frame)
})

test_that("future's workers get a large object by file", {
  skip_if_not_installed("future")
  local_library()
  old <- future::plan("multisession", workers = 2)
  withr::defer(future::plan(old))
  file <- withr::local_tempfile(fileext = ".rif")
  numbers <- as.numeric(1:1e5) / 7
  qs_save(numbers, file)
  halves <- lapply(1:2, function(i) {
    future::future(list(Sys.getpid(), sum(riffle::qs_read(file)[seq(i, 1e5, 2)])), globals = list(file = file, i = i))
  })
  got <- future::value(halves)
  expect_equal(got[[1]][[2]] + got[[2]][[2]], sum(numbers))
  expect_false(Sys.getpid() %in% c(got[[1]][[1]], got[[2]][[1]]))
})

test_that("pins keeps versions of a riffle file", {
  skip_if_not_installed("pins", "1.0.0")
  board <- pins::board_temp(versioned = TRUE)
  file <- file.path(withr::local_tempdir(), "cars.rif")
  for (rows in c(10, 32)) {
    qs_save(mtcars[seq_len(rows), ], file)
    suppressMessages(pins::pin_upload(board, file, name = "cars", metadata = list(rows = rows)))
    Sys.sleep(1.1) # a version's name has the time in seconds
  }
  expect_identical(qs_read(pins::pin_download(board, "cars")), mtcars)
  versions <- pins::pin_versions(board, "cars")$version
  expect_length(versions, 2)
  rows <- vapply(versions, function(v) nrow(qs_read(pins::pin_download(board, "cars", version = v))), 1L)
  expect_setequal(rows, c(10L, 32L))
})

test_that("shiny's bindCache() keeps values in riffle files", {
  skip_if_not_installed("cachem", "1.0.7")
  skip_if_not_installed("shiny", "1.6.0")
  cache <- riffle_cache()
  calls <- 0
  server <- function(input, output, session) {
    squares <- shiny::reactive({
      calls <<- calls + 1
      seq_len(input$n)^2
    })
    squares <- shiny::bindCache(squares, input$n, cache = cache)
  }
  for (session in 1:2) {
    shiny::testServer(server, {
      session$setInputs(n = 5)
      expect_identical(squares(), (1:5)^2)
      session$setInputs(n = 3)
      expect_identical(squares(), (1:3)^2)
    })
  }
  expect_identical(calls, 2)
  files <- list.files(cache$info()$dir, "\\.rif$", full.names = TRUE)
  expect_length(files, 2)
  expect_true(all(vapply(files, is_riffle_file, NA)))
})
