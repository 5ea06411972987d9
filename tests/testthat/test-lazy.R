read_lazy <- function(file, nthreads = 2L, ...) qs_read(file, nthreads = nthreads, ..., lazy = TRUE)

# The same, but an error where all has to be read at once.
lazy <- function(file, nthreads = 2L, data_only = FALSE) {
  riffle:::read_lazy(file, nthreads, data_only, function() stop("it is not lazy"))
}

# As .Internal(inspect(x)) tells: "not read", "as codes", "read", or "" for an ordinary vector.
state_of <- function(x) {
  line <- utils::capture.output(eval(quote(.Internal(inspect(x)))))[1]
  if (grepl("riffle: lazy, ", line)) sub(".*riffle: lazy, ", "", line) else ""
}

states_of <- function(x) vapply(seq_along(x), function(i) state_of(.subset2(x, i)), "")

n_rows <- 150000L

# Columns of more than one block each, but for the raw one.
frame_of_all <- local({
  made <- NULL
  function() {
    if (is.null(made)) {
      set.seed(6)
      made <<- withr::with_preserve_seed(make_frame(n_rows))
    }
    made
  }
})

make_frame <- function(n) {
  words <- c("pl\u00e4n", "", NA, "latin \xe9", "bytes \xff", "word")
  Encoding(words) <- c("UTF-8", "unknown", "unknown", "latin1", "bytes", "unknown")
  x <- data.frame(
    lgl = sample(c(TRUE, FALSE, NA), n, TRUE),
    int = sample(c(1:1000, NA), n, TRUE),
    dbl = sample(c(rnorm(1000), NA, NaN, Inf, -0), n, TRUE),
    few = sample(words, n, TRUE),
    many = sprintf("id-%06d", sample(n)),
    factor = factor(sample(LETTERS, n, TRUE)),
    date = as.Date("2020-01-01") + sample(2000, n, TRUE),
    time = as.POSIXct("2020-01-01", tz = "UTC") + runif(n, 0, 1e8)
  )
  x$cplx <- complex(real = rnorm(n), imaginary = sample(3, n, TRUE))
  x$raw <- as.raw(sample(0:255, n, TRUE))
  x$int64 <- structure(runif(n), class = "integer64")
  x
}

saved <- function(x, env = parent.frame(), ...) {
  file <- withr::local_tempfile(.local_envir = env, fileext = ".rif")
  qs_save(x, file, ...)
  file
}

open_files <- function(file) {
  skip_if_not(dir.exists("/proc/self/fd"), "needs /proc")
  sum(grepl(basename(file), Sys.readlink(list.files("/proc/self/fd", full.names = TRUE)),
            fixed = TRUE))
}

# Damages a byte in the last block of that part of the object, from 1.
damage <- function(file, part, n_parts) {
  bytes <- read_bytes(file)
  blocks <- blocks_of(bytes)
  runs <- which(blocks$kind %in% 2:3 & c(TRUE, blocks$kind[-nrow(blocks)] == 1))
  stopifnot(length(runs) == n_parts)
  at <- blocks$at[runs[part]] + blocks$len[runs[part]] - 1
  write_bytes(flip(bytes, at), file)
}

# Damages a byte in the last block of numbers.
damage_last <- function(file) {
  bytes <- read_bytes(file)
  blocks <- blocks_of(bytes)
  last <- blocks[max(which(blocks$kind == NUMBERS)), ]
  write_bytes(flip(bytes, last$at + last$len), file)
}

test_that("a frame of every type is lazy and identical to the original, both ways round", {
  x <- frame_of_all()
  file <- saved(x)
  l <- lazy(file)
  expect_identical(states_of(l), rep("not read", length(x)))
  expect_identical(lapply(l, length), lapply(x, length))
  expect_identical(lapply(l, class), lapply(x, class))
  expect_identical(lapply(l, attributes), lapply(x, attributes))
  expect_identical(states_of(l), rep("not read", length(x)))
  expect_true(is_same(l, x))
  expect_true(is_same(x, lazy(file)))
  expect_true(is_same(lazy(file), lazy(file, nthreads = 1L)))
  expect_true(is_same(lazy(file, data_only = TRUE), x))
  expect_identical(states_of(read_lazy(file)), rep("not read", length(x)))
  expect_identical(states_of(read_lazy(file, validate_checksum = TRUE)), rep("not read", length(x)))
  expect_identical(live_calls(), 0L)
})

