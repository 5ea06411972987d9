small_object <- function() list(a = 1:3, b = c("text", NA), c = quote(f(x)), d = c(1.5, NA))

# Several blocks of every kind.
large_object <- function() {
  list(as.numeric(1:150000) / 7, sprintf("s%d", 1:70000), as.list(1:40000), rep(c(1L, NA), 70000))
}

# Each input, as a file and as a raw vector, is an error of the allowed classes: never a value, a
# warning or an error that does not name the file.
expect_all_refused <- function(inputs, allowed = "corrupt", validate = c(TRUE, FALSE), nthreads = 1) {
  folder <- withr::local_tempdir()
  paths <- file.path(folder, seq_along(inputs))
  for (i in seq_along(inputs)) writeBin(inputs[[i]], paths[i])
  for (verify_first in validate) {
    expect_outcomes(paths, function(path) qs_read(path, verify_first, nthreads), allowed)
    expect_outcomes(seq_along(inputs), function(i) qs_deserialize(inputs[[i]], verify_first, nthreads), allowed)
  }
}

test_that("a small file cut at any byte is refused", {
  bytes <- qs_serialize(small_object())
  cut <- function(n) bytes[seq_len(n)]
  expect_all_refused(lapply(8:(length(bytes) - 1), cut))
  expect_all_refused(lapply(1:7, cut), c("corrupt", "format"))
  expect_all_refused(list(raw()), "format")
})

test_that("a small file with any byte changed is refused", {
  bytes <- qs_serialize(small_object())
  expect_lt(length(bytes), 400)
  for (mask in c(0xff, 0x01)) {
    changed <- lapply(seq_along(bytes), function(i) flip(bytes, i, mask))
    expect_all_refused(changed[-(1:8)], validate = mask == 0xff)
    expect_all_refused(changed[1:8], "format", validate = FALSE)
  }
})

test_that("a small file with any byte set to 0 or 255, lost or doubled is refused", {
  bytes <- qs_serialize(small_object())
  set <- function(i, value) {
    bytes[i] <- as.raw(value)
    bytes
  }
  changed <- c(lapply(seq_along(bytes), set, 0), lapply(seq_along(bytes), set, 255),
               lapply(seq_along(bytes), function(i) bytes[-i]),
               lapply(seq_along(bytes), function(i) append(bytes, bytes[i], i)))
  changed <- changed[!vapply(changed, identical, NA, bytes)]
  expect_all_refused(changed, c("corrupt", "format"), validate = FALSE)
})

test_that("a large file with many changes is refused, on any number of threads", {
  skip_on_cran()
  set.seed(5)
  bytes <- qs_serialize(large_object())
  last <- tail(stream_blocks(bytes), 1)
  changed <- lapply(1:60, function(i) flip(bytes, sample(9:(last$at + last$len), sample(4, 1)), sample(255, 1)))
  for (nthreads in c(1, 3)) expect_all_refused(changed, nthreads = nthreads)
  cuts <- c(sample(40:(length(bytes) - 1), 30), length(bytes) - c(1, 71, 72, 73))
  for (nthreads in c(1, 3))
    expect_all_refused(lapply(cuts, function(n) head(bytes, n)), nthreads = nthreads)
})

test_that("any byte of any block's header changed is refused", {
  bytes <- qs_serialize(large_object())
  starts <- blocks_of(bytes)$at
  places <- as.vector(outer(1:32, starts[c(1, 2, 5, length(starts))], "+"))
  expect_all_refused(lapply(places, function(i) flip(bytes, i, 0x11)), validate = FALSE)
})

