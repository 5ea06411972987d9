# Row and column indexes of each kind, for n of them, by name `names`.
some_indexes <- function(n, names) {
  k <- sample(n, min(n, 3))
  list(k, c(k, rev(k)), -k, -seq_len(n), seq_len(n), integer(), 0L, c(TRUE, FALSE), seq_len(n) == k[1],
       FALSE, names[k], names[k[c(1, 1)]], n:1, c(n, 1), 1.9)
}

test_that("an open file has the names and dimensions of what is in it", {
  for (n in small_and_large) {
    for (x in example_frames(n)) {
      opened <- qs_open(save_as(x, "riffle"))
      expect_s3_class(opened, "qs_file", exact = TRUE)
      expect_identical(names(opened), names(x))
      expect_identical(dim(opened), dim(x))
      expect_identical(nrow(opened), nrow(x))
      expect_identical(ncol(opened), ncol(x))
      expect_identical(length(opened), length(x))
      expect_identical(dimnames(opened), dimnames(x))
      expect_identical(row.names(opened), row.names(x))
      expect_identical(as.data.frame(opened), x)
      expect_identical(as.list(opened), as.list(x))
      expect_identical(opened[], x)
      close(opened)
    }
  }
  x <- structure(list(a = 1, 2), class = "classed", note = "n")
  opened <- qs_open(save_as(x, "riffle"))
  expect_identical(names(opened), c("a", ""))
  expect_identical(length(opened), 2L)
  expect_null(dim(opened))
  expect_identical(as.list(opened), x)
  expect_identical(lapply(opened, identity), lapply(x, identity))
})

test_that("`[` of an open data frame is that of the data frame", {
  set.seed(64)
  for (n in small_and_large) {
    frames <- example_frames(n)
    for (name in setdiff(names(frames), "no columns")) {
      x <- frames[[name]]
      opened <- qs_open(save_as(x, "riffle"))
      rows <- some_indexes(n, row.names(x))
      columns <- some_indexes(length(x), names(x))
      for (k in seq_along(rows)) {
        what <- sprintf("index %d of '%s' of %d", k, name, n)
        i <- rows[[k]]
        j <- columns[[sample(length(columns), 1)]]
        expect_part(opened[i, ], x[i, ], paste("x[i, ] with", what))
        expect_part(opened[i, , drop = FALSE], x[i, , drop = FALSE], paste("no drop with", what))
        expect_part(opened[columns[[k]]], x[columns[[k]]], paste("x[j] with", what))
        expect_part(opened[, columns[[k]]], x[, columns[[k]]], paste("x[, j] with", what))
        expect_part(opened[i, j], x[i, j], paste("x[i, j] with", what))
        expect_part(opened[i, j, drop = FALSE], x[i, j, drop = FALSE], paste("x[i, j, drop] with", what))
      }
      expect_part(opened[2, , drop = TRUE], x[2, , drop = TRUE], paste("a row of", name))
      # not in all columns can base go beyond the end
      if (!name %in% c("classed", "deep")) {
        i <- c(2, NA, n, n + 2)
        expect_part(opened[i, ], x[i, ], paste("rows that are not there of", name))
      }
      close(opened)
    }
  }
})

test_that("elements of an open file are those of the object", {
  for (n in small_and_large) {
    x <- example_frames(n)$plain
    opened <- qs_open(save_as(x, "riffle"))
    expect_identical(opened$text, x$text)
    expect_identical(opened[["text"]], x[["text"]])
    expect_identical(opened[[2]], x[[2]])
    expect_identical(opened[[c(2, 3)]], x[[c(2, 3)]])
    expect_null(opened$none)
    expect_null(opened[["none"]])
    # never completed
    expect_null(opened$tex)
    expect_identical(.DollarNames(opened, "^t"), "text")
    close(opened)
  }
  x <- c(list(a = 1, b = NULL, inner = list(deep = list(5, six = 6)), 3), rep(list(runif(100)), 300))
  opened <- qs_open(save_as(x, "riffle"))
  expect_identical(opened[[c("inner", "deep", "six")]], 6)
  expect_identical(opened[[c(3, 1, 1)]], 5)
  indexes <- list(1, c("inner", "a"), -(3:300), c(TRUE, FALSE), 3:1, c(1, NA), c("a", "none"), 400, integer())
  for (i in indexes) {
    expect_identical(opened[i], x[i])
  }
  expect_null(opened$b)
  expect_riffle_error(opened[[305]], "argument", "it has no element 305, only 304")
  expect_riffle_error(opened[[c("inner", "none")]], "argument", "its element 'inner' has no element 'none'")
  for (i in list(0, -1, NA, TRUE, character(), list(1))) {
    expect_riffle_error(opened[[i]], "argument", "`i` must be")
  }
  close(opened)
})