test_that("strings with few distinct values stay codes until they are wanted side by side", {
  x <- frame_of_all()
  l <- lazy(saved(x))
  expect_identical(l$few[7], x$few[7])
  expect_identical(l$many[7], x$many[7])
  expect_identical(state_of(l$few), "as codes")
  expect_identical(state_of(l$many), "read")
  expect_identical(Encoding(l$few[1:1000]), Encoding(x$few[1:1000]))
  expect_identical(state_of(l$few), "as codes")
  expect_identical(sort(l$few[!is.na(l$few)], method = "radix"),
                   sort(x$few[!is.na(x$few)], method = "radix"))
  expect_identical(rev(l$few), rev(x$few))
})

test_that("each element by itself is the same, before anything else is read", {
  x <- frame_of_all()
  file <- saved(x)
  for (name in names(x)) {
    l <- lazy(file)
    at <- c(1L, n_rows, 77777L)
    expect_identical(l[[name]][[at[3]]], x[[name]][[at[3]]], info = name)
    expect_identical(l[[name]][at], x[[name]][at], info = name)
    expect_identical(sum(states_of(l) == "not read"), length(x) - 1L, info = name)
  }
})

test_that("subsets, arithmetic and summaries are those of the original", {
  x <- frame_of_all()
  file <- saved(x)
  uses <- list(
    function(d) d[d$int > 500 & !is.na(d$int), ],
    function(d) d[c(5, n_rows, 1), c("few", "dbl")],
    function(d) d[-(1:(n_rows - 9L)), ],
    function(d) head(d, 3),
    function(d) tail(d, 3),
    function(d) d$int + 1L,
    function(d) d$dbl * d$int,
    function(d) sum(d$int, na.rm = TRUE),
    function(d) mean(d$dbl, na.rm = TRUE),
    function(d) range(d$date),
    function(d) as.numeric(d$int),
    function(d) as.character(d$int),
    function(d) as.integer(d$few == "word"),
    function(d) is.na(d$few),
    function(d) anyNA(d$lgl),
    function(d) which(d$lgl),
    function(d) match("word", d$few),
    function(d) match(d$many[9], d$many),
    function(d) unique(d$few),
    function(d) duplicated(d$many),
    function(d) order(d$many),
    function(d) order(d$int),
    function(d) sort(d$int),
    function(d) table(d$factor, d$lgl),
    function(d) tapply(d$int, d$factor, sum, na.rm = TRUE),
    function(d) nchar(d$many),
    function(d) nchar(d$few, "bytes"),
    function(d) d$few == d$few[2],
    function(d) paste(d$many, d$int)[1:9],
    function(d) c(d$raw, d$raw),
    function(d) rev(d$cplx),
    function(d) summary(d$time),
    function(d) levels(d$factor),
    function(d) as.list(d)$int64,
    function(d) rbind(d[1:3, ], d[4:5, ]),
    function(d) utils::capture.output(str(d)),
    function(d) utils::capture.output(print(utils::head(d))),
    function(d) lapply(split(d$int, d$factor), length),
    function(d) merge(d[1:20, c("int", "many")], d[1:20, c("many", "dbl")]),
    function(d) object.size(d),
    function(d) all.equal(d, x)
  )
  for (use in uses) {
    expect_identical(use(lazy(file)), use(x), info = deparse(body(use))[1])
  }
  expect_true(all.equal(x, lazy(file)))
})

