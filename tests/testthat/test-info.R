filter_names <- list(
  c("none", "structure"),
  c("none", "constant", "range", "range with NA", "delta", "delta with NA", "dictionary", "shuffle",
    "scaled", "scaled delta", "split"),
  c("none", "items", "dictionary"),
  "none"
)
codec_names <- c("none", "lz4", "zstd")

# The blocks as qs_info() should tell of them, from a reader of the format of its own.
counted <- function(bytes) {
  blocks <- blocks_of(bytes)
  blocks <- blocks[blocks$kind != END, ]
  kind <- c("bytes", "numbers", "strings", "index")[blocks$kind]
  filter <- mapply(function(k, f) filter_names[[k]][f + 1], blocks$kind, blocks$filter)
  codec <- codec_names[bitwAnd(blocks$codec, 127L) + 1]
  table <- aggregate(data.frame(count = 1, stream_bytes = blocks$raw_len, stored_bytes = blocks$len),
                     list(kind = kind, filter = filter, codec = codec), sum)
  table[order(-table$stored_bytes, table$kind, table$filter), ]
}

sorted <- function(blocks) {
  blocks <- blocks[order(-blocks$stored_bytes, blocks$kind, blocks$filter), ]
  row.names(blocks) <- NULL
  blocks
}

expect_told <- function(x, ...) {
  bytes <- qs_serialize(x, ...)
  path <- local_file(bytes)
  info <- qs_info(path)
  expect_s3_class(info, "qs_info", exact = TRUE)
  expect_identical(info$file, path)
  expect_identical(info$format, "riffle")
  expect_identical(info$format_version, 1L)
  expect_identical(info$stream_version, 3L)
  expect_identical(info$encoding, paste0("binary ", .Platform$endian, "-endian"))
  expect_identical(info$r_version, as.character(getRversion()))
  expect_identical(info$file_bytes, as.numeric(length(bytes)))
  expect_identical(info$stream_bytes, calc_size(x))
  expect_identical(info$ratio, info$stream_bytes / info$file_bytes)
  expect_identical(info$plain, is_plain(x))
  expect_identical(info$shuffled_blocks, NA_real_)
  expect_identical(info$checksum, "not checked")
  expect_equal(info$n_blocks, nrow(stream_blocks(bytes)))
  expect_equal(sorted(info$blocks), sorted(counted(bytes)))
  expect_identical(sum(info$blocks$count[info$blocks$kind != "index"]), info$n_blocks)
  expect_identical(sum(info$blocks$stream_bytes), info$stream_bytes)
  expect_identical(sum(info$blocks$stored_bytes), info$file_bytes - 32 - 72)
  expect_false(is.unsorted(-info$blocks$stored_bytes))
  expect_setequal(info$codec, info$blocks$codec)

  validated <- qs_info(path, validate = TRUE)
  expect_identical(validated$checksum, "valid")
  same <- names(info) != "checksum"
  expect_identical(unclass(validated)[same], unclass(info)[same])
  from_raw <- qs_info(bytes)
  expect_identical(from_raw$file, NA_character_)
  expect_identical(unclass(from_raw)[-1], unclass(info)[-1])
  expect_identical(live_calls(), 0L)
  info
}

format_lines <- function(expr) utils::capture.output(expr)

test_that("a riffle file's blocks are told as they are, by any codec", {
  set.seed(2)
  rising <- 1000000L + cumsum(sample(3L, 5000, TRUE))
  more <- list("range" = as.integer(runif(5000, 0, 1e6)),
               "delta with NA" = replace(rising, sample(5000, 9), NA),
               "shuffle" = sin(1:5000 / 100) * exp(1:5000 / 10))
  values <- c(example_long_vectors(), more, list(as.list(1:20000), mtcars, NULL, quote(f(x)), globalenv()))
  told <- lapply(values, expect_told)
  blocks <- do.call(rbind, lapply(told, as.data.frame))
  expect_setequal(blocks$kind, c("bytes", "numbers", "strings", "index"))
  expect_setequal(blocks$filter[blocks$kind == "numbers"], filter_names[[2]])
  expect_setequal(blocks$filter[blocks$kind == "strings"], c("items", "dictionary"))
  expect_setequal(blocks$filter[blocks$kind == "bytes"], filter_names[[1]])
  for (codec in c("zstd", "lz4", "none")) {
    info <- expect_told(values, codec = codec)
    expect_true(all(info$codec %in% c("none", codec)))
    expect_true(codec %in% info$codec)
  }
})

