# The builder: R/read.R and R/marshall.R for plain data, and `data_only`.

as_stream <- function(x, ...) serialize(x, NULL, xdr = FALSE, ...)

# What base R makes of it, as a stream: encodings, ALTREP classes and flags are told apart.
expected_stream <- function(x) suppressWarnings(as_stream(unserialize(as_stream(x))))

words <- function(...) writeBin(as.integer(c(...)), raw(), endian = "little")

stream_header <- function() head(as_stream(NULL), -4)

stream_of <- function(...) c(stream_header(), ...)

more_objects <- function() {
  objects <- list(
    "an S4 instance" = methods::new("classRepresentation"),
    "an S4 generic's signature" = structure(1:3, class = structure("s", package = "p")),
    "an S4 list" = asS4(list(1)),
    "an S4 number with a class" = asS4(structure(1, class = "s")),
    "a pairlist of pairlists" = pairlist(a = pairlist(1, b = 2), structure(pairlist(3), note = "n")),
    "one-dimensional, with names" = structure(1:3, dim = 3L, dimnames = list(letters[1:3])),
    "dimnames before dim" = structure(matrix(1:4, 2), z = 1),
    "row names that are numbers" = structure(list(v = 1:3), row.names = c(2L, 3L, 4L), class = "data.frame"),
    "row names of a vector" = structure(1:3, row.names = c("a", "b", "c")),
    "a class among others" = structure(1, a = 1, class = c("x", "y"), b = 2),
    "many attributes" = do.call(structure, c(list(1), stats::setNames(as.list(1:30), paste0("a", 1:30)))),
    "attributes of attributes" = structure(1, a = structure(2, b = structure(3, names = "n", c = list(4)))),
    "a data frame in each of many" = lapply(1:200, function(i) data.frame(a = i, b = letters[i %% 26 + 1])),
    "many small lists" = lapply(1:2000, function(i) list(id = i, name = paste0("n", i %% 300), v = c(1, 2))),
    "a deep list" = nested_list(500),
    "a long pairlist" = as.pairlist(structure(as.list(1:20000), names = rep(c("a", ""), 10000))),
    "a list of one number many times" = rep(list(1), 5000),
    "strings of every length" = strrep("x", 0:300),
    "strings around the cache's limit" = rep(c(strrep("a", 14:18), strrep("b", 14:18), "", NA), 50)
  )
  if (requireNamespace("data.table", quietly = TRUE))
    objects[["a data table"]] <- data.table::data.table(a = 1:3, b = letters[1:3], key = "a")
  if (requireNamespace("bit64", quietly = TRUE)) objects[["a long integer"]] <- bit64::as.integer64(2)^40
  objects
}

all_objects <- function() c(example_objects(), example_altrep(), more_objects())

datasets_of_r <- function() {
  items <- utils::data(package = "datasets")$results[, "Item"]
  names <- unique(sub(" .*", "", items))
  mget(names, as.environment("package:datasets"), ifnotfound = list(NULL))
}

test_that("unmarshall() gives what unserialize() gives, for every type and dataset", {
  values <- c(all_objects(), datasets_of_r())
  for (i in seq_along(values)) {
    got <- suppressWarnings(as_stream(unmarshall(marshall(values[[i]]))))
    expect(is_same_stream(got, expected_stream(values[[i]])), paste(names(values)[i], "differs."))
  }
})

test_that("plain data comes back from files the same, whatever codec, filter and threads", {
  values <- c(all_objects(), datasets_of_r())
  ways <- expand.grid(codec = c("zstd", "lz4", "none"), shuffle = c(TRUE, FALSE), nthreads = c(1, 2, 3, 8),
                      stringsAsFactors = FALSE)
  for (i in seq_along(values)) {
    expected <- expected_stream(values[[i]])
    for (way in sample(nrow(ways), 4)) {
      w <- ways[way, ]
      bytes <- qs_serialize(values[[i]], codec = w$codec, shuffle = w$shuffle, nthreads = w$nthreads)
      got <- tryCatch(as_stream(qs_deserialize(bytes, nthreads = w$nthreads, data_only = TRUE)),
                      riffle_error_data_only = function(e) expected)
      expect(is_same_stream(got, expected),
             paste(names(values)[i], "differs:", w$codec, w$shuffle, w$nthreads))
    }
  }
  expect_identical(live_calls(), 0L)
})