test_that("a change is made to one object alone", {
  x <- frame_of_all()
  file <- saved(x)
  before <- read_bytes(file)
  new <- list(lgl = NA, int = -5L, dbl = 0.5, few = "new", many = "new", cplx = 1i, raw = as.raw(9))
  for (name in names(new)) {
    l <- lazy(file)
    other <- l
    column <- l[[name]]
    l[[name]][5] <- new[[name]]
    y <- x
    y[[name]][5] <- new[[name]]
    expect_true(is_same(l, y), info = name)
    expect_true(is_same(other, x), info = name)
    expect_true(is_same(column, x[[name]]), info = name)
  }
  changes <- list(
    function(d) { names(d)[2] <- "other"; d },
    function(d) { attr(d$dbl, "unit") <- "m"; d },
    function(d) { v <- d$int; dim(v) <- c(2L, n_rows / 2L); v },
    function(d) { levels(d$factor) <- letters; d },
    function(d) { class(d$date) <- NULL; d },
    function(d) { names(d$many) <- d$few; d },
    function(d) { d$int <- NULL; d },
    function(d) { d$few[d$few == "word"] <- NA; d },
    function(d) { d[3:4, "many"] <- c("x", NA); d },
    function(d) { is.na(d$dbl) <- 1:3; d },
    function(d) { d$sum <- d$int + d$dbl; d },
    function(d) { storage.mode(d$int) <- "double"; d },
    function(d) { for (i in 1:3) d$int[i] <- i; for (i in 1:3) d$few[[i]] <- "z"; d }
  )
  for (change in changes) {
    l <- lazy(file)
    other <- l
    expect_true(is_same(change(l), change(x)), info = deparse(body(change))[2])
    expect_true(is_same(other, x), info = deparse(body(change))[2])
  }
  expect_identical(read_bytes(file), before)
})

test_that("an attribute set on a column that others hold leaves it lazy", {
  x <- frame_of_all()
  l <- lazy(saved(x))
  for (name in c("dbl", "few")) {
    column <- l[[name]]
    attr(column, "unit") <- "m"
    expect_identical(state_of(l[[name]]), "not read")
    expect_identical(marshall(column), serialize(column, NULL, xdr = FALSE))
    expect_true(is_same(column, structure(x[[name]], unit = "m")))
    expect_true(is_same(unserialize(serialize(column, NULL)), column))
    expect_true(is_same(l[[name]], x[[name]]))
  }
})

test_that("a handler may read the column whose reading called it", {
  x <- list(a = runif(1e5))
  file <- saved(x)
  bytes <- read_bytes(file)
  damage(file, 1, 1)
  l <- lazy(file)
  handle <- function(e) {
    con <- file(file, "r+b")
    writeBin(bytes, con)
    close(con)
    sum(l$a)
  }
  got <- NULL
  tryCatch(withCallingHandlers(l$a[1], riffle_error = function(e) got <<- handle(e)),
           riffle_error = identity)
  expect_identical(got, sum(x$a))
  expect_identical(l$a, x$a)
  expect_identical(open_files(file), 0L)
  expect_identical(live_calls(), 0L)
})

test_that("frames in lists, attributes and wrappers are lazy, too", {
  set.seed(7)
  a <- data.frame(x = rnorm(30000), y = sample(letters, 30000, TRUE))
  x <- list(
    a = a, list(deep = list(a[30000:1, ], NULL)), short = 1:10,
    sorted = sort(runif(30000)), texts = as.character(seq(2, 60000, 2)),
    keyed = structure(1:3, key = runif(20000)), pairs = pairlist(p = runif(20000), q = 1),
    matrix = matrix(runif(40000), 4, dimnames = list(letters[1:4], NULL)), bits = raw(600000)
  )
  file <- saved(x)
  stream <- serialize(qs_read(file), NULL)
  expect_true(is_same_stream(serialize(lazy(file), NULL), stream))
  expect_true(is_same(lazy(file), x))
  l <- lazy(file)
  expect_identical(states_of(l$a), rep("not read", 2))
  expect_identical(states_of(l[[2]]$deep[[1]]), rep("not read", 2))
  expect_identical(state_of(l$matrix), "not read")
  expect_identical(state_of(l$bits), "not read")
  expect_identical(state_of(l$short), "")
  expect_identical(l$sorted[7], x$sorted[7])
  expect_identical(l$matrix["b", ], x$matrix["b", ])
})