test_that("without shuffle there is no filter", {
  info <- expect_told(example_long_vectors(), shuffle = FALSE)
  expect_identical(unique(info$blocks$filter), "none")
})

test_that("the elements at the top are told, where there is an index", {
  n <- 20000
  frame <- data.frame(id = seq_len(n), day = as.Date("2020-01-01") + sample(1000, n, TRUE),
                      region = factor(sample(letters[1:4], n, TRUE)), value = runif(n),
                      text = sprintf("s%d", sample(n)))
  bytes <- qs_serialize(frame)
  for (info in list(qs_info(bytes), qs_info(local_file(bytes)), qs_info(bytes, validate = TRUE))) {
    expect_identical(info$class, "data.frame")
    expect_equal(info$n_rows, n)
    expect_identical(info$elements$name, names(frame))
    expect_identical(info$elements$type, vapply(frame, typeof, "", USE.NAMES = FALSE))
    expect_identical(info$elements$class, c("", "Date", "factor", "", ""))
    expect_equal(info$elements$length, rep(n, 5))
    expect_lt(sum(info$elements$stored_bytes), length(bytes))
    expect_gt(sum(info$elements$stored_bytes), 0.95 * length(bytes))
    expect_match(paste(format_lines(print(info)), collapse = "\n"), "20,000 rows, 5 columns")
  }
  several <- structure(list(1:10, b = list(runif(n)), structure(list(), class = c("x", "y"))), class = "mine")
  info <- qs_info(qs_serialize(several))
  expect_identical(info$class, "mine")
  expect_null(info$n_rows)
  expect_identical(info$elements$name, c("", "b", ""))
  expect_identical(info$elements$class, c("", "", "x/y"))
  for (other in list(qs_serialize(mtcars), qs_serialize(runif(n)), qs_serialize(list(runif(n), globalenv(), sum))))
    expect_null(qs_info(other)$elements)
})

test_that("what is kept beside the object is told, whatever the object is", {
  kept <- list(made = "by hand", version = 3L, dates = as.Date("2020-02-03"))
  for (x in list(mtcars, NULL, quote(f(x)), runif(20000), list(a = runif(20000)))) {
    path <- withr::local_tempfile()
    qs_save(x, path, meta = kept)
    expect_identical(qs_info(path)$meta, kept)
    expect_identical(qs_info(path, validate = TRUE)$meta, kept)
    expect_identical(qs_read(path), x)
    expect_match(paste(format_lines(print(qs_info(path))), collapse = "\n"), "made, version, dates")
  }
  expect_null(qs_info(qs_serialize(mtcars))$meta)
})

test_that("large files are told without reading them", {
  x <- list(runif(2e6), 1:2e6 + 0L, rep(letters, 1e5))
  expect_told(x)
  path <- local_file(qs_serialize(x, codec = "none"))
  expect_lt(min(replicate(5, system.time(qs_info(path))[["elapsed"]])), 0.05)
})

test_that("no byte of a riffle file can be wrong and valid", {
  bytes <- qs_serialize(list(a = 1:3, b = c("text", NA), c = quote(f(x))))
  path <- withr::local_tempfile()
  validate <- function(bytes) qs_info(write_bytes(bytes, path), validate = TRUE)
  expect_identical(validate(bytes)$checksum, "valid")
  places <- seq_along(bytes)
  expect_outcomes(places - 1, function(n) validate(head(bytes, n)), c("corrupt", "format"))
  for (mask in c(0xff, 1, 0x80)) {
    expect_outcomes(places[-(1:8)], function(i) validate(flip(bytes, i, mask)), "corrupt")
    expect_outcomes(1:8, function(i) validate(flip(bytes, i, mask)), "format")
  }
  expect_outcomes(places, function(i) validate(bytes[-i]), c("corrupt", "format"))
  expect_riffle_error(validate(c(bytes, raw(1))), "corrupt")
})