test_that("a long vector of every type comes back, with attributes, from each kind of block", {
  n <- 2e5
  set.seed(1)
  x <- list(structure(runif(n), names = as.character(seq_len(n))), sample(10L, n, TRUE),
            structure(complex(n, 1, 2), dim = c(2L, n / 2)), as.raw(sample(0:255, n, TRUE)),
            factor(sample(letters, n, TRUE)), sample(c(TRUE, NA), n, TRUE), sprintf("s%06d", seq_len(n)),
            1:n, structure(list(v = runif(n)), row.names = c(NA, -as.integer(n)), class = "data.frame"))
  for (nthreads in c(1, 2, 8)) {
    bytes <- qs_serialize(x, nthreads = nthreads)
    expect_true(is_same(qs_deserialize(bytes, nthreads = nthreads, data_only = TRUE), x))
  }
  expect_true(is_same(unmarshall(marshall(x)), x))
})

test_that("a value that was built can be changed without a copy", {
  skip_if_not(capabilities("profmem"))
  x <- unmarshall(marshall(list(a = runif(1000), b = "x")))
  copied <- capture.output({
    tracemem(x[[1]])
    x[[1]][2] <- 1
    untracemem(x[[1]])
  })
  expect_false(any(grepl("^tracemem", copied)))
})

# ---- depth and length ---------------------------------------------------------------------

test_that("lists nested a million deep are built, and a pairlist's heads and attributes as deep", {
  deep <- child({
    header <- head(serialize(NULL, NULL, xdr = FALSE), -4)
    words <- function(...) writeBin(as.integer(c(...)), raw(), endian = "little")
    x <- unmarshall(c(header, rep(words(19, 1), 1e6), words(254)))
    depth <- 0
    while (is.list(x)) {
      x <- x[[1]]
      depth <- depth + 1
    }
    pairs <- unmarshall(c(header, rep(words(2), 1e6), words(254), rep(words(254), 1e6)))
    n <- 1e5
    name <- c(words(1, 0x40009, 1), charToRaw("a"))
    notes <- unmarshall(c(header, words(0x20d, 0, 0x402), name, rep(words(0x20d, 0, 0x402, 0x1ff), n),
                          words(254), rep(words(254), n + 1)))
    c(depth, length(pairs), typeof(notes))
  })
  expect_identical(deep, c("1e+06", "1", "integer"))
})

test_that("a pairlist of 300,000 cells comes back", {
  x <- as.pairlist(as.list(1:3e5))
  expect_true(is_same(unmarshall(marshall(x)), x))
  expect_true(is_same(qs_deserialize(qs_serialize(x), data_only = TRUE), x))
})

test_that("a length beyond the stream is corrupt, before anything is allocated", {
  huge <- list(words(2147483647), words(-1, 256, 0), words(-1, 1048576, 0), words(-2), words(-1, -1, -1))
  for (type in c(10, 13, 14, 15, 16, 19, 20, 24)) for (len in huge) {
    bytes <- stream_of(words(type), len, raw(64))
    expect_identical(outcome(unmarshall(bytes)), "corrupt")
    expect_identical(outcome(unmarshall(bytes, data_only = TRUE)), "corrupt")
  }
  string <- function(...) stream_of(words(16, 1, ...), raw(8))
  expect_identical(outcome(unmarshall(string(0x40009, 1e9))), "corrupt")
  expect_identical(outcome(unmarshall(string(0x40009, -2))), "corrupt")
  expect_identical(outcome(unmarshall(string(13, 1, 1))), "corrupt")
})