test_that("a vector that is the whole object is lazy, and so are the last parts of a list", {
  for (x in list(runif(1e5), sprintf("s%d", 1:1e5), structure(runif(1e5), a = 1),
                 list(1, runif(1e5)), list(1:3, rep(c("a", "b"), 5e4)),
                 expression(a, b)[c(rep(1, 9))])) {
    file <- saved(x)
    expect_true(is_same(read_lazy(file), x))
    expect_true(is_same(x, read_lazy(file)))
  }
  file <- saved(runif(1e5))
  expect_identical(state_of(lazy(file)), "not read")
})

test_that("what cannot be lazy is read as ever", {
  small <- list(a = 1:3, b = letters)
  big <- list(f = function(x) x, v = runif(1e5))
  environment(big$f) <- globalenv()
  for (x in list(NULL, 1, small)) expect_identical(read_lazy(saved(x)), x)
  expect_identical(read_lazy(saved(big))$v, big$v)
  rds <- withr::local_tempfile()
  saveRDS(small, rds)
  expect_identical(read_lazy(rds), small)
  expect_error(lazy(rds), "not lazy")
  expect_identical(read_lazy(con <- rawConnection(qs_serialize(small))), small)
  close(con)
  expect_identical(read_lazy(saved(small), refhook = function(x) NULL), small)
  expect_riffle_error(read_lazy(withr::local_tempfile()), "io")
  expect_riffle_error(read_lazy(local_file(as.raw(1:100))), "format")
})

test_that("a string too long for a block is read with its column, the others stay lazy", {
  x <- data.frame(a = runif(5e4), s = rep(c("u", "v"), 25000), t = rep(c("w", "v"), 25000),
                  b = runif(5e4))
  x$s[c(7, 30000)] <- strrep("long", 20000)
  file <- saved(x)
  l <- lazy(file)
  expect_identical(states_of(l), c("not read", "", "not read", "not read"))
  expect_true(is_same(l, x))
  x$s[1] <- strrep("first", 20000)
  expect_true(is_same(read_lazy(saved(x)), x))
})

test_that("our functions and R's write the same bytes of a lazy object as of an ordinary one", {
  x <- frame_of_all()
  file <- saved(x)
  eager <- qs_read(file)
  other <- withr::local_tempfile()
  uses <- list(
    function(d) serialize(d, NULL),
    function(d) serialize(d, NULL, version = 2),
    function(d) { saveRDS(d, other, compress = FALSE); read_bytes(other) },
    function(d) { qs_save(d, other); read_bytes(other) },
    qs_serialize, marshall, calc_size, qs_hash, riffle:::is_plain,
    function(d) qs_sizes(d)$bytes
  )
  for (i in seq_along(uses)) expect_identical(uses[[i]](lazy(file)), uses[[i]](eager), info = i)
  l <- lazy(file)
  qs_hash(l)
  expect_identical(state_of(l$few), "as codes")
  # over the file itself
  l <- lazy(file)
  qs_save(l, file)
  expect_true(is_same(qs_read(file), x))
  expect_identical(live_calls(), 0L)
})

test_that("other processes get ordinary vectors, and forked ones read for themselves", {
  x <- frame_of_all()
  file <- saved(x)
  l <- lazy(file)
  expect_identical(child({ list(l$few, l$int) }, l = l), list(x$few, x$int))
  skip_on_os("windows")
  l <- lazy(file)
  got <- parallel::mclapply(names(x), function(name) l[[name]][], mc.cores = 2)
  expect_true(is_same(got, unname(lapply(x, function(column) column[]))))
  expect_identical(states_of(l), rep("not read", length(x)))
  expect_true(is_same(l, x))
})

test_that("the file may be replaced or deleted, and is closed when nothing needs it", {
  skip_on_os("windows")
  x <- frame_of_all()
  file <- saved(x)
  before <- open_files(file)
  l <- lazy(file)
  expect_identical(open_files(file), before + 1L)
  qs_save("another", file)
  expect_identical(l$int[3], x$int[3])
  unlink(file)
  expect_identical(l$few[3], x$few[3])
  expect_identical(open_files(file), before + 1L)
  expect_true(is_same(l, x))
  expect_identical(open_files(file), before)

  file <- saved(x)
  l <- lazy(file)
  expect_identical(open_files(file), 1L)
  l$int[1]
  rm(l)
  gc()
  gc()
  expect_identical(open_files(file), 0L)
})

