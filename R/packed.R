# Files compressed by bzip2, xz or zstd: R's own connections read them. All are called from C.

read_packed <- function(file, validate, nthreads, refhook, data_only, progress) {
  con <- packed_connection(file)
  on.exit(close_quietly(con))
  .Call(ffi_read, con, validate, nthreads, refhook, data_only, progress)
}

convert_packed <- function(input, output, format, level, nthreads) {
  con <- packed_connection(input)
  on.exit(close_quietly(con))
  .Call(ffi_convert, con, output, format, level, nthreads)
}

deserialize_packed <- function(input, validate, nthreads, refhook, data_only, progress) {
  file <- tempfile()
  on.exit(unlink(file))
  writeBin(input, file)
  con <- packed_connection(file, "the raw vector")
  on.exit(close_quietly(con), add = TRUE)
  .Call(ffi_read, con, validate, nthreads, refhook, data_only, progress)
}

# Checked as a whole first: damage must not get to R's unserializer, and R reads a cut file in silence
# as far as it goes.
packed_connection <- function(file, subject = sQuote(file, FALSE)) {
  call <- own_call()
  refuse <- function(class, reason) {
    raise(class, paste0("Can't read ", subject, ": ", reason, "."), call)
  }
  corrupt <- function(...) {
    refuse("riffle_error_corrupt", "it is corrupt (its compressed data does not decode)")
  }
  n <- tryCatch(unpack_pieces(file, TRUE)$stream_bytes, error = corrupt, warning = corrupt)
  ends <- read_ends(file)
  if (identical(ends$first[1:2], as.raw(c(0xfd, 0x37))) && !ends_as_xz(ends$last)) corrupt()
  con <- if (identical(ends$first[1:3], charToRaw("BZh"))) bzip2_connection(file, n, corrupt)
  if (is.null(con)) con <- try_open(gzfile(file, "rb"), function(why) refuse("riffle_error_io", why))
  structure(con, subject = subject, ours = TRUE, packed = TRUE)
}

# R's connections do not tell of bzip2's checksums; memDecompress() does, of the first stream in a
# file. NULL: there are more.
bzip2_connection <- function(file, n, corrupt) {
  bytes <- readBin(file, "raw", file.size(file))
  stream <- tryCatch(memDecompress(bytes, "bzip2"), error = corrupt)
  if (length(stream) > n) corrupt()
  if (length(stream) == n) rawConnection(stream)
}
