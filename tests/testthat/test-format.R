bytes_of <- function(x, ...) qs_serialize(x, ...)

test_that("a file begins with the header that the format promises", {
  bytes <- bytes_of(mtcars)
  expect_identical(bytes[1:8], as.raw(c(0x89, 0x52, 0x49, 0x46, 0x0d, 0x0a, 0x1a, 0x0a)))
  expect_identical(as.integer(bytes[9]), 1L)                                 # format version
  expect_identical(as.integer(bytes[10]), as.integer(.Platform$endian == "big"))
  expect_identical(as.integer(bytes[11]), 3L)                                # R's stream version
  expect_true(as.integer(bytes[12]) %in% 0:1)                                # flags: plain, or not
  expect_lte(u32(bytes, 12), 2^24)                                           # largest block
  expect_identical(bytes[17:24], raw(8))                                     # reserved
})

test_that("a file ends with an end block that sums it up", {
  for (x in list(NULL, mtcars, as.numeric(1:300000) / 7, sprintf("s%d", 1:70000))) {
    bytes <- bytes_of(x)
    blocks <- blocks_of(bytes)
    end <- tail(blocks, 1)
    data <- stream_blocks(bytes)
    expect_equal(end$at + end$len, length(bytes))
    expect_equal(end$len, 72)
    expect_identical(tail(bytes, 8), charToRaw("RIF end\n"))
    expect_equal(u32(bytes, end$at + 32), calc_size(x))
    expect_equal(u32(bytes, end$at + 40), nrow(data))
    expect_equal(sum(data$raw_len), calc_size(x))
    expect_equal(blocks$seq, seq_len(nrow(blocks)) - 1)
    expect_true(all(data$raw_len <= u32(bytes, 12)))
  }
})

test_that("the blocks' bytes together are R's own stream, byte for byte", {
  values <- c(example_objects(), example_altrep(),
              list(large = list(as.numeric(1:200000) / 7, sprintf("s%d", 1:70000), as.list(1:40000), 1:3)))
  for (i in seq_along(values)) {
    bytes <- bytes_of(values[[i]], codec = "none", shuffle = FALSE)
    expect(identical(stream_in(bytes), serialize(values[[i]], NULL, xdr = FALSE)),
           paste(names(values)[i], "has another stream in its file."))
  }
})

test_that("a stream in a file is what unserialize() reads", {
  e <- new.env(parent = globalenv())
  e$self <- e
  bytes <- bytes_of(e, codec = "none", shuffle = FALSE)
  restored <- unserialize(stream_in(bytes))
  expect_true(identical(restored$self, restored))
})

test_that("numbers and strings have blocks of their own, if there are enough of them", {
  kinds <- function(x) setdiff(blocks_of(bytes_of(x))$kind, INDEX)
  expect_identical(kinds(1:10 + 0L), c(BYTES, END))
  expect_setequal(kinds(as.numeric(1:5000) / 7), c(BYTES, NUMBERS, END))
  expect_setequal(kinds(sample(5000)), c(BYTES, NUMBERS, END))
  expect_setequal(kinds(sprintf("s%d", 1:5000)), c(BYTES, STRINGS, END))
  expect_setequal(kinds(list(sample(5000), sprintf("s%d", 1:5000))), c(BYTES, NUMBERS, STRINGS, END))
  expect_setequal(kinds(lm(y ~ x, list(x = runif(5000), y = runif(5000)))), c(BYTES, NUMBERS, STRINGS, END))
})

test_that("a block of numbers holds whole elements of one vector, and counts them", {
  blocks <- blocks_of(bytes_of(as.numeric(1:300000) / 7))
  numbers <- blocks[blocks$kind == NUMBERS, ]
  expect_gt(nrow(numbers), 2)
  expect_equal(sum(numbers$count), 300000)
  expect_equal(numbers$raw_len, numbers$count * 8)
  strings <- blocks_of(bytes_of(sprintf("s%d", 1:150000)))
  expect_equal(sum(strings$count[strings$kind == STRINGS]), 150000)
})

test_that("a block that does not shrink is stored", {
  random <- stream_blocks(bytes_of(as.raw(sample(0:255, 1e6, TRUE))))
  expect_true(all(random$codec == 0))
  expect_true(all(random$stored_len <= random$raw_len + 40))
})

test_that("a block's codec is the one that was asked for, or none", {
  x <- as.list(rep(1:4, 50000))
  codecs <- function(...) setdiff(blocks_of(bytes_of(x, ...))$codec, 0L)
  expect_identical(codecs(codec = "zstd"), 2L)
  expect_identical(codecs(codec = "lz4"), 1L)
  expect_identical(codecs(codec = "none"), integer())
})

test_that("without shuffle no block is filtered", {
  x <- list(sample(1e5), sample(letters, 1e5, TRUE))
  expect_true(all(blocks_of(bytes_of(x, shuffle = FALSE))$filter == 0))
  expect_false(all(blocks_of(bytes_of(x))$filter == 0))
})

test_that("an index lies between the blocks and the end, if it is a small part of the file", {
  small <- bytes_of(list(a = 1:10 + 0, b = letters))
  end <- tail(blocks_of(small), 1)
  expect_false(INDEX %in% blocks_of(small)$kind)
  expect_equal(u32(small, end$at + 48), 0)
  for (x in list(list(a = runif(1e5), b = sprintf("s%d", 1:1e5)), runif(1e5), as.list(runif(1e5)))) {
    bytes <- bytes_of(x)
    blocks <- blocks_of(bytes)
    index <- blocks[blocks$kind == INDEX, ]
    expect_equal(nrow(index), 1)
    expect_equal(index$at, u32(bytes, tail(blocks$at, 1) + 48))
    expect_equal(which(blocks$kind == INDEX), nrow(blocks) - 1)
    expect_equal(index$raw_len, 0)
    expect_lt(index$len, length(bytes) / 200)
  }
})

test_that("files that the first version wrote are read for ever", {
  expect_true(is_same(qs_read(test_path("fixtures", "v1.rif")), golden_object()))
  expect_true(is_same(qs_read(test_path("fixtures", "v1.rif"), validate_checksum = TRUE), golden_object()))
})