test_that("damage is an error at the touch that names column and file; the rest can be read", {
  x <- list(a = runif(1e5), in_list = list(data.frame(s = rep(c("p", "q"), 5e4), i = sample(1e5))),
            runif(1e5))
  for (part in 1:4) {
    file <- saved(x)
    damage(file, part, 4)
    l <- lazy(file)
    touch <- list(function() l$a[1], function() l$in_list[[1]]$s[1],
                  function() sum(l$in_list[[1]]$i), function() l[[3]] * 2)
    name <- c("element 'a'", "column 'in_list[[1]]$s'", "column 'in_list[[1]]$i'",
              "element '[[3]]'")
    for (i in seq_along(touch)) {
      if (i != part) expect_identical(outcome(touch[[i]]()), "a value")
    }
    for (again in 1:2) {
      e <- expect_riffle_error(touch[[part]](), "corrupt", "(checksum differs)")
      expect_match(conditionMessage(e), sprintf("Can't read %s of '%s': block ", name[part], file),
                   fixed = TRUE)
    }
    # an error inside qs_save() leaves what was there
    kept <- saved("kept")
    expect_riffle_error(qs_save(l, kept), "corrupt", "(checksum differs)")
    expect_identical(qs_read(kept), "kept")
    expect_identical(files_in(dirname(kept))[startsWith(files_in(dirname(kept)), basename(kept))],
                     basename(kept))
    expect_riffle_error(qs_hash(l), "corrupt")
    expect_riffle_error(marshall(l), "corrupt")
    expect_error(serialize(l, NULL), class = "riffle_error_corrupt")
  }
})

test_that("an error names its column whatever the encoding", {
  skip_if_not_utf8()
  x <- list(runif(1e5), runif(1e5))
  names(x) <- c("pl\u00e4n", "b\xff")
  Encoding(names(x)) <- c("UTF-8", "bytes")
  name <- c("element 'pl\u00e4n'", "element '[[2]]'")
  for (part in 1:2) {
    file <- saved(x)
    damage(file, part, 2)
    expect_riffle_error(lazy(file)[[part]][1], "corrupt", sprintf("read %s of '", name[part]))
  }
})

test_that("long attributes are lazy, but for the names of lists", {
  set.seed(8)
  ids <- sprintf("id-%06d", sample(20000))
  x <- list(
    named = setNames(runif(20000), ids),
    matrix = matrix(1:40000, 20000, dimnames = list(ids, c("a", "b"))),
    factor = factor(sample(ids, 30000, TRUE), levels = ids),
    frame = data.frame(v = runif(20000), row.names = ids),
    rows = data.frame(v = 1:20000)[sample(20000), , drop = FALSE],
    series = ts(runif(20000), start = 1900, frequency = 12)
  )
  file <- saved(x)
  l <- lazy(file)
  expect_identical(state_of(names(l$named)), "not read")
  expect_identical(state_of(levels(l$factor)), "not read")
  expect_identical(l$named["id-000007"], x$named["id-000007"])
  expect_identical(l$matrix["id-000007", ], x$matrix["id-000007", ])
  expect_identical(l$frame["id-000007", ], x$frame["id-000007", ])
  expect_identical(window(l$series, 1950, 1951), window(x$series, 1950, 1951))
  expect_true(is_same(l, x))
  expect_true(is_same(x, lazy(file)))
  expect_identical(serialize(lazy(file), NULL), serialize(qs_read(file), NULL))
  expect_identical(marshall(lazy(file)), marshall(qs_read(file)))
  long <- c(as.list(setNames(1:20000, ids)), list(big = runif(20000)))
  file <- saved(long)
  l <- lazy(file)
  expect_identical(state_of(names(l)), "")
  expect_identical(state_of(l$big), "not read")
  expect_true(is_same(l, long))
  damage_last(file)
  expect_riffle_error(lazy(file)$big[1], "corrupt", "read element 'big' of '")
})