test_that("damage is the same error as when it is read", {
  message_of <- function(expr) tryCatch(expr, riffle_error = conditionMessage)
  bytes <- qs_serialize(list(runif(2e5), letters))
  block <- blocks_of(bytes)[3, ]
  damaged <- list(head(bytes, -1), head(bytes, 1000), flip(bytes, 20), flip(bytes, block$at + 100),
                  flip(bytes, block$at + 13), flip(bytes, length(bytes) - 50), head(bytes, 20),
                  rearrange(bytes, c(2, 1, 3)))
  for (bad in damaged) {
    path <- local_file(bad)
    expect_match(message_of(qs_info(path, TRUE)), paste0("Can't read '", path, "': "), fixed = TRUE)
    expect_identical(message_of(qs_info(path, TRUE)), message_of(qs_read(path, TRUE)))
    expect_identical(message_of(qs_info(bad, TRUE)), message_of(qs_deserialize(bad, TRUE)))
  }
  # that a payload is damaged shows to who reads it; that a block is lost, to all
  unread <- flip(bytes, block$at + 100)
  expect_identical(qs_info(unread)$checksum, "not checked")
  expect_riffle_error(qs_info(rearrange(bytes, c(1, 2))), "corrupt")
})

# ---- qs2 ------------------------------------------------------------------------------------

qs2_bytes <- function(x, ...) {
  skip_if_not_installed("qs2")
  path <- tempfile()
  on.exit(unlink(path))
  getExportedValue("qs2", "qs_save")(x, path, ...)
  read_bytes(path)
}

# The blocks of a qs2 file: their frames' lengths, and which are shuffled.
qs2_blocks <- function(bytes) {
  at <- 24
  blocks <- NULL
  while (at < length(bytes)) {
    word <- u32(bytes, at)
    blocks <- rbind(blocks, data.frame(len = word %% 2^31, shuffled = word >= 2^31))
    at <- at + 4 + word %% 2^31
  }
  blocks
}

test_that("a qs2 file's blocks are told as they are", {
  objects <- list(1, mtcars, list(1:1e6 + 0L, sin(1:3e5), sprintf("id%d", 1:1e5)), raw(5e6))
  for (x in objects) for (shuffle in c(TRUE, FALSE)) {
    bytes <- qs2_bytes(x, shuffle = shuffle)
    path <- local_file(bytes)
    info <- qs_info(path, validate = TRUE)
    blocks <- qs2_blocks(bytes)
    expect_identical(info$format, "qs2")
    expect_identical(info$format_version, 1L)
    expect_identical(info$stream_version, 3L)
    expect_identical(info$encoding, paste0("binary ", .Platform$endian, "-endian"))
    expect_identical(info$r_version, as.character(getRversion()))
    expect_identical(info$file_bytes, as.numeric(length(bytes)))
    expect_identical(info$stream_bytes, as.numeric(length(serialize(x, NULL, xdr = FALSE))))
    expect_identical(info$n_blocks, as.numeric(nrow(blocks)))
    expect_identical(info$shuffled_blocks, as.numeric(sum(blocks$shuffled)))
    expect_identical(info$plain, NA)
    expect_identical(info$codec, "zstd")
    expect_identical(info$checksum, "valid")
    expect_identical(sum(info$blocks$stored_bytes), info$file_bytes - 24)
    expect_identical(sum(info$blocks$stream_bytes), info$stream_bytes)
    expect_identical(sum(info$blocks$count[info$blocks$filter == "shuffle"]), info$shuffled_blocks)
    expect_identical(qs_info(path)$checksum, "not checked")
    expect_identical(qs_info(path)$stream_bytes, info$stream_bytes)
    expect_identical(unclass(qs_info(bytes, TRUE))[-1], unclass(info)[-1])
  }
})

