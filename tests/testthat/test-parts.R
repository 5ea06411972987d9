test_that("columns and rows of a data frame are those that `[` gives", {
  set.seed(61)
  for (n in small_and_large) {
    frames <- example_frames(n)
    for (name in names(frames)) {
      x <- frames[[name]]
      path <- save_as(x, "riffle")
      for (range in some_ranges(n)) {
        what <- sprintf("rows %.0f to %.0f of '%s' of %d", range[1], range[2], name, n)
        i <- rows_between(range, n)
        expect_part(qs_read(path, from = range[1], to = range[2]), x[i, , drop = FALSE], what)
        columns <- sample(names(x), sample(0:length(x), 1))
        expect_part(qs_read(path, columns = columns), x[columns], paste("columns of", what))
        at <- match(columns, names(x))
        expect_part(qs_read(path, columns = at, from = range[1], to = range[2]),
                    x[i, columns, drop = FALSE], paste("columns and", what))
      }
      expect_part(qs_read(path, from = n - 1), x[(n - 1):n, , drop = FALSE], paste("the end of", name))
      expect_part(qs_read(path, to = 2), x[1:2, , drop = FALSE], paste("the begin of", name))
      unlink(path)
    }
  }
  expect_identical(live_calls(), 0L)
})

test_that("parts are the same by one thread and by several, each codec, filtered or not", {
  x <- example_frames(20000)$plain
  for (codec in c("zstd", "lz4", "none")) {
    for (shuffle in c(TRUE, FALSE)) {
      path <- withr::local_tempfile(fileext = ".rif")
      qs_save(x, path, codec = codec, shuffle = shuffle, meta = list(note = "needs an index"))
      for (nthreads in c(1, 2, 5)) {
        part <- qs_read(path, nthreads = nthreads, columns = c("text", "id", "wave"), from = 4999, to = 15001)
        expect_part(part, x[4999:15001, c("text", "id", "wave")], paste(codec, shuffle, nthreads))
      }
    }
  }
})

test_that("random parts of files of many blocks are the same, by any codec, filter and number of threads", {
  set.seed(21)
  n <- 400000
  x <- data.frame(
    id = sample(n), flag = sample(c(TRUE, NA), n, TRUE), few = sample(5L, n, TRUE), rising = cumsum(sample(3L, n, TRUE)),
    gaps = replace(cumsum(sample(9L, n, TRUE)), sample(n, 50), NA), price = round(rlnorm(n, 3), 2),
    time = 1.6e9 + cumsum(runif(n)), random = rnorm(n), odd = replace(runif(n), sample(n, 99), NA),
    same = 0.1, text = sample(c("Kenya", "C\u00f4te d'Ivoire", NA, ""), n, TRUE), word = sprintf("w%d", sample(5000, n, TRUE)),
    key = sprintf("id-%07d", sample(n)), z = complex(real = seq_len(n), imaginary = 1),
    day = as.Date("2020-01-01") + sample(2000, n, TRUE), group = factor(sample(letters, n, TRUE))
  )
  x$raw <- as.raw(sample(255, n, TRUE))
  path <- withr::local_tempfile(fileext = ".rif")
  for (codec in c("zstd", "lz4", "none")) for (shuffle in c(TRUE, FALSE)) {
    qs_save(x, path, codec = codec, shuffle = shuffle, meta = list(index = TRUE))
    expect_gt(qs_info(path)$n_blocks, 200)
    opened <- qs_open(path, nthreads = 3)
    for (k in 1:12) {
      columns <- sample(names(x), sample(ncol(x), 1))
      from <- sample(n, 1)
      to <- min(n, from + sample(c(0, 10, 5000, 100000), 1))
      nthreads <- sample(c(1, 2, 4), 1)
      expected <- x[from:to, columns, drop = FALSE]
      part <- qs_read(path, columns = columns, from = from, to = to, nthreads = nthreads)
      expect_part(part, expected, paste("Rows", from, "to", to, "of", toString(columns), codec, shuffle))
      expect_part(opened[from:to, columns, drop = FALSE], expected, "The open file's part")
      name <- columns[1]
      expect_part(qs_read(path, columns = name, nthreads = nthreads), x[name], name)
    }
    close(opened)
  }
})

