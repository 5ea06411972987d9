#' riffle: save any R object, fast and small
#'
#' `riffle` does what [saveRDS()] and [readRDS()] do: it keeps any R object in a file (or a raw
#' vector) and gives it back identical. The stream of bytes is that of R's own serializer; worker
#' threads filter, compress and checksum its blocks, and write them in order.
#'
#' * Files: [qs_save()], [qs_read()].
#' * Many objects: [qs_savem()], [qs_readm()]; results: [qs_cache()].
#' * What is in a file: [qs_info()].
#' * Parts of a file: [qs_read()], [qs_open()], [qs_chunks()].
#' * Raw vectors in the same format: [qs_serialize()], [qs_deserialize()].
#' * The bare stream of R's serializer: [marshall()], [unmarshall()], and its length: [calc_size()].
#' * What makes an object large: [qs_sizes()].
#' * Bytes: [qs_compress()], [qs_decompress()], and the hash of anything: [qs_hash()].
#' * From another package's C code: [riffle-c-api].
#' * Settings: [qopt()], [qs_threads()].
#'
#' @section Conditions:
#' Every error that riffle itself finds is a condition of class `riffle_error` and one subclass:
#' \tabular{ll}{
#'   `riffle_error_argument` \tab an argument is not what the function takes \cr
#'   `riffle_error_io` \tab the system refused: no such file, no permission, disk full \cr
#'   `riffle_error_format` \tab the input is of no format that riffle reads \cr
#'   `riffle_error_corrupt` \tab it is one, but damaged or cut short \cr
#'   `riffle_error_version` \tab it needs a newer version of riffle, or a machine of the other byte order \cr
#'   `riffle_error_data_only` \tab it holds more than data, and `data_only = TRUE` was asked for \cr
#'   `riffle_error_closed` \tab what [qs_open()] gave was used after it was closed \cr
#'   `riffle_error_depth` \tab the object is nested too deeply \cr
#'   `riffle_error_limit` \tab it holds more than the option `riffle.max_bytes` or the argument `max_size` allows \cr
#'   `riffle_error_memory` \tab memory ran out \cr
#'   `riffle_error_changed` \tab the object changed while it was serialized \cr
#'   `riffle_error_internal` \tab a library refused what it should take: a bug
#' }
#' What is odd but no error (a qs2 file without a hash, bytes behind an RDS file's object) is a warning of
#' class `riffle_warning`.
#' @keywords internal
#' @useDynLib riffle, .registration = TRUE
"_PACKAGE"

# How many calls hold threads, memory or open files: 0 between calls. For tests.
live_calls <- function() .Call(ffi_live_calls)
