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

packed_connection <- function(file, subject = sQuote(file, FALSE)) {
  call <- own_call()
  con <- try_open(gzfile(file, "rb"), function(reason) {
    raise("riffle_error_io", paste0("Can't read ", subject, ": ", reason, "."), call)
  })
  structure(con, subject = subject, ours = TRUE)
}