test_that("elements of a one-dimensional list array go by its dimension's names", {
  x <- tapply(rnorm(50000), rep(c("p", "q"), 25000), function(v) v, simplify = FALSE)
  path <- withr::local_tempfile(fileext = ".rif")
  for (format in c("riffle", "rds")) {
    qs_save(x, path, format = format)
    expect_identical(qs_read(path, select = "q"), x[["q"]])
    opened <- qs_open(path)
    expect_identical(names(opened), c("p", "q"))
    expect_identical(opened$p, x$p)
    close(opened)
  }
  expect_identical(qs_info(qs_serialize(x))$elements$name, c("p", "q"))
})

test_that("parts that share a pointer come from the whole", {
  skip_if_not_installed("data.table")
  dt <- data.table::data.table(a = 1:3, b = letters[1:3])
  x <- list(train = dt, test = dt, numbers = runif(50000))
  x <- structure(x, note = dt)
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(x, path)
  expect_s3_class(qs_info(path), "qs_info")
  expect_identical(qs_info(path)$elements$name, names(x))
  frame <- function(x) as.data.frame(x)
  expect_identical(frame(qs_read(path, select = "test")), frame(dt))
  opened <- qs_open(path)
  expect_identical(frame(opened$test), frame(dt))
  expect_identical(names(opened[c("test", "numbers")]), c("test", "numbers"))
  expect_identical(opened$numbers, x$numbers)
  close(opened)
  both <- data.frame(id = 1:50000 + 0)
  both$p <- data.table::data.table(u = both$id)
  both$q <- both$p
  qs_save(both, path, meta = list(index = TRUE))
  part <- qs_read(path, columns = c("q", "id"), from = 11, to = 20)
  expect_identical(part$id, both$id[11:20])
  expect_identical(part$q$u, both$id[11:20])
})

test_that("columns with an attribute that goes by the element are cut by their own methods", {
  n <- 20000
  x <- data.frame(id = seq_len(n) + 0)
  x$stamped <- structure(runif(n), stamp = seq_len(n), class = "riffle_stamped")
  own <- function(x, i) structure(unclass(x)[i], stamp = attr(x, "stamp")[i], class = class(x))
  registerS3method("[", "riffle_stamped", own, envir = asNamespace("base"))
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(x, path, meta = list(index = TRUE))
  expect_identical(attr(qs_read(path, from = 7, to = 9)$stamped, "stamp"), 7:9)
  expect_part(qs_read(path, from = 7, to = 9), x[7:9, ], "the part")
})

test_that("only the blocks of a part, and the index, are read from the file", {
  skip_if_not_linux()
  bytes_read <- function(expr) {
    count <- function() as.numeric(sub("rchar: ", "", grep("^rchar", readLines("/proc/self/io"), value = TRUE)))
    before <- count()
    overhead <- count() - before
    force(expr)
    count() - before - 2 * overhead
  }
  set.seed(22)
  n <- 400000
  x <- data.frame(a = rnorm(n), b = rnorm(n), text = sprintf("id-%07d", sample(n)), c = rnorm(n))
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(x, path)
  index <- sum(subset(qs_info(path)$blocks, kind == "index")$stored_bytes) + 32 + 72 + 1000
  stored <- qs_info(path)$elements$stored_bytes
  qs_read(path, columns = "a", from = 1, to = 1)
  expect_lt(bytes_read(qs_read(path, columns = "a")), stored[1] + 2 * index)
  expect_lt(bytes_read(qs_read(path, columns = "text")), stored[3] + 2 * index)
  block <- 2^18 + 32
  expect_lt(bytes_read(qs_read(path, columns = c("a", "b", "c"), from = 200001, to = 200010)), 4 * block + 2 * index)
  expect_lt(bytes_read(qs_read(path, lazy = TRUE)), 2 * index)
  expect_gt(bytes_read(qs_read(path)), 0.9 * file.size(path))
})

