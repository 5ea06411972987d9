# The object of a file, its long vectors read when they are first used: see src/r_lazy.h. Or what
# whole() gives, where all has to be read at once: another format, an object that is not plain, a file
# without an index.
read_lazy <- function(file, nthreads, data_only, whole) {
  x <- .Call(ffi_lazy, file, nthreads, data_only, not_lazy)
  if (identical(x, not_lazy)) whole() else x
}

# What no file holds.
not_lazy <- new.env()