test_that("qs2 files that are checked in are told without the package", {
  files <- list.files(test_path("fixtures", "qs2"), "[.]qs2$", full.names = TRUE)
  expect_gt(length(files), 3)
  for (file in files) {
    info <- qs_info(file, validate = TRUE)
    expect_identical(info$checksum, "valid")
    expect_identical(info$stream_version, 3L)
    expect_identical(sum(info$blocks$stored_bytes), info$file_bytes - 24)
    blocks <- qs2_blocks(read_bytes(file))
    expect_identical(info$shuffled_blocks, as.numeric(sum(blocks$shuffled)))
  }
})

test_that("damage to a qs2 file is the same error as when it is read", {
  message_of <- function(expr) tryCatch(expr, riffle_error = conditionMessage)
  bytes <- read_bytes(test_path("fixtures", "qs2", "frame.qs2"))
  for (bad in list(flip(bytes, 17), flip(bytes, length(bytes)), head(bytes, -1), head(bytes, 24),
                   head(bytes, 10), flip(bytes, 5)))
    expect_identical(message_of(qs_info(bad, TRUE)), message_of(qs_deserialize(bad, TRUE)))
})

test_that("no byte of a qs2 file can be wrong and valid", {
  bytes <- qs2_bytes(list(a = 1:3, b = c("text", NA), c = quote(f(x))))
  path <- withr::local_tempfile()
  validate <- function(bytes) qs_info(write_bytes(bytes, path), validate = TRUE)
  expect_identical(validate(bytes)$checksum, "valid")
  expect_outcomes(4:(length(bytes) - 1), function(n) validate(head(bytes, n)), "corrupt")
  expect_outcomes(8:length(bytes), function(i) validate(flip(bytes, i)), "corrupt")
  # the first bytes say what it is, the next two what it takes to read it
  expect_outcomes(1:4, function(i) validate(flip(bytes, i)), "format")
  expect_outcomes(5:7, function(i) validate(flip(bytes, i)), c("corrupt", "version"))
  expect_riffle_error(validate(c(bytes, raw(1))), "corrupt")

  bytes[17:24] <- raw(8)
  expect_identical(validate(bytes)$checksum, "not stored")
  expect_identical(qs_info(bytes)$checksum, "not stored")
  expect_outcomes(24:(length(bytes) - 1), function(n) validate(head(bytes, n)), "corrupt")
})

# ---- RDS ------------------------------------------------------------------------------------

rds_bytes <- function(x, ...) {
  path <- tempfile()
  on.exit(unlink(path))
  save_rds(x, path, ...)
  read_bytes(path)
}

native_encoding <- paste0("binary ", .Platform$endian, "-endian")

test_that("an RDS file in any form is told as it is", {
  x <- list(a = 1:5000 + 0L, b = sprintf("text %d", 1:500), c = quote(f(x)))
  codecs <- list(gzip = "gzip", bzip2 = "bzip2", xz = "xz", none = FALSE)
  states <- c(gzip = "valid", bzip2 = "not checked", xz = "valid", none = "not stored")
  for (codec in names(codecs)) for (version in 2:3) for (ascii in c(FALSE, TRUE, NA)) {
    bytes <- rds_bytes(x, compress = codecs[[codec]], version = version, ascii = ascii)
    path <- local_file(bytes)
    stream_bytes <- as.numeric(length(memDecompress(bytes, codec)))
    for (validate in c(FALSE, TRUE)) {
      known <- validate || codec == "none"
      info <- qs_info(path, validate)
      expect_identical(info$file, path)
      expect_identical(info$format, "rds")
      expect_identical(info$format_version, NA_integer_)
      expect_identical(info$stream_version, version)
      expect_identical(info$encoding, if (is.na(ascii)) native_encoding else if (ascii) "ascii" else "xdr")
      expect_identical(info$r_version, as.character(getRversion()))
      expect_identical(info$file_bytes, as.numeric(length(bytes)))
      expect_identical(info$stream_bytes, if (known) stream_bytes else NA_real_)
      expect_identical(info$ratio, info$stream_bytes / info$file_bytes)
      expect_identical(info$codec, codec)
      expect_identical(info$n_blocks, if (validate && codec == "gzip") 1 else NA_real_)
      expect_identical(info$plain, NA)
      expect_identical(info$checksum, if (known) states[[codec]] else "not checked")
      expect_identical(info$blocks$kind, "stream")
      expect_identical(info$blocks$stored_bytes, info$file_bytes)
      expect_identical(unclass(qs_info(bytes, validate))[-1], unclass(info)[-1])
    }
  }
})

