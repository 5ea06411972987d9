#' Hash an object
#'
#' Gives the XXH3 hash of a raw vector's bytes, or of any other object's content: a name for a value,
#' for caches and for finding out whether something has changed. It is fast and made against chance,
#' not against intent: do not use it where someone could gain by making two values of one hash.
#'
#' Of a raw vector without attributes it is the hash of its bytes, what `xxhsum -H3` (64 bits) or
#' `xxhsum -H2` (128 bits) prints for a file of them.
#'
#' Of any other object it is the hash of its serialized stream, which is made and hashed piece by
#' piece, never stored. Of data the stream is R's of version 2 without the header that names R's
#' version; functions, calls and environments go in a form of riffle's own, which leaves out what
#' differs from session to session. So equal objects have equal hashes in every session, on every
#' little-endian machine and with every version of R. It does not count
#' * whether a vector is compact (`1:10`) or has its elements in memory, nor any other ALTREP form,
#'   and hashing does not change that;
#' * whether a vector has grown by assignment;
#' * the encoding of strings (latin1, UTF-8, unmarked), unless it is "bytes": they are hashed in
#'   UTF-8;
#' * byte code, source references and how often a function has been called;
#' * the order in which an environment was filled: its bindings are taken in the order of their names.
#'   Promises are not forced and active bindings are not called; a promise that was forced counts as
#'   its value.
#'
#' Everything else counts, more than for [identical()]: the order of attributes, the sign of zero and
#' the bits of `NaN`. Namespaces and packages count by name (and version), the global environment as
#' such, other environments by their content.
#'
#' Not covered: objects that hold weak references, or the environment of a function call that was
#' given `...`, are left to R's serializer, which writes byte code, source references and the places
#' of an environment's bindings in memory. Their hash can differ between equal objects, and after a
#' function in them has been called a few times. External pointers are all alike but for what they
#' protect.
#'
#' @param x Any R object.
#' @param bits The length of the hash in bits, `64` or `128`. Among a few million different values
#'   two with the same 64 bits are unlikely; with 128 they are out of the question.
#'
#' @return A string of 16 or 32 lower-case hexadecimal digits, in canonical order (the most
#'   significant first). Errors are of class `riffle_error`, see [riffle-package].
#' @references XXH3: <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>. R Internals,
#'   section "Serialization Formats".
#' @seealso [marshall()] for the stream itself.
#' @export
#' @examples
#' qs_hash(mtcars)
#' qs_hash(charToRaw("abc"), bits = 128)
#'
#' # equal values, equal hashes
#' qs_hash(1:3) == qs_hash(c(1L, 2L, 3L))
qs_hash <- function(x, bits = 64) {
  .Call(ffi_hash, x, bits, FALSE)
}

# For tests: of the stream that R's serializer writes.
hash_by_serializer <- function(x, bits = 64) .Call(ffi_hash, x, bits, TRUE)