test_that("the message tells the number of the block that is corrupt", {
  bytes <- qs_serialize(large_object())
  blocks <- blocks_of(bytes)
  expect_gt(nrow(blocks), 8)
  for (i in seq_len(nrow(stream_blocks(bytes)))) for (validate in c(TRUE, FALSE)) {
    bad <- flip(bytes, blocks$at[i] + blocks$len[i])
    expect_riffle_error(qs_deserialize(bad, validate), "corrupt", sprintf("block %d is corrupt", i - 1L))
    expect_riffle_error(qs_read(local_file(bad), validate), "corrupt", sprintf("block %d is corrupt", i - 1L))
  }
})

test_that("blocks that are swapped, repeated or left out are refused", {
  for (codec in c("zstd", "none")) {
    bytes <- qs_serialize(as.numeric(1:400000) / 7, codec = codec, shuffle = codec == "zstd")
    n <- nrow(stream_blocks(bytes))
    expect_gt(n, 5)
    order <- seq_len(n)
    expect_identical(rearrange(bytes, order), bytes)
    changed <- list(replace(order, 3:4, 4:3), replace(order, c(2, n), c(n, 2)), order[-3], order[-n], order[-1],
                    append(order, 3, 3), rev(order), integer(), order[1])
    expect_all_refused(lapply(changed, function(o) rearrange(bytes, o)))
    # where the index should be is something else: the blocks are whole
    expect_warning(value <- qs_deserialize(rearrange(bytes, append(order, 2, n))), "index is damaged")
    expect_identical(value, as.numeric(1:400000) / 7)
  }
})

test_that("a block of another file in its place is refused", {
  bytes <- qs_serialize(as.numeric(1:400000) / 7, codec = "none", shuffle = FALSE)
  other <- qs_serialize(as.numeric(1:400000) / 9, codec = "none", shuffle = FALSE)
  expect_identical(length(bytes), length(other))
  block <- blocks_of(bytes)[4, ]
  mixed <- bytes
  mixed[block$at + seq_len(block$len)] <- block_bytes(other, block)
  end <- tail(blocks_of(bytes), 1)
  swapped_end <- c(head(bytes, end$at), block_bytes(other, end))
  swapped_header <- c(head(other, 32), tail(bytes, -32))
  expect_all_refused(list(mixed, swapped_end))
  expect_identical(swapped_header, bytes)
})

test_that("bytes that are appended are refused", {
  bytes <- qs_serialize(small_object())
  end <- tail(bytes, 72)
  expect_all_refused(list(c(bytes, raw(1)), c(bytes, as.raw(10)), c(bytes, raw(10000)), c(bytes, bytes),
                          c(bytes, end), c(bytes, head(bytes, 32))))
  large <- qs_serialize(large_object())
  expect_all_refused(list(c(large, raw(1)), c(large, large), c(large, tail(large, 72))))
})

test_that("a cut or lengthened file is found out before the object is begun", {
  bytes <- qs_serialize(list(new.env(), runif(1e5)), refhook = function(x) "env")
  begun <- FALSE
  hook <- function(names) begun <<- TRUE
  for (bad in list(head(bytes, -1), head(bytes, -5000), c(bytes, raw(1)))) {
    expect_riffle_error(qs_read(local_file(bad), refhook = hook), "corrupt", "truncated")
    expect_riffle_error(qs_deserialize(bad, refhook = hook), "corrupt", "truncated")
  }
  expect_false(begun)
})

test_that("with validate_checksum = TRUE the object is not begun if any block is corrupt", {
  bytes <- qs_serialize(list(new.env(), runif(1e5)), refhook = function(x) "env")
  last <- tail(stream_blocks(bytes), 1)
  bad <- flip(bytes, last$at + last$len)
  begun <- FALSE
  hook <- function(names) begun <<- TRUE
  expect_riffle_error(qs_read(local_file(bad), TRUE, refhook = hook), "corrupt")
  expect_riffle_error(qs_deserialize(bad, TRUE, refhook = hook), "corrupt")
  expect_false(begun)
  expect_riffle_error(qs_deserialize(bad, FALSE, refhook = hook), "corrupt")
  expect_true(begun)
})

