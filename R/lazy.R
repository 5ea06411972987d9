# A file with vectors that are read when they are first used: see src/r_lazy.h. `otherwise` is
# evaluated for what has to be read at once: another format, an object that is not plain, a file
# without an index.
read_lazy <- function(file, nthreads, data_only,
                      otherwise = qs_read(file, nthreads = nthreads, data_only = data_only)) {
  x <- .Call(ffi_lazy, file, nthreads, data_only, not_lazy)
  if (identical(x, not_lazy)) otherwise else x
}

# What no file holds.
not_lazy <- new.env()