test_that("any byte of the index or the end changed, or lost, is an error to who asks for a part", {
  x <- list(a = runif(20000), b = sprintf("s%d", 1:20000))
  bytes <- qs_serialize(x)
  blocks <- blocks_of(bytes)
  index <- blocks[blocks$kind == INDEX, ]
  path <- withr::local_tempfile(fileext = ".rif")
  for (i in (index$at + 1):length(bytes)) {
    write_bytes(flip(bytes, i, 0x11), path)
    in_index <- i <= index$at + index$len
    expect_riffle_error(qs_read(path, select = "a"), "corrupt")
    expect_riffle_error(qs_open(path), "corrupt")
    if (in_index) {
      expect_warning(value <- qs_read(path, lazy = TRUE), "index is damaged", class = "riffle_warning")
      expect_identical(value, x)
    } else {
      expect_riffle_error(qs_read(path, lazy = TRUE), "corrupt")
    }
  }
  for (i in c(index$at + c(0, 1, 31, 32), length(bytes) - c(1, 71, 72, 73))) {
    write_bytes(head(bytes, i), path)
    expect_riffle_error(qs_read(path, select = "a"), "corrupt")
    expect_riffle_error(qs_open(path), "corrupt")
  }
})

test_that("what is not trusted is cut without methods of S4, which load the package a class names", {
  x <- asS4(structure(c(1, 2, 3), class = structure("none", package = "stats")))
  part <- riffle:::slice(x, 2:3, TRUE, list(trusted = FALSE))
  expect_false(isS4(part))
  expect_identical(as.vector(unclass(part)), c(2, 3))
})

test_that("the limit of bytes holds for parts as for the whole", {
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(data.frame(a = runif(50000), b = runif(50000)), path)
  withr::local_options(riffle.max_bytes = 1e5)
  expect_riffle_error(qs_read(path, columns = "a"), "limit")
  opened <- qs_open(path)
  expect_riffle_error(opened$b, "limit")
  expect_riffle_error(as.data.frame(opened), "limit")
  expect_identical(nrow(opened[11:20, ]), 10L)
  close(opened)
})

test_that("parts are read under gctorture as well", {
  skip_on_cran()
  x <- data.frame(a = runif(9000), b = sprintf("s%d", 1:9000), c = factor(sample(letters, 9000, TRUE)))
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(x, path, meta = list(index = TRUE))
  gctorture2(17)
  on.exit(gctorture2(0))
  part <- qs_read(path, columns = c("c", "b"), from = 4000, to = 4040)
  opened <- qs_open(path)
  again <- opened[4000:4040, c("c", "b")]
  whole <- as.data.frame(opened)
  close(opened)
  info <- qs_info(path)
  gctorture2(0)
  expect_identical(part, x[4000:4040, c("c", "b")])
  expect_identical(again, part)
  expect_identical(whole, x)
  expect_identical(info$elements$name, names(x))
})

test_that("lazy frames can be asked for some columns, and lists for some elements", {
  x <- list(frame = data.frame(a = runif(20000), b = sprintf("s%d", 1:20000)), numbers = runif(20000))
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(x$frame, path)
  expect_identical(qs_read(path, lazy = TRUE, columns = "b"), x$frame["b"])
  qs_save(x, path)
  expect_identical(qs_read(path, lazy = TRUE, select = list("frame", "a")), x$frame$a)
})