test_that("lengths that claim gigabytes are refused at once", {
  bytes <- qs_serialize(as.numeric(1:100000) / 7)
  blocks <- blocks_of(bytes)
  changed <- list()
  for (at in c(blocks$at[1:3], tail(blocks$at, 1))) for (field in c(12, 16, 20, 24, 28))
    for (value in c(2^32 - 1, 2^31, 2^24 + 1, 2^20 + 1, 0))
      changed <- c(changed, list(put_u32(bytes, at + field, value)))
  for (value in c(2^32 - 1, 2^31, 0)) changed <- c(changed, list(put_u32(bytes, 12, value)))
  changed <- changed[!vapply(changed, identical, NA, bytes)]
  gc(reset = TRUE)
  expect_all_refused(changed)
  expect_lt(sum(gc()[, 6]), sum(gc()[, 2]) + 200)
})

test_that("random bytes behind a good header are refused", {
  set.seed(9)
  header <- head(qs_serialize(1), 32)
  tails <- lapply(c(0, 1, 31, 32, 33, 71, 72, 73, 500, 5000), function(n) as.raw(sample(0:255, n, TRUE)))
  expect_all_refused(lapply(tails, function(bytes) c(header, bytes)))
  expect_all_refused(lapply(tails, function(bytes) c(header, bytes, tail(qs_serialize(1), 72))))
})

test_that("damage in the index alone is a warning to who asks for all, and an error to others", {
  x <- list(a = runif(20000), b = sprintf("s%d", 1:20000))
  bytes <- qs_serialize(x)
  blocks <- blocks_of(bytes)
  index <- blocks[blocks$kind == INDEX, ]
  places <- index$at + seq_len(index$len)
  path <- withr::local_tempfile()
  for (mask in c(1, 0xff)) {
    for (i in places) {
      bad <- flip(bytes, i, mask)
      for (validate in c(FALSE, TRUE))
        expect_warning(value <- qs_deserialize(bad, validate), "index is damaged", class = "riffle_warning")
      expect_true(identical(value, x))
      expect_riffle_error(qs_info(bad), "corrupt", "index")
      expect_riffle_error(qs_info(bad, validate = TRUE), "corrupt", "index")
    }
  }
  expect_warning(value <- qs_read(local_file(bad)), "index is damaged", class = "riffle_warning")
  expect_identical(value, x)
  without <- c(head(bytes, index$at), tail(bytes, 72))
  expect_warning(value <- qs_deserialize(without), "index is damaged", class = "riffle_warning")
  expect_identical(value, x)
  expect_riffle_error(qs_info(without), "corrupt", "index")
  for (n in c(places, length(bytes) - 1)) expect_riffle_error(qs_deserialize(head(bytes, n)), "corrupt")
})

test_that("the index of another file of the same shape is found out", {
  make <- function(k) qs_serialize(list(a = as.numeric(1:20000) / k), codec = "none", shuffle = FALSE)
  bytes <- make(7)
  index <- blocks_of(bytes)
  index <- index[index$kind == INDEX, ]
  other <- make(9)
  other[index$at + seq_len(index$len)] <- block_bytes(bytes, index)
  expect_riffle_error(qs_info(other), "corrupt", "index")
  expect_identical(qs_deserialize(other), list(a = as.numeric(1:20000) / 9))
})

test_that("nothing is left behind by a thousand corrupt files", {
  skip_on_cran()
  skip_if_not_linux()
  bytes <- qs_serialize(large_object())
  bad <- flip(bytes, length(bytes) %/% 2)
  path <- local_file(bad)
  before <- c(open_files(), threads_running())
  for (i in 1:10) outcome(qs_read(path, nthreads = 3))
  for (i in 1:1000) outcome(qs_deserialize(head(bytes, 200), nthreads = 3))
  expect_identical(c(open_files(), threads_running()), before)
  expect_identical(qs_deserialize(bytes), large_object())
})
