text_bytes <- function(n) {
  set.seed(5)
  charToRaw(paste(sample(c("lorem", "ipsum", "dolor", "sit", "amet"), n / 5, TRUE), collapse = " "))
}
random_bytes <- function(n) {
  set.seed(6)
  as.raw(sample(0:255, n, TRUE))
}
codecs <- c("zstd", "lz4")

test_that("what is compressed is decompressed", {
  for (codec in codecs) {
    for (n in c(0, 1, 1000, 2^22 - 1, 2^22, 2^22 + 1)) {
      for (x in list(random_bytes(n), raw(n))) {
        z <- qs_compress(x, codec)
        expect_identical(qs_decompress(z), x)
        expect_lt(length(z), length(x) * 1.01 + 50)
      }
    }
    x <- text_bytes(1e4)
    expect_lt(length(qs_compress(x, codec)), length(x) / 2)
    expect_identical(qs_decompress(qs_compress(structure(x, class = "a"), codec)), x)
  }
  expect_identical(live_calls(), 0L)
})

test_that("the bytes do not depend on the number of threads", {
  x <- c(text_bytes(8e6), random_bytes(1e6), raw(5e6))
  for (codec in codecs) {
    one <- qs_compress(x, codec, nthreads = 1)
    expect_identical(qs_compress(x, codec, nthreads = 4), one)
    for (n in c(1, 4)) expect_identical(qs_decompress(one, nthreads = n), x)
  }
})

test_that("a level is the codec's", {
  x <- text_bytes(1e5)
  size <- function(...) length(qs_compress(x, ...))
  expect_lt(size("zstd", 19), size("zstd", -5))
  expect_lt(size("lz4", 12), size("lz4", 1))
  expect_identical(qs_decompress(qs_compress(x, "zstd", 22)), x)
  expect_riffle_error(qs_compress(x, "lz4", 13), "argument", "from 1 to 12")
  expect_riffle_error(qs_compress(x, "zstd", 23), "argument", "to 22")
})

# Runs a tool on a file that holds `bytes`, and gives the bytes it writes.
by_tool <- function(bytes, tool, ...) {
  input <- withr::local_tempfile()
  output <- withr::local_tempfile()
  writeBin(bytes, input)
  command <- paste(tool, ..., "<", shQuote(input), ">", shQuote(output))
  expect_identical(shell(command), 0L, info = command)
  readBin(output, "raw", file.size(output))
}

test_that("the command line tools read our frames", {
  x <- c(text_bytes(6e6), random_bytes(5e6))
  for (codec in codecs) {
    if (Sys.which(codec) == "") next
    for (y in list(x, x[1:1000], raw())) {
      expect_identical(by_tool(qs_compress(y, codec, nthreads = 2), codec, "-d -q -c"), y)
    }
  }
  skip_if(any(Sys.which(codecs) == ""), "zstd or lz4 is not here")
  expect_identical(by_tool(qs_compress(x[1:3e5], "zstd", 19), "zstd", "-d -q -c"), x[1:3e5])
  expect_identical(by_tool(qs_compress(x[1:3e5], "lz4", 9), "lz4", "-d -q -c"), x[1:3e5])
})

test_that("frames of the command line tools are read", {
  skip_if(any(Sys.which(codecs) == ""), "zstd or lz4 is not here")
  x <- c(text_bytes(6e6), random_bytes(5e6))
  made <- list(
    by_tool(x, "zstd", "-q -c"), by_tool(x, "zstd", "-q -c --no-check -5"),
    by_tool(x, "zstd", "-q -c --long=27"), by_tool(x, "lz4", "-q -c"),
    by_tool(x, "lz4", "-q -c -BX -B4 -BI -9"), by_tool(x, "lz4", "-q -c --no-frame-crc")
  )
  for (z in made) {
    expect_identical(qs_decompress(z, nthreads = 2), x)
    expect_riffle_error(qs_decompress(head(z, -1)), "corrupt", "it is truncated")
  }
  skippable <- as.raw(c(0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3))
  all <- c(made[[1]], skippable, made[[4]], qs_compress(x), skippable)
  expect_identical(qs_decompress(all), c(x, x, x))
  expect_identical(qs_decompress(by_tool(raw(), "zstd", "-q -c")), raw())
  expect_identical(qs_decompress(by_tool(raw(), "lz4", "-q -c")), raw())
  expect_identical(qs_decompress(skippable), raw())
  legacy <- by_tool(x[1:1000], "lz4", "-q -c -l")
  expect_riffle_error(qs_decompress(legacy), "format", "legacy")
  # compressed many thousand times over: not believed beforehand, but read
  expect_identical(qs_decompress(by_tool(raw(2e8), "zstd", "-q -c -19")), raw(2e8))
})