test_that("parts come from other formats, connections and a pipe, too", {
  x <- example_frames(100)$classed
  columns <- c("time", "level")
  expected <- x[11:20, columns]
  for (format in c("riffle", "qs2", "rds")) {
    path <- save_as(x, format)
    expect_identical(qs_read(path, columns = columns, from = 11, to = 20), expected)
    expect_identical(qs_read(path, select = "time"), x[["time"]])
    con <- file(path)
    expect_identical(qs_read(con, columns = columns, from = 11, to = 20), expected)
    close(con)
    opened <- qs_open(path)
    expect_identical(opened[11:20, columns], expected)
    close(opened)
    unlink(path)
  }
  con <- rawConnection(c(qs_serialize(x), qs_serialize(letters)))
  expect_identical(qs_read(con, columns = columns, from = 11, to = 20), expected)
  expect_identical(qs_read(con), letters)
  close(con)
  skip_on_os("windows")
  fifo <- withr::local_tempfile()
  shell("mkfifo", fifo)
  bytes <- local_file(qs_serialize(x))
  shell("cat", bytes, ">", fifo, wait = FALSE)
  expect_identical(qs_read(fifo, columns = columns, from = 11, to = 20), expected)
})

test_that("parts are read with a refhook, verified, and as data only", {
  for (n in small_and_large) {
    x <- list(env = globalenv(), local = new.env(), numbers = seq_len(n) / 7)
    path <- withr::local_tempfile(fileext = ".rif")
    qs_save(x, path, refhook = function(e) "it")
    expect_identical(qs_read(path, refhook = function(name) name, select = "local"), "it")
    frame <- example_frames(n)$plain
    qs_save(frame, path)
    expect_identical(qs_read(path, TRUE, data_only = TRUE, columns = "id", from = 3, to = 4),
                     frame[3:4, "id", drop = FALSE])
    expect_riffle_error(qs_read(path, NA, columns = "id"), "argument", "`validate_checksum`")
    expect_riffle_error(qs_read(path, data_only = NA, columns = "id"), "argument", "`data_only`")
    expect_riffle_error(qs_read(path, nthreads = 0, columns = "id"), "argument", "`nthreads`")
    bytes <- read_bytes(path)
    write_bytes(flip(bytes, length(bytes) %/% 2), path)
    expect_riffle_error(qs_read(path, TRUE, columns = "id", to = 2), "corrupt")
  }
})

test_that("elements of lists are those that `[[` and `[` give", {
  set.seed(62)
  lists <- list(
    named = example_objects(),
    long = lapply(1:300, function(i) structure(i + runif(100), note = i)),
    noted = structure(list(a = 1, b = NULL, c = runif(20000)), class = "classed", note = "dropped"),
    "names that are empty, missing and equal" = structure(list(1, 2, 3, 4), names = c("", NA, "a", "a")),
    "attributes that begin like others" =
      structure(list(1, 2, runif(9000)), names2 = c("a", "b"), class.of = "data.frame", row.names.of = 1:2),
    pairs = pairlist(a = 1, b = 2)
  )
  for (name in names(lists)) {
    x <- lists[[name]]
    path <- save_as(x, "riffle")
    plain <- unclass(as.list(x))
    for (i in sample(length(x), min(length(x), 60))) {
      expect(is_same(qs_read(path, select = i), plain[[i]]), sprintf("element %d of '%s' is another", i, name))
    }
    for (k in 1:5) {
      at <- sample(length(x), sample(c(0, 2:4), 1), replace = TRUE)
      expect_identical(qs_read(path, select = at), plain[at], info = name)
    }
    known <- setdiff(names(x), c("", NA))
    for (i in known[sample(length(known), min(length(known), 20))]) {
      expect(is_same(qs_read(path, select = i), plain[[i]]), sprintf("element '%s' of '%s' is another", i, name))
    }
    unlink(path)
  }
})

