#' The bare stream of R's serializer
#'
#' [marshall()] gives the bytes of `serialize(x, NULL, xdr = FALSE)`, made in one vector of exactly
#' their length; [unmarshall()] restores the object; [calc_size()] tells the length without making
#' the bytes. All three work over 2^31 bytes.
#'
#' The stream has no compression and no checksum: for what is kept, use [qs_serialize()].
#'
#' @param x Any R object.
#' @param version The version of R's serialization format, 3 or 2 (for R before 3.5.0).
#' @param input A raw vector made by [marshall()], or by [serialize()] in any of its forms.
#' @param data_only `TRUE` to accept plain data only, as [qs_read()] does, for bytes that cannot be
#'   trusted. They must be those of [marshall()] or of [serialize()], but not in its ASCII format.
#'
#' @return [marshall()]: a raw vector. [unmarshall()]: the object. [calc_size()]: a number of bytes,
#'   as a double. Errors are of class `riffle_error`, see [riffle-package].
#' @references R Internals, section "Serialization Formats".
#' @export
#' @examples
#' x <- list(1:10, letters)
#' bytes <- marshall(x)
#' identical(bytes, serialize(x, NULL, xdr = FALSE))
#' identical(unmarshall(bytes), x)
#'
#' # how large would it be?
#' calc_size(x) == length(bytes)
marshall <- function(x, version = 3L) {
  .Call(ffi_marshall, x, version)
}

#' @rdname marshall
#' @export
unmarshall <- function(input, data_only = FALSE) {
  .Call(ffi_unmarshall, input, data_only)
}

#' @rdname marshall
#' @export
calc_size <- function(x, version = 3L) {
  .Call(ffi_calc_size, x, version)
}