test_that("head() and tail() take rows and elements as they do of the object", {
  for (n in c(0, 3, small_and_large)) {
    frames <- if (n > 3) example_frames(n) else list(mtcars[seq_len(n), ], data.frame(v = seq_len(n)))
    for (x in frames) {
      opened <- qs_open(save_as(x, "riffle"))
      expect_identical(head(opened), head(x))
      expect_identical(tail(opened), tail(x))
      for (k in c(0, 1, 2, 60, -1, -45, -60)) {
        expect_identical(head(opened, k), head(x, k))
        expect_identical(tail(opened, k), tail(x, k))
      }
      expect_riffle_error(head(opened, NA), "argument", "`n`")
      close(opened)
    }
  }
  x <- as.list(letters)
  opened <- qs_open(save_as(x, "riffle"))
  expect_identical(head(opened, 2), head(x, 2))
  expect_identical(tail(opened, -23), tail(x, -23))
})

test_that("one value of a data frame is found by its row and column", {
  x <- example_frames(20000)$plain
  opened <- qs_open(save_as(x, "riffle"))
  expect_identical(opened[[7, "text"]], x[[7, "text"]])
  expect_identical(opened[[20000, 2]], x[[20000, 2]])
  expect_identical(opened[["5", "price"]], x[["5", "price"]])
  expect_riffle_error(opened[[20001, 2]], "argument", "it has no row 20001")
  expect_riffle_error(opened[[1, "none"]], "argument", "it has no column 'none'")
  expect_riffle_error(opened[[1:2, 1]], "argument", "`i` must be one row")
  expect_riffle_error(opened[c(TRUE, FALSE)[rep(1, 300)]], "argument", "the logical index 300 elements")
  close(opened)
})

test_that("str() takes its arguments, also of what an open file is in", {
  opened <- qs_open(save_as(example_frames(50)$plain, "riffle"))
  expect_match(paste(capture.output(str(opened, give.attr = FALSE)), collapse = " "), "50 rows x 9 columns")
  expect_match(paste(capture.output(str(list(x = opened))), collapse = " "), "50 rows x 9 columns")
  close(opened)
  none <- qs_open(save_as(list(), "riffle"))
  expect_match(capture.output(str(none)), "list of 0 elements")
  close(none)
})

test_that("an open file may be closed while it is read, and cannot be saved", {
  x <- list(a = runif(50000), b = runif(50000))
  bytes <- qs_serialize(x)
  bad <- local_file(flip(bytes, 32 + 40 + 5000, 0xff))
  opened <- qs_open(bad)
  handler <- function(e) close(opened)
  expect_error(withCallingHandlers(opened$a, riffle_error = handler), class = "riffle_error_corrupt")
  expect_riffle_error(opened$b, "closed", "it was closed")
  opened <- qs_open(local_file(bytes))
  again <- unserialize(serialize(opened, NULL))
  expect_riffle_error(again$a, "closed", "opened by another process")
  close(opened)
})

test_that("tibbles do not drop", {
  for (n in small_and_large) {
    x <- example_tibbles(n)$plain
    opened <- qs_open(save_as(x, "riffle"))
    expect_identical(opened[, "text"], x[, "text"])
    expect_identical(opened[3:1, "text"], x[3:1, "text"])
    expect_identical(opened[3, "text", drop = TRUE], x[3, "text", drop = TRUE])
    expect_identical(opened[c(TRUE, FALSE), c("id", "z")], x[rep(c(TRUE, FALSE), n / 2), c("id", "z")])
    expect_identical(tail(opened, 3), tail(x, 3))
    close(opened)
  }
})

test_that("what is not there is an error, and nothing can be changed", {
  path <- save_as(example_frames(50)$plain, "riffle")
  opened <- qs_open(path)
  expect_riffle_error(opened["none"], "argument", sprintf("Can't read '%s': it has no column 'none'.", path))
  expect_riffle_error(opened[, 10], "argument", "it has no column 10")
  expect_riffle_error(opened[1, c("id", "none")], "argument", "it has no column 'none'")
  expect_riffle_error(opened[matrix(TRUE, 50, 9)], "argument", "a list or matrix is no index")
  e <- expect_riffle_error(opened$id <- 1, "argument", sprintf("Can't change '%s'", path))
  expect_riffle_error(opened[["id"]] <- 1, "argument", "Can't change")
  expect_riffle_error(opened[1, 2] <- 1, "argument", "Can't change")
  expect_riffle_error(names(opened) <- letters[1:9], "argument", "Can't change")
  close(opened)
  expect_riffle_error(qs_open(file.path(tempdir(), "none.rif")), "io")
  expect_riffle_error(qs_open(1), "argument", "`file`")
  opened <- qs_open(save_as(1:3, "riffle"))
  expect_riffle_error(opened[1], "argument",
                      "it holds an object of class 'integer' and length 3, which has no parts")
  expect_riffle_error(opened$a, "argument", "which has no parts")
  expect_output(print(opened), "an object of class 'integer' and length 3", fixed = TRUE)
  opened <- qs_open(save_as(list(1, 2), "riffle"))
  expect_riffle_error(opened[1, 2], "argument", "x[i, j] is for data frames")
})