test_that("a path leads to what is inside", {
  frame <- example_frames(30)$plain
  x <- list(metrics = list(auc = 0.9, all = c(u = 1, v = 2, w = 3), none = NULL), frame = frame,
            list(list(1, "deep")), filler = runif(20000))
  for (format in c("riffle", "rds")) {
    path <- save_as(x, format)
    read <- function(...) qs_read(path, select = list(...))
    expect_identical(read("metrics", "auc"), 0.9)
    expect_identical(read("metrics", "all", "v"), 2)
    expect_identical(read("metrics", "all", c("w", "u")), c(w = 3, u = 1))
    expect_identical(read("metrics", c("none", "auc")), x$metrics[c("none", "auc")])
    expect_null(read("metrics", "none"))
    expect_identical(read(3, 1, 2), "deep")
    expect_identical(read("frame", "text", 3), frame$text[3])
    expect_identical(read("frame", c("text", "id")), frame[c("text", "id")])
    expect_identical(read("frame"), frame)
    expect_riffle_error(read("metrics", "au"), "argument", "its element 'metrics' has no element 'au'")
    expect_riffle_error(read("metrics", "auc", 1, 2), "argument", "its element 1 has no element 2, only 1")
    expect_riffle_error(read("metrics", "none", 1), "argument", "its element 'none' holds NULL, and `select`")
    unlink(path)
  }
  path <- save_as(frame, "riffle")
  expect_identical(qs_read(path, select = c("id", "text")), frame[c("id", "text")])
  expect_identical(qs_read(path, select = 2), frame[[2]])
})

test_that("what is not there is an error that names it and the file", {
  for (n in small_and_large) {
    x <- example_frames(n)$plain
    path <- save_as(x, "riffle")
    e <- expect_riffle_error(qs_read(path, columns = c("id", "none")), "argument",
                             sprintf("Can't read '%s': it has no column 'none'.", path))
    expect_identical(as.list(conditionCall(e))[[1]], quote(qs_read))
    expect_riffle_error(qs_read(path, columns = c(1, 10)), "argument", "it has no column 10, only 9")
    expect_riffle_error(qs_read(path, columns = "i"), "argument", "it has no column 'i'")
    expect_riffle_error(qs_read(path, columns = ""), "argument", "it has no column ''")
    expect_riffle_error(qs_read(path, select = "none"), "argument", "it has no element 'none'")
    expect_riffle_error(qs_read(path, select = c("id", "none")), "argument", "it has no element 'none'")
    unlink(path)
  }
  path <- save_as(list(a = 1, b = 2), "riffle")
  expect_riffle_error(qs_read(path, columns = "a"), "argument",
                      "it holds an object of class 'list' and length 2, and `columns` is for data frames")
  expect_riffle_error(qs_read(path, from = 1), "argument", "`from` and `to` are for data frames")
  qs_save(letters, path)
  expect_riffle_error(qs_read(path, columns = 1), "argument", "it holds an object of class 'character'")
  con <- rawConnection(qs_serialize(sum))
  expect_riffle_error(qs_read(con, select = 1), "argument",
                      "Can't read the connection: it holds a function, and `select` is for lists.")
  close(con)
  expect_riffle_error(qs_read(file.path(tempdir(), "none.rif"), columns = 1), "io")
  expect_riffle_error(qs_read(1, columns = 1), "argument", "`file`")
})

test_that("impossible arguments are errors before anything is read", {
  path <- file.path(tempdir(), "is not looked for.rif")
  for (columns in list(0, -1, 1.5, NA, NA_character_, TRUE, list("a"), c("a", "a"), c(2, 2), factor("a"), Inf)) {
    expect_riffle_error(qs_read(path, columns = columns), "argument", "`columns` must be")
  }
  for (row in list(0, -1, 1.5, NA, "1", c(1, 2), Inf)) {
    expect_riffle_error(qs_read(path, from = row), "argument", "`from` must be")
  }
  expect_riffle_error(qs_read(path, to = -1), "argument", "`to` must be")
  expect_riffle_error(qs_read(path, from = 5, to = 3), "argument", "`to` must be at least `from` - 1, not 3")
  for (select in list(0, NA, TRUE, list(), list(c("a", "b"), "c"), list(list("a")), list(character(), 1))) {
    expect_riffle_error(qs_read(path, select = select), "argument", "`select` must be")
  }
  expect_riffle_error(qs_read(path, select = 1, columns = 1), "argument", "`select` must be NULL")
  expect_riffle_error(qs_read(path, select = 1, to = 1), "argument", "`select` must be NULL")
  expect_riffle_error(qs_read(path, lazy = NA), "argument", "`lazy` must be")
  for (lazy in list("TRUE", NULL, c(TRUE, TRUE))) {
    expect_riffle_error(qs_read(path, lazy = lazy), "argument", "`lazy` must be")
  }
  expect_riffle_error(qs_read(path, lazy = TRUE, from = 1), "argument", "`lazy` must be FALSE where rows")
  expect_riffle_error(qs_read(path, lazy = TRUE, columns = 1, to = 1), "argument", "`lazy` must be FALSE")
})