test_that("a binary stream that is not XDR is told by its byte order", {
  stream <- serialize(1:3, NULL, xdr = FALSE)
  expect_identical(qs_info(stream)$encoding, paste0("binary ", .Platform$endian, "-endian"))
  expect_identical(qs_info(memCompress(stream, "bzip2"))$encoding, qs_info(stream)$encoding)
  expect_identical(qs_info(memCompress(stream, "xz"), TRUE)$stream_bytes, as.numeric(length(stream)))
})

test_that("gzip members one after the other are one stream", {
  stream <- serialize(runif(5000), NULL)
  path <- withr::local_tempfile()
  pieces <- list(stream[1:20000], stream[-(1:20000)])
  for (piece in pieces) {
    con <- gzfile(path, "ab")
    writeBin(piece, con)
    close(con)
  }
  info <- qs_info(path, TRUE)
  expect_identical(info$n_blocks, 2)
  expect_identical(info$stream_bytes, as.numeric(length(stream)))
  # R's own reader takes a second member that is none for data, in silence
  bytes <- read_bytes(path)
  at <- rev(which(bytes[-length(bytes)] == 0x1f & bytes[-1] == 0x8b))[1]
  expect_riffle_error(qs_info(flip(bytes, at), TRUE), "corrupt")
})

test_that("a zstd-packed RDS file is told in any R", {
  skip_if_not(exists("zstdfile", baseenv()), "needs an R with zstdfile()")
  path <- withr::local_tempfile()
  con <- get("zstdfile", baseenv())(path, "wb")
  saveRDS(mtcars, con)
  close(con)
  info <- qs_info(path, TRUE)
  expect_identical(info$codec, "zstd")
  expect_identical(info$stream_bytes, as.numeric(length(serialize(mtcars, NULL))))
})

test_that("a damaged RDS file is an error", {
  x <- list(runif(30), letters)
  path <- withr::local_tempfile()
  validate <- function(bytes) qs_info(write_bytes(bytes, path), validate = TRUE)
  for (codec in c("gzip", "bzip2", "xz")) {
    bytes <- rds_bytes(x, compress = codec)
    expect_outcomes(6:(length(bytes) - 1), function(n) validate(head(bytes, n)), "corrupt")
    expect_riffle_error(validate(c(bytes, raw(1))), "corrupt", path)
    expect_riffle_error(qs_info(head(bytes, -1), TRUE), "corrupt", "Can't read the raw vector")
  }
  bytes <- rds_bytes(x, compress = "gzip")
  # the header's time and system are free, and so are the last bits of the data
  expect_outcomes(c(11:(length(bytes) - 9), length(bytes) - 0:7), function(i) validate(flip(bytes, i)),
                  "corrupt")
  bytes <- rds_bytes(x, compress = "xz")
  expect_outcomes(7:length(bytes), function(i) validate(flip(bytes, i)), "corrupt")
  bytes <- rds_bytes(x, compress = "bzip2")
  for (i in seq(5, length(bytes), 7)) {
    told <- tryCatch(validate(flip(bytes, i))$checksum, riffle_error = function(e) "refused")
    expect_true(told %in% c("refused", "not checked"))
  }
  condition <- expect_riffle_error(validate(head(bytes, -5)), "corrupt")
  expect_identical(as.character(conditionCall(condition)[[1]]), "qs_info")
})