# ---- streams that nobody wrote ------------------------------------------------------------

test_that("what R's own writer never writes is corrupt", {
  text <- function(s) c(words(0x40009, nchar(s)), charToRaw(s))
  streams <- list(
    "a reference to nothing" = stream_of(words(19, 1, 0x1ff)),
    "a reference to nothing, in a word" = stream_of(words(0xff, 5)),
    "an empty name" = stream_of(words(1, 0x40009, 0)),
    "a NUL in a string" = stream_of(words(16, 1, 0x40009, 2), as.raw(c(97, 0))),
    "a tag that is no name" = stream_of(words(0x402, 13, 1, 1, 254, 254)),
    "a missing end" = stream_of(words(2, 254))
  )
  for (name in names(streams)) {
    expect_identical(outcome(unmarshall(streams[[name]], data_only = TRUE)), "corrupt", info = name)
  }
})

test_that("an ALTREP state that its class does not write is refused", {
  symbol <- function(s) c(words(1, 0x40009, nchar(s)), charToRaw(s))
  altrep <- function(class, type, state, package = "base") {
    stream_of(words(238, 2), symbol(class), words(2), symbol(package), words(2, 13, 1, type, 254), state,
              words(254))
  }
  doubles <- function(...) c(words(14, length(c(...))), writeBin(c(...), raw(), endian = "little"))
  sequence <- function(...) outcome(unmarshall(altrep("compact_intseq", 13, doubles(...)), data_only = TRUE))
  expect_identical(sequence(3, 1, 1), "a value")
  for (bad in list(c(1, 1), c(-1, 1, 1), c(3, 1, 2), c(3, 2^31, 1), c(2^33, 1, 1), c(NaN, 1, 1), c(3, NaN, 1),
                   c(3, 0.5, 1), c(Inf, 1, 1), c(3, 1, 0), c(3, -2147483647, -1))) {
    expect_identical(sequence(bad), "data_only", info = paste(bad, collapse = " "))
  }
  others <- list(
    altrep("compact_intseq", 13, words(13, 3, 1, 2, 3)), altrep("compact_intseq", 14, doubles(3, 1, 1)),
    altrep("compact_realseq", 14, words(254)), altrep("deferred_string", 16, words(254)),
    altrep("deferred_string", 16, words(2, 254, 254)), altrep("wrap_integer", 13, words(2, 13, 0, 254)),
    altrep("wrap_integer", 13, words(2, 13, 0, 13, 1, 1)), altrep("wrap_real", 14, words(2, 13, 0, 13, 2, 1, 1)),
    altrep("mmap_real", 14, doubles(1)), altrep("compact_intseq", 13, doubles(3, 1, 1), "other")
  )
  for (bytes in others) expect_identical(outcome(unmarshall(bytes, data_only = TRUE)), "data_only")
})

test_that("a stream with any byte changed is an error or a value, never a crash", {
  skip_on_cran()
  values <- list(
    structure(list(id = 1:3, f = factor(c("a", "b", "a")), s = c("x", NA, "\u00e9"), d = c(1, NA, -0)),
              class = "data.frame", row.names = c(NA, -3L)),
    list(a = 1:10 + 0L, b = as.character(1:3), c = pairlist(x = 1, 2), d = quote(n), e = NULL, f = 1:5),
    matrix(1:4, 2, dimnames = list(c("r", "s"), NULL)), structure(1, tsp = c(1, 1, 1), comment = "c"),
    asS4(structure(list(1i, as.raw(1), TRUE), class = "q", slot = "s"))
  )
  survived <- child({
    for (x in values) {
      bytes <- serialize(x, NULL, xdr = FALSE)
      for (at in seq(3, length(bytes))) for (mask in c(1, 2, 8, 128, 255)) {
        changed <- bytes
        changed[at] <- xor(changed[at], as.raw(mask))
        # without data_only what is not plain goes to R's own reader, which does crash
        got <- suppressWarnings(try(unmarshall(changed, data_only = TRUE), silent = TRUE))
        if (length(got) < 1e6) try(serialize(got, NULL), silent = TRUE)
      }
    }
    gc()
    TRUE
  }, values = values, seconds = 300)
  expect_identical(survived, TRUE)
})