test_that("a damaged index, or blocks between the vectors, are told as by a whole read", {
  x <- frame_of_all()
  file <- saved(x)
  bytes <- read_bytes(file)
  blocks <- blocks_of(bytes)
  index <- blocks[blocks$kind == 4, ]
  write_bytes(flip(bytes, index$at[1] + 40), file)
  expect_warning(l <- read_lazy(file), "index is damaged")
  expect_true(is_same(l, x))
  first <- blocks[blocks$kind == 1, ][2, ]
  write_bytes(flip(bytes, first$at + first$len), file)
  expect_riffle_error(read_lazy(file), "corrupt", "(checksum differs)")
  write_bytes(head(bytes, -1), file)
  expect_riffle_error(read_lazy(file), "corrupt", "truncated")
})

test_that("limits and data_only hold for lazy objects as for others", {
  file <- saved(list(runif(1e5), runif(1e5)))
  withr::with_options(list(riffle.max_bytes = 1e6), {
    expect_riffle_error(read_lazy(file), "limit")
  })
  file <- saved(list(globalenv(), runif(1e5)))
  expect_riffle_error(read_lazy(file, data_only = TRUE), "data_only")
  expect_identical(state_of(lazy(file)[[2]]), "not read")
})

test_that("columns are read under gctorture as well", {
  skip_on_cran()
  x <- list(d = runif(40000), s = rep(c("a", NA, "\u00e4"), 5000), m = sprintf("%05d", 1:9000))
  file <- saved(x)
  stream <- serialize(x, NULL)
  gctorture2(20)
  on.exit(gctorture2(0))
  l <- lazy(file)
  # element by element: the garbage collector is off while R asks for all at once
  first <- l$s[1:3]
  expect_identical(l$m[[2]], "00002")
  l$m[4] <- "new"
  total <- sum(l$d)
  gctorture2(0)
  expect_identical(total, sum(x$d))
  expect_identical(first, x$s[1:3])
  x$m[4] <- "new"
  expect_true(is_same(l, x))
})

test_that("dplyr and data.table work on lazy frames", {
  x <- frame_of_all()[c("int", "dbl", "few", "many", "factor", "date", "lgl")]
  x$few[Encoding(x$few) == "bytes"] <- "neither package takes such"
  file <- saved(x)
  if (requireNamespace("data.table", quietly = TRUE)) {
    uses <- list(
      data.table::as.data.table,
      function(d) data.table::setorderv(data.table::as.data.table(d), c("factor", "int")),
      function(d) {
        d <- data.table::as.data.table(d[1:1000, ])
        data.table::dcast(d, factor ~ lgl, length, value.var = "int")
      },
      function(d) { data.table::setDT(d); data.table::set(d, 5L, "int", 7L); as.data.frame(d) },
      function(d) { data.table::setDT(d); data.table::setkeyv(d, "many"); as.data.frame(d) },
      function(d) data.table::rbindlist(list(d, d))$few,
      function(d) data.table::uniqueN(d$many)
    )
    for (i in seq_along(uses)) {
      expect_equal(uses[[i]](lazy(file)), uses[[i]](qs_read(file)), info = paste("data.table", i))
    }
  }
  skip_if_not_installed("dplyr")
  uses <- list(
    function(d) dplyr::count(d, few),
    function(d) dplyr::arrange(d, many),
    function(d) dplyr::mutate(d, twice = int * 2L, up = toupper(many)),
    function(d) dplyr::slice(d, 5:9),
    function(d) dplyr::summarise(dplyr::group_by(d, factor), m = mean(int), k = dplyr::n()),
    function(d) dplyr::left_join(d[1:50, ], d[1:50, c("many", "dbl")], by = "many"),
    function(d) dplyr::bind_rows(d, d),
    function(d) dplyr::as_tibble(d)
  )
  for (i in seq_along(uses)) {
    expect_identical(uses[[i]](lazy(file)), uses[[i]](x), info = paste("dplyr", i))
  }
})
