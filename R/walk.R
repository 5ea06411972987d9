# For tests: whether the walker takes the object, or R's serializer.
is_plain <- function(x) {
  .Call(ffi_is_plain, x)
}
