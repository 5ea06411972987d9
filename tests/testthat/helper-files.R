read_bytes <- function(path) readBin(path, "raw", file.size(path))

write_bytes <- function(bytes, path) {
  writeBin(bytes, path)
  path
}

# With names that begin with a dot, as those of temporary files do.
files_in <- function(folder) sort(list.files(folder, all.files = TRUE, no.. = TRUE))

mode_of <- function(path) format(file.mode(path))

# The path of a new file that holds `bytes`; it is there as long as the caller runs.
local_file <- function(bytes = raw(), env = parent.frame()) {
  write_bytes(bytes, withr::local_tempfile(.local_envir = env, fileext = ".rif"))
}

# As saveRDS(x, path, ...), but for ascii = NA, which is the native binary format here.
save_rds <- function(x, path, ascii = FALSE, compress = "gzip", version = 3) {
  if (!is.na(ascii)) return(saveRDS(x, path, ascii = ascii, compress = compress, version = version))
  open <- switch(as.character(compress), gzip = gzfile, bzip2 = bzfile, xz = xzfile, "FALSE" = file)
  con <- open(path, "wb")
  on.exit(close(con))
  writeBin(serialize(x, NULL, xdr = FALSE, version = version), con)
}

u32 <- function(bytes, at) sum(as.numeric(bytes[at + 1:4]) * 256^(0:3))

put_u32 <- function(bytes, at, value) {
  bytes[at + 1:4] <- as.raw(value %/% 256^(0:3) %% 256)
  bytes
}

flip <- function(bytes, at, mask = 0xff) {
  bytes[at] <- xor(bytes[at], as.raw(mask))
  bytes
}

# The blocks of a riffle file, the end block included; `at` and `len` in bytes, `at` from 0.
blocks_of <- function(bytes) {
  at <- 32
  rows <- list()
  repeat {
    stored_len <- u32(bytes, at + 24)
    row <- data.frame(at = at, len = 32 + stored_len, kind = as.integer(bytes[at + 9]),
                      codec = as.integer(bytes[at + 10]), filter = as.integer(bytes[at + 11]),
                      seq = u32(bytes, at + 12), raw_len = u32(bytes, at + 16),
                      packed_len = u32(bytes, at + 20), stored_len = stored_len,
                      count = u32(bytes, at + 28))
    rows <- c(rows, list(row))
    at <- at + row$len
    if (row$kind == END) return(do.call(rbind, rows))
  }
}

# Those of the stream: without the index and the end.
stream_blocks <- function(bytes) {
  blocks <- blocks_of(bytes)
  blocks[!blocks$kind %in% c(INDEX, END), ]
}

BYTES <- 1L
NUMBERS <- 2L
STRINGS <- 3L
INDEX <- 4L
END <- 5L

block_bytes <- function(bytes, block) bytes[block$at + seq_len(block$len)]

# The file with the blocks of its stream in another order; the index and the end block stay last.
rearrange <- function(bytes, order) {
  blocks <- blocks_of(bytes)
  last <- which(blocks$kind %in% c(INDEX, END))
  pieces <- lapply(c(order, last), function(i) block_bytes(bytes, blocks[i, ]))
  c(bytes[1:32], unlist(pieces))
}

open_files <- function() length(list.files("/proc/self/fd"))

threads_running <- function() length(list.files("/proc/self/task"))

skip_if_not_linux <- function() skip_if_not(dir.exists("/proc/self/task"), "needs Linux's /proc")

skip_if_not_utf8 <- function() skip_if_not(l10n_info()[["UTF-8"]], "needs a UTF-8 locale")

# The stream in a file whose blocks are neither filtered nor compressed.
stream_in <- function(bytes) {
  blocks <- stream_blocks(bytes)
  stopifnot(blocks$codec == 0, blocks$filter == 0)
  pieces <- lapply(seq_len(nrow(blocks)), function(i) tail(block_bytes(bytes, blocks[i, ]), -32))
  as.raw(unlist(pieces))
}