# ---- what is none of these ------------------------------------------------------------------

test_that("any other file is the error that qs_read() gives", {
  saved <- function(...) {
    path <- tempfile()
    x <- 1
    save(x, file = path, ...)
    read_bytes(path)
  }
  others <- list(raw(), charToRaw("a,b\n1,2\n"), as.raw(rep(0:255, 20)), saved(compress = FALSE),
                 as.raw(c(0x0b, 0x0e, 0x0a, 0xcd, 1:50)), c(charToRaw("PAR1"), raw(50)))
  for (bytes in others) for (validate in c(TRUE, FALSE)) {
    path <- local_file(bytes)
    expected <- tryCatch(qs_read(path), riffle_error_format = conditionMessage)
    condition <- expect_riffle_error(qs_info(path, validate), "format", expected)
    expect_identical(conditionMessage(condition), expected)
    expected <- tryCatch(qs_deserialize(bytes), riffle_error_format = conditionMessage)
    expect_riffle_error(qs_info(bytes, validate), "format", expected)
  }
  # what is compressed is told by its content
  for (codec in c("gzip", "bzip2", "xz")) for (validate in c(TRUE, FALSE)) {
    expect_riffle_error(qs_info(saved(compress = codec), validate), "format",
                        "Can't read the raw vector: it is an RData file; load() reads it.")
    text <- withr::local_tempfile()
    con <- switch(codec, gzip = gzfile, bzip2 = bzfile, xz = xzfile)(text, "wb")
    writeLines("a,b", con)
    close(con)
    expect_riffle_error(qs_info(text, validate), "format", "it is a text file, not a riffle file.")
  }
})

test_that("a file that is not there, a folder and bad arguments are errors", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "none.rif")
  expect_riffle_error(qs_info(path), "io", paste0("Can't read '", path, "': No such file or directory."))
  expect_riffle_error(qs_info(folder), "io", paste0("Can't read '", folder, "': Is a directory."))
  takes <- "`file` must be the path of one file, as a string"
  for (bad in list(NULL, 1, NA, NA_character_, "", c("a", "b"), character(), list("a")))
    expect_riffle_error(qs_info(bad), "argument", takes)
  path <- local_file(qs_serialize(1))
  for (bad in list(NULL, NA, 1, "TRUE", c(TRUE, FALSE)))
    expect_riffle_error(qs_info(path, bad), "argument", "`validate` must be TRUE or FALSE")
  condition <- expect_riffle_error(qs_info(folder), "io")
  expect_identical(as.character(conditionCall(condition)[[1]]), "qs_info")
})

test_that("a fifo is read to its end", {
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  for (bytes in list(qs_serialize(mtcars), rds_bytes(mtcars), rds_bytes(mtcars, compress = "xz"))) {
    path <- write_bytes(bytes, file.path(folder, "file"))
    fifo <- file.path(folder, "fifo")
    shell("mkfifo", fifo)
    shell("cat", path, ">", fifo, wait = FALSE)
    told <- qs_info(fifo, validate = TRUE)
    expect_identical(told$file, fifo)
    expect_identical(unclass(told)[-1], unclass(qs_info(bytes, TRUE))[-1])
    unlink(fifo)
  }
})

test_that("asking leaves no file open", {
  skip_if_not_linux()
  paths <- list(local_file(qs_serialize(mtcars)), local_file(rds_bytes(mtcars)),
                local_file(rds_bytes(mtcars, compress = "xz")), local_file(raw(9)), tempdir())
  ask <- function() for (path in paths) for (validate in c(TRUE, FALSE)) outcome(qs_info(path, validate))
  ask()
  before <- open_files()
  connections <- nrow(showConnections())
  for (i in 1:10) ask()
  expect_identical(open_files(), before)
  expect_identical(nrow(showConnections()), connections)
})