test_that("metadata is kept beside the object, and no part of it", {
  meta <- list(source = "survey 7", limits = c(0, 1), day = as.Date("2020-01-01"))
  path <- withr::local_tempfile(fileext = ".rif")
  objects <- list(mtcars, example_frames(20000)$plain, list(a = 1), list())
  for (x in objects) {
    qs_save(x, path, meta = meta)
    opened <- qs_open(path)
    expect_identical(opened$meta, meta)
    expect_identical(as.list(opened), as.list(x))
    expect_identical(qs_read(path), x)
    close(opened)
  }
  qs_save(list(meta = "its own"), path, meta = meta)
  opened <- qs_open(path)
  expect_identical(opened$meta, "its own")
  close(opened)
  qs_save(mtcars, path)
  opened <- qs_open(path)
  expect_null(opened$meta)
  close(opened)
})

test_that("a closed file says so", {
  for (n in small_and_large) {
    path <- save_as(example_frames(n)$plain, "riffle")
    opened <- qs_open(path)
    same <- opened
    expect_null(close(opened))
    message <- sprintf("Can't read '%s': it was closed.", path)
    expect_riffle_error(same$id, "closed", message)
    expect_riffle_error(same[1, ], "closed", message)
    expect_riffle_error(same[[1]], "closed", message)
    expect_riffle_error(names(same), "closed", message)
    expect_riffle_error(print(same), "closed", message)
    expect_riffle_error(head(same), "closed", message)
    expect_riffle_error(as.list(same), "closed", message)
    expect_riffle_error(str(same), "closed", message)
    expect_riffle_error(same$id <- 1, "closed", message)
    expect_silent(close(same))
  }
})

test_that("the file is seen as it was when it was opened", {
  skip_on_os("windows")
  for (n in small_and_large) {
    x <- example_frames(n)$plain
    path <- save_as(x, "riffle")
    opened <- qs_open(path)
    qs_save(1, path)
    expect_identical(opened$text, x$text)
    unlink(path)
    expect_identical(opened[7:2, ], x[7:2, ])
    close(opened)
  }
})

test_that("files do not stay open that nobody has", {
  skip_if_not_linux()
  path <- save_as(example_frames(20000)$plain, "riffle")
  before <- open_files()
  for (i in 1:20) opened <- qs_open(path)
  rm(opened)
  gc()
  gc()
  expect_identical(open_files(), before)
  opened <- qs_open(path)
  close(opened)
  expect_identical(open_files(), before)
  for (i in 1:5) qs_read(path, columns = "id", to = 3)
  expect_error(qs_read(path, columns = "none"))
  expect_identical(open_files(), before)
})

test_that("print() and format() fit the console", {
  x <- example_frames(20000)
  path <- save_as(x$plain, "riffle")
  opened <- qs_open(path)
  lines <- format(opened, width = 60)
  expect_identical(lines[1], sprintf("<qs_file> '%s': data.frame, 20,000 rows x 9 columns", path))
  expect_lte(length(lines), 12)
  expect_lte(max(nchar(lines[-1])), 60)
  expect_match(lines[3], "<lgl> +<int> +<int> +<dbl>")
  expect_match(lines[4], "^1 +FALSE +2 ")
  expect_match(lines[8], "^[.]{3} ")
  expect_match(lines[11], "^20000 ")
  expect_match(lines[12], "^and [0-9] more columns - ")
  expect_output(expect_invisible(print(opened)), "20,000 rows", fixed = TRUE)
  expect_output(str(opened), "20,000 rows x 9 columns", fixed = TRUE)
  expect_output(str(opened), " $ text : chr  \"id-000001\"", fixed = TRUE)
  for (frame in x) {
    opened <- qs_open(save_as(frame, "riffle"))
    for (width in c(20, 80, 400)) expect_lte(max(nchar(format(opened, width = width)[-1], "width")), width)
    expect_output(str(opened))
  }
  opened <- qs_open(save_as(iris[0, ], "riffle"))
  expect_match(format(opened)[1], "0 rows x 5 columns")
  opened <- qs_open(save_as(c(list(first = 1:3, day = Sys.Date()), as.list(1:20000)), "riffle"))
  lines <- format(opened)
  expect_match(lines[1], "list of 20,002 elements")
  expect_match(lines[3], "first +integer +3")
  expect_match(lines[4], "day +double +Date +1")
  expect_identical(lines[13], "  and 19,992 more elements")
  opened <- qs_open(save_as(list(), "riffle"))
  expect_match(format(opened), "list of 0 elements")
})