test_that("damaged input is an error, or it is the same", {
  x <- text_bytes(600)
  for (codec in codecs) {
    z <- qs_compress(x, codec)
    cut <- lapply(seq_along(z) - 1L, function(n) head(z, n))
    expect_outcomes(seq_along(cut), function(i) qs_decompress(cut[[i]]), "corrupt")
    for (i in seq_along(z)) {
      bad <- z
      bad[i] <- xor(bad[i], as.raw(2^(i %% 8)))
      got <- tryCatch(qs_decompress(bad), riffle_error_corrupt = identity, riffle_error_format = identity)
      expect(inherits(got, "riffle_error") || identical(got, x), paste("Byte", i, "of", codec))
    }
    expect_riffle_error(qs_decompress(c(z, as.raw(1:9))), "corrupt", "something else follows")
  }
  last <- qs_compress(x)
  last[length(last)] <- xor(last[length(last)], as.raw(1))
  expect_riffle_error(qs_decompress(last), "corrupt",
                      "Can't decompress the raw vector: a frame's checksum differs.")
  expect_riffle_error(qs_decompress(raw()), "corrupt", "it is empty")
  expect_riffle_error(qs_decompress(charToRaw("hello, world")), "format", "neither zstd nor LZ4")
})

test_that("max_size limits the result", {
  x <- raw(1e6)
  for (codec in codecs) {
    z <- qs_compress(x, codec)
    expect_identical(qs_decompress(z, max_size = 1e6), x)
    expect_identical(qs_decompress(z, max_size = 1000000L), x)
    expect_riffle_error(qs_decompress(z, max_size = 999999), "limit", "more than `max_size`")
  }
  if (Sys.which("zstd") != "") {
    z <- by_tool(x, "cat | zstd", "-q -c")
    expect_riffle_error(qs_decompress(z, max_size = 0), "limit")
  }
  for (bad in list(-1, NA, "1", c(1, 2), NULL)) {
    expect_riffle_error(qs_decompress(raw(), max_size = bad), "argument", "a number of bytes, 0 or more")
  }
})

test_that("other arguments are errors", {
  expect_riffle_error(qs_compress("a"), "argument", "`x` must be a raw vector")
  expect_riffle_error(qs_decompress(1:3), "argument", "`x` must be a raw vector")
  expect_riffle_error(qs_compress(raw(), "none"), "argument", "`codec` must be \"zstd\" or \"lz4\"")
  expect_riffle_error(qs_compress(raw(), nthreads = 0), "argument", "`nthreads`")
  expect_riffle_error(qs_decompress(raw(), nthreads = 0), "argument", "`nthreads`")
})

test_that("raw vectors of over 2^31 bytes are compressed", {
  skip_if_not(Sys.getenv("RIFFLE_BIG") == "1", "RIFFLE_BIG is not 1")
  expect_identical(child({
    x <- raw(2^31 + 5)
    x[c(1, 2^31, 2^31 + 5)] <- as.raw(1:3)
    vapply(c("zstd", "lz4"), function(codec) identical(qs_decompress(qs_compress(x, codec)), x), NA)
  }, seconds = 600), c(zstd = TRUE, lz4 = TRUE))
})