# ---- methods --------------------------------------------------------------------------------

test_that("it prints in a score of aligned lines at most", {
  file <- local_file(qs_serialize(example_long_vectors()))
  info <- qs_info(file)
  expect_gt(nrow(info$blocks), 6)
  lines <- capture.output(value <- withVisible(print(info)))
  expect_false(value$visible)
  expect_identical(value$value, info)
  expect_lte(length(lines), 20)
  expect_identical(lines[1], sprintf("riffle file '%s' (format version 1)", file))
  exact <- paste0("(", format(info$file_bytes, big.mark = ","), " bytes)")
  expect_match(lines[4], exact, fixed = TRUE)
  expect_match(lines[2], format(info$stream_bytes, big.mark = ","), fixed = TRUE)
  expect_match(lines[14], sprintf("and %d more in", nrow(info$elements) - 5))
  expect_match(lines[20], sprintf("and %d more rows", nrow(info$blocks) - 4))
  expect_identical(length(unique(nchar(lines[9:13]))), 1L)
  expect_identical(length(unique(nchar(lines[16:19]))), 1L)

  small <- capture.output(print(qs_info(qs_serialize(1))))
  expect_identical(small[1], "riffle raw vector (format version 1)")
  expect_match(small[2], "stream     [0-9]+ bytes$")
  packed <- local_file(rds_bytes(mtcars))
  expect_match(capture.output(print(qs_info(packed)))[2], "unknown")
  expect_match(capture.output(print(qs_info(packed, TRUE)))[6], "checksums  valid")
})

test_that("it formats as one line", {
  info <- qs_info(local_file(qs_serialize(mtcars)), TRUE)
  line <- format(info)
  expect_identical(length(line), 1L)
  for (part in c("riffle file", basename(info$file), "checksums valid", as.character(getRversion())))
    expect_match(line, part, fixed = TRUE)
  expect_match(format(qs_info(rds_bytes(mtcars))), "^rds raw vector: stream unknown, stored")
})

test_that("sizes are in the units of people", {
  expect_identical(human_size(c(0, 1, 1023, 1024, 1536, 2^20, 3.25 * 2^30, 2^50, NA)),
                   c("0 B", "1 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "3.2 GiB", "1024.0 TiB",
                     "unknown"))
  expect_identical(exact_size(1536), "1.5 KiB (1,536 bytes)")
  expect_identical(exact_size(2^40), "1.0 TiB (1,099,511,627,776 bytes)")
})

test_that("many files are one data frame", {
  infos <- list(qs_info(local_file(qs_serialize(mtcars))), qs_info(local_file(rds_bytes(mtcars))),
                qs_info(qs_serialize(1:3)))
  all <- do.call(rbind, lapply(infos, as.data.frame))
  expect_identical(names(all), c("file", "format", "kind", "filter", "codec", "count", "stream_bytes",
                                 "stored_bytes"))
  expect_identical(nrow(all), sum(vapply(infos, function(i) nrow(i$blocks), 0L)))
  expect_setequal(all$format, c("riffle", "rds"))
})

test_that("plot() draws the bytes by kind and filter, and returns them", {
  withr::local_pdf(NULL)
  info <- qs_info(qs_serialize(example_long_vectors()))
  drawn <- withVisible(plot(info))
  expect_false(drawn$visible)
  bytes <- drawn$value
  expect_identical(colnames(bytes), c("stored", "stream"))
  expect_identical(colSums(bytes), c(stored = info$file_bytes - 104, stream = info$stream_bytes))
  expect_true("numbers: constant" %in% rownames(bytes))
  scaled <- info$blocks$kind == "numbers" & info$blocks$filter == "scaled"
  expect_identical(bytes[["numbers: scaled", "stored"]], sum(info$blocks$stored_bytes[scaled]))
  packed <- plot(qs_info(rds_bytes(mtcars)), col = "grey")
  expect_identical(dimnames(packed), list("stream", c("stored", "stream")))
  expect_true(is.na(packed[1, "stream"]))
})