test_that("columns whose class nobody knows keep their attributes", {
  labelled <- function(x) structure(x, class = c("labelled_by_none", "vctrs_by_none"), labels = c(yes = 1))
  for (n in small_and_large) {
    x <- data.frame(id = seq_len(n))
    x$label <- labelled(seq_len(n) + 0)
    x$list <- structure(as.list(seq_len(n)), class = "list_by_none", unit = "m")
    path <- save_as(x, "riffle")
    part <- qs_read(path, from = 3, to = 5)
    expect_identical(part$label, labelled(3:5 + 0))
    expect_identical(part$list, structure(list(3L, 4L, 5L), class = "list_by_none", unit = "m"))
    unlink(path)
  }
})

test_that("tibbles keep attributes and have compact row names", {
  set.seed(63)
  for (n in small_and_large) {
    frames <- example_tibbles(n)
    for (name in names(frames)) {
      x <- frames[[name]]
      path <- save_as(x, "riffle")
      for (range in some_ranges(n)) {
        columns <- sample(names(x), sample(0:length(x), 1))
        i <- rows_between(range, n)
        what <- sprintf("rows %.0f to %.0f of tibble '%s' of %d", range[1], range[2], name, n)
        expect_part(qs_read(path, columns = columns), x[columns], paste("columns", what))
        expect_part(qs_read(path, from = range[1], to = range[2]), x[i, ], what)
        expect_part(qs_read(path, columns = columns, from = range[1], to = range[2]), x[i, columns], what)
      }
      unlink(path)
    }
  }
})

test_that("grouped frames are grouped by what is there of their columns", {
  group_by <- from("dplyr", "group_by")
  rowwise <- from("dplyr", "rowwise")
  for (n in small_and_large) {
    x <- from("tibble", "as_tibble")(example_frames(n)$plain[c("id", "few", "same", "price")])
    for (grouped in list(group_by(x, few, same), group_by(x, same, .drop = FALSE), rowwise(x, id))) {
      path <- save_as(grouped, "riffle")
      expect_identical(qs_read(path, columns = c("same", "few", "id")), grouped[c("same", "few", "id")])
      expect_identical(qs_read(path, columns = c("same", "price")), grouped[c("same", "price")])
      expect_identical(qs_read(path, columns = "price"), grouped["price"])
      expect_identical(qs_read(path, from = 3, to = 30), grouped[3:30, ])
      expect_identical(qs_read(path, from = 3, to = 30, columns = c("id", "same")),
                       grouped[3:30, c("id", "same")])
      unlink(path)
    }
  }
})

test_that("without dplyr the groups are dropped, with a warning", {
  tibble <- from("tibble", "as_tibble")(example_frames(10)$plain)
  grouped <- from("dplyr", "group_by")(tibble, same)
  without <- mend_groups
  environment(without) <- list2env(list(has_package = function(package) FALSE), parent = environment(mend_groups))
  expect_warning(frame <- without(grouped), "its groups are dropped, as dplyr is not installed",
                 class = "riffle_warning")
  expect_identical(frame, tibble)
})