test_that("a plain stream cut at any byte is corrupt with data_only, too", {
  bytes <- marshall(list(a = 1:3, b = "x", c = structure(2, class = "k")))
  expect_outcomes(seq_len(length(bytes) - 1), function(n) unmarshall(bytes[seq_len(n)], data_only = TRUE),
                  c("corrupt", "format"))
})

# ---- data_only ----------------------------------------------------------------------------

test_that("data_only refuses what is not data by the name of its type", {
  value <- function(x) list(1, "a", x)
  refused <- list(
    environment = new.env(), environment = globalenv(), environment = emptyenv(), environment = baseenv(),
    namespace = asNamespace("stats"), namespace = .BaseNamespaceEnv, closure = function() 1,
    language = quote(f(x)), builtin = sum, special = `if`, bytecode = compiler::compile(quote(a + b)),
    language = y ~ x, language = expression(a + b)
  )
  path <- withr::local_tempfile(fileext = ".rif")
  for (i in seq_along(refused)) {
    x <- value(refused[[i]])
    qs_save(x, path)
    for (read in list(function() qs_read(path, data_only = TRUE),
                      function() qs_deserialize(qs_serialize(x), data_only = TRUE),
                      function() unmarshall(marshall(x), data_only = TRUE))) {
      expect_riffle_error(read(), "data_only", names(refused)[i])
    }
    expect_riffle_error(qs_read(path, data_only = TRUE), "data_only", path)
  }
  noted <- structure(1, note = function() 1)
  expect_riffle_error(unmarshall(marshall(noted), data_only = TRUE), "data_only", "closure")
})

test_that("data_only refuses pointers, weak references and what a refhook stands for", {
  symbol <- c(words(1, 0x40009, 1), charToRaw("a"))
  streams <- list(externalptr = words(22, 254, 254), weakref = words(23), refhook = c(words(247, 0, 1, 0x40009, 1), charToRaw("x")),
                  promise = c(words(5), symbol, words(254)), "..." = words(17, 254, 254),
                  environment = words(4, 0, 253, 254, 254, 254), unbound = words(252),
                  unknown = words(231))
  for (name in names(streams)) {
    bytes <- stream_of(words(19, 1), streams[[name]])
    class <- if (name == "unknown") "corrupt" else "data_only"
    expect_riffle_error(unmarshall(bytes, data_only = TRUE), class, name)
  }
})

test_that("data_only says what it accepts", {
  expect_riffle_error(unmarshall(marshall(sum), data_only = TRUE), "data_only",
                      "it holds a function (builtin), and `data_only = TRUE` accepts plain data only.")
  expect_identical(unmarshall(serialize(1, NULL), data_only = TRUE), 1)
  expect_riffle_error(unmarshall(serialize(1, NULL, ascii = TRUE), data_only = TRUE), "data_only",
                      "it is not in one of R's binary formats, as marshall() and serialize() make them.")
  expect_riffle_error(unmarshall(marshall(1), data_only = NA), "argument",
                      "`data_only` must be TRUE or FALSE, not NA.")
})

test_that("data_only takes all that is data", {
  values <- c(example_atomics(), example_long_vectors(), example_encodings(), example_attributes(), more_objects())
  is_data <- function(x) !any(c("language", "closure", "environment", "externalptr") %in% types_in(x))
  types_in <- function(x) {
    c(typeof(x), if (is.list(x) || is.pairlist(x) || is.expression(x)) unlist(lapply(as.list(unclass(x)), types_in)),
      unlist(lapply(attributes(x), types_in)))
  }
  for (name in setdiff(names(values), "a deep list")) {
    if (!is_data(values[[name]])) next
    expect_identical(outcome(unmarshall(marshall(values[[name]]), data_only = TRUE)), "a value", info = name)
  }
})

