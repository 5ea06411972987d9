test_that("pieces are the rows in order, and then no more", {
  for (n in small_and_large) {
    frames <- example_frames(n)
    for (name in setdiff(names(frames), "no columns")) {
      x <- frames[[name]]
      path <- save_as(x, "riffle")
      rows <- n %/% 3 + 1
      next_piece <- qs_chunks(path, rows)
      for (from in c(1, rows + 1, 2 * rows + 1)) {
        expect_part(next_piece(), x[from:min(from + rows - 1, n), , drop = FALSE],
                    sprintf("rows from %d of %s", from, name))
      }
      expect_null(next_piece())
      expect_null(next_piece())
      unlink(path)
    }
  }
  expect_identical(live_calls(), 0L)
})

test_that("pieces have the columns asked for", {
  for (n in small_and_large) {
    x <- example_frames(n)$deep
    path <- save_as(x, "riffle")
    columns <- c("list", "id", "matrix")
    next_piece <- qs_chunks(path, 20, columns)
    expect_identical(next_piece(), x[1:20, columns])
    expect_identical(next_piece(), x[21:40, columns])
    close(next_piece)
    expect_null(next_piece())
    expect_silent(close(next_piece))
    unlink(path)
  }
})

test_that("qs_apply() gives the values in order, and passes arguments on", {
  for (n in small_and_large) {
    x <- example_frames(n)$plain
    path <- save_as(x, "riffle")
    groups <- split(x, (seq_len(n) - 1) %/% 15)
    expect_identical(qs_apply(path, function(piece, by) sum(piece$price) * by, 15, by = 2),
                     unname(lapply(groups, function(piece) sum(piece$price) * 2)))
    expect_identical(qs_apply(path, "nrow"), list(as.integer(n)))
    expect_identical(qs_apply(path, function(piece) NULL, n / 2), list(NULL, NULL))
    expect_identical(qs_apply(path, names, n, columns = 2:1), list(names(x)[2:1]))
    unlink(path)
  }
})

test_that("a frame without rows has no pieces", {
  path <- save_as(iris[0, ], "riffle")
  expect_null(qs_chunks(path)())
  expect_identical(qs_apply(path, nrow), list())
  qs_save(iris[, 0], path)
  expect_identical(qs_apply(path, dim, rows = 100), list(c(100L, 0L), c(50L, 0L)))
})

test_that("pieces come from other formats and connections", {
  x <- example_frames(60)$classed
  for (format in c("qs2", "rds")) {
    path <- save_as(x, format)
    expect_identical(qs_apply(path, identity, 40), list(x[1:40, ], x[41:60, ]))
    con <- file(path)
    expect_identical(qs_apply(con, identity, 40), list(x[1:40, ], x[41:60, ]))
    close(con)
    unlink(path)
  }
})

test_that("errors of arguments, the file and the function", {
  path <- save_as(iris, "riffle")
  for (rows in list(0, -1, 1.5, NA, "1", c(1, 2), NULL, Inf)) {
    expect_riffle_error(qs_chunks(path, rows), "argument", "`rows` must be")
  }
  expect_riffle_error(qs_chunks(path, columns = "none"), "argument", "it has no column 'none'")
  expect_riffle_error(qs_chunks(path, columns = 0), "argument", "`columns` must be")
  expect_riffle_error(qs_apply(path, nrow, columns = "none"), "argument", "it has no column 'none'")
  expect_riffle_error(qs_chunks(file.path(tempdir(), "none.rif")), "io")
  expect_error(qs_apply(path, function(piece) stop("its own")), "its own")
  expect_error(qs_apply(path, 1), "not a function")
  qs_save(list(a = 1), path)
  expect_riffle_error(qs_chunks(path), "argument",
                      "it holds an object of class 'list' and length 1, and pieces are for data frames")
})

test_that("the file is closed with its last piece, by close() and after an error", {
  skip_if_not_linux()
  path <- save_as(example_frames(20000)$plain, "riffle")
  before <- open_files()
  next_piece <- qs_chunks(path, 15000)
  next_piece()
  next_piece()
  expect_identical(open_files(), before)
  next_piece <- qs_chunks(path, 100)
  close(next_piece)
  expect_identical(open_files(), before)
  expect_error(qs_apply(path, stop, 100))
  expect_identical(open_files(), before)
})

test_that("pieces that were used are not kept", {
  path <- save_as(data.frame(x = runif(50000), y = runif(50000)), "riffle")
  collected <- 0
  noted <- function(piece) {
    mark <- new.env()
    reg.finalizer(mark, function(e) collected <<- collected + 1)
    # lives as long as the column
    attr(piece$x, "mark") <- mark
    kept <<- c(list(piece), kept)[1]
    gc()
    collected
  }
  kept <- list()
  values <- qs_apply(path, noted, 10000)
  expect_gte(values[[5]], 3)
})

test_that("what has no ranges is read once, not for each piece", {
  wholes <- 0
  source <- list(n = 3, simple = c(TRUE, FALSE, TRUE), read = function(which, from = NULL, n = NULL) {
    wholes <<- wholes + sum(which == 2)
    as.list(which * 10)
  })
  source <- riffle:::remembering(source)
  for (from in c(1, 11, 21)) expect_identical(source$read(1:3, from, 10), list(10, 20, 30))
  expect_identical(source$read(2), list(20))
  expect_identical(wholes, 1)
})

test_that("print() tells how far it has got", {
  path <- save_as(data.frame(x = 1:2500), "riffle")
  next_piece <- qs_chunks(path, 1000)
  next_piece()
  told <- sprintf("<qs_chunks> '%s': 1,000 of 2,500 rows done, 1,000 in a piece", path)
  expect_output(print(next_piece), told, fixed = TRUE)
  next_piece()
  next_piece()
  expect_output(print(next_piece), "2,500 of 2,500 rows done, 1,000 in a piece, closed", fixed = TRUE)
})