test_that("data.tables keep what holds of their key, and room for columns", {
  as_table <- from("data.table", "as.data.table")
  truelength <- from("data.table", "truelength")
  for (n in small_and_large) {
    x <- as_table(example_frames(n)$plain)
    from("data.table", "setkeyv")(x, c("few", "id"))
    from("data.table", "setindexv")(x, "price")
    path <- save_as(x, "riffle")
    compare <- function(part, expected) {
      attr(part, ".internal.selfref") <- attr(expected, ".internal.selfref") <- NULL
      attr(expected, "index") <- NULL
      expect_identical(part, expected)
    }
    subset <- function(i, j) from("data.table", "setDT")(as.data.frame(x)[i, j, drop = FALSE])
    keyed <- function(x, key) structure(x, sorted = key)
    part <- qs_read(path, columns = c("few", "text"))
    expect_gt(truelength(part), 2)
    compare(part, keyed(subset(seq_len(n), c("few", "text")), "few"))
    compare(qs_read(path, columns = c("id", "text")), subset(seq_len(n), c("id", "text")))
    compare(qs_read(path, from = 11, to = 40), keyed(subset(11:40, names(x)), c("few", "id")))
    opened <- qs_open(path)
    compare(opened[c(3, 1), c("few", "id")], subset(c(3, 1), c("few", "id")))
    compare(opened[c(2, 5), "few"], keyed(subset(c(2, 5), "few"), "few"))
    close(opened)
    unlink(path)
  }
})

test_that("sf frames keep their geometry", {
  st_sfc <- from("sf", "st_sfc")
  for (n in small_and_large %/% 10) {
    points <- st_sfc(lapply(seq_len(n), function(i) from("sf", "st_point")(c(i, i %% 7))))
    x <- from("sf", "st_sf")(a = seq_len(n), b = rep(letters, length.out = n), geometry = points,
                             agr = "constant")
    path <- save_as(x, "riffle")
    expect_identical(qs_read(path, columns = "b"), x["b"])
    expect_identical(qs_read(path, columns = c("geometry", "a")), x[c("geometry", "a")])
    expect_identical(qs_read(path, from = 2, to = 4), x[2:4, ])
    expect_identical(qs_read(path, columns = "a", from = 2, to = 4), x[2:4, "a"])
    opened <- qs_open(path)
    expect_identical(opened[c(3, 1), "a"], x[c(3, 1), "a"])
    close(opened)
    unlink(path)
  }
})

test_that("integer64 and units keep their class", {
  n <- 20000
  x <- data.frame(id = seq_len(n))
  x$large <- from("bit64", "as.integer64")(2^40 + seq_len(n))
  x$metres <- from("units", "set_units")(seq_len(n) / 8, "m", mode = "standard")
  path <- save_as(x, "riffle")
  expect_identical(qs_read(path, from = 17, to = 30), x[17:30, ])
  expect_identical(qs_read(path, columns = c("metres", "large")), x[c("metres", "large")])
  unlink(path)
  # nor does it need their packages
  path <- save_as(x, "riffle")
  part <- child(qs_read(path, from = 17, to = 30), path = path)
  expect_identical(part, x[17:30, ])
  unlink(path)
})

test_that("metadata is checked, and comes back from its bytes", {
  meta <- list(source = "survey 7", version = 2L, limits = c(0, 1))
  expect_identical(get_meta(check_meta(meta)), meta)
  expect_null(check_meta(NULL))
  expect_null(get_meta(NULL))
  bad <- list(list(1), list(a = 1, 2), list(a = 1, a = 2), "a", list(), list(f = mean), list(e = new.env()))
  for (meta in bad) expect_riffle_error(check_meta(meta), "argument", "`meta` must be a list of plain data")
  expect_riffle_error(check_meta(list(a = raw(2^20))), "argument", "`meta` must be of at most 1 MiB")
  path <- withr::local_tempfile(fileext = ".rds")
  expect_riffle_error(qs_save(1, path, meta = list(a = 1)), "argument", "`meta` must be NULL for")
  expect_false(file.exists(path))
})