test_that("an unmarked string of another encoding is converted as base R does", {
  skip_if_not_utf8()
  x <- list(native("\u00e9t\u00e9"), native("caf\u00e9"), "ascii")
  bytes <- as_stream(x)
  other <- c(bytes[1:14], words(10), charToRaw("ISO-8859-1"), bytes[-(1:23)])
  other[other == as.raw(0xc3)] <- as.raw(0x20)
  other[other == as.raw(0xa9)] <- as.raw(0xe9)
  expect_identical(as_stream(unmarshall(other)), as_stream(unserialize(other)))
  expect_identical(as_stream(unmarshall(other, data_only = TRUE)), as_stream(unserialize(other)))
})

test_that("building holds under gctorture", {
  skip_on_cran()
  values <- c(example_atomics(), example_encodings(), example_attributes(),
              example_altrep()[c("a sequence", "numbers to be strings", "sorted integers")],
              more_objects()[c("an S4 list", "a pairlist of pairlists", "many attributes")])
  survived <- child({
    streams <- lapply(values, serialize, NULL, xdr = FALSE)
    files <- lapply(values, qs_serialize)
    expected <- lapply(streams, function(s) serialize(unserialize(s), NULL, xdr = FALSE))
    same <- logical()
    for (i in seq_along(streams)) {
      gctorture(TRUE)
      x <- unmarshall(streams[[i]])
      y <- tryCatch(qs_deserialize(files[[i]], data_only = TRUE), riffle_error_data_only = function(e) x)
      gctorture(FALSE)
      same[i] <- identical(serialize(x, NULL, xdr = FALSE), expected[[i]]) &&
        identical(serialize(y, NULL, xdr = FALSE), expected[[i]])
    }
    names(values)[!same]
  }, values = values, seconds = 600)
  expect_identical(survived, character())
})

test_that("a hash table, whose chains have any object as a tag, comes back", {
  skip_if(getRversion() < "4.2")
  h <- utils::hashtab()
  utils::sethash(h, "a", 1)
  utils::sethash(h, 1L, 2)
  expect_identical(marshall(h), serialize(h, NULL, xdr = FALSE))
  for (y in list(unmarshall(marshall(h)), qs_deserialize(qs_serialize(list(h)))[[1]])) {
    expect_identical(utils::gethash(y, "a"), 1)
    expect_identical(utils::gethash(y, 1L), 2)
  }
  expect_error(unmarshall(marshall(h), data_only = TRUE), class = "riffle_error_data_only")
})

test_that("lists of one shape have names of their own", {
  skip_if_not_installed("data.table")
  x <- unmarshall(marshall(lapply(1:200, function(i) list(alpha = i, beta = 1, gamma = 2, delta = 3))))
  data.table::setattr(names(x[[11]]), "mark", 1)
  expect_null(attributes(names(x[[12]])))
})

test_that("data_only refuses what R's own code would step outside of", {
  bytes <- marshall(pairlist(1, 2))
  odd <- c(head(bytes, -4), writeBin(c(24L, 2L), raw()), as.raw(1:2))
  expect_error(unmarshall(odd, data_only = TRUE), class = "riffle_error_corrupt")
  m <- marshall(matrix(1:6, 2))
  m[length(m) - 7] <- as.raw(200)  # the second dimension
  expect_error(unmarshall(m, data_only = TRUE), "does not fit", class = "riffle_error_corrupt")
})

test_that("an endless device that is not ours is told at once, also before validation", {
  skip_if_not(file.exists("/dev/urandom"))
  expect_error(qs_read("/dev/urandom", validate_checksum = TRUE), class = "riffle_error_format")
})
