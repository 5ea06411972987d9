#' A storr store of riffle files
#'
#' [storr_riffle()] opens a store for objects in a folder, or makes one, and gives the `storr` object
#' of the package \pkg{storr} for it; [driver_riffle()] gives the driver alone, for
#' `storr::storr()`. They take the place of `storr::storr_rds()` and `storr::driver_rds()`.
#'
#' An object is a file that [qs_save()] writes, named by its hash; a key is a small file of the same
#' format that holds a hash. Objects appear complete or not at all; a key that gets another hash of the
#' same length is written over. Capital letters of a key are written
#' as `+a` and characters that a file name cannot have as `%2f`, so any key may be used that leaves
#' the name under 255 bytes, also where file names do not tell capital letters from small ones.
#'
#' \pkg{storr} makes the hash itself, from the object serialized in memory. For a large object that
#' takes longer than to save it.
#'
#' @param path The path of the store's folder: an existing store, an empty folder, or none yet.
#' @param hash_algorithm The name of an algorithm of `digest::digest()`. `NULL`: that of the store;
#'   for a new store `"xxh3_128"` where the installed \pkg{digest} has it, which is faster, else
#'   `"md5"`, as \pkg{storr} has it. It stays that of the store: asking for another is an error of
#'   classes `riffle_error_argument` and `ConfigError`.
#' @param default_namespace The namespace of keys for which none is given.
#' @param ... Arguments of [qs_save()] for the objects: `compress_level`, `shuffle`, `nthreads`,
#'   `codec`.
#'
#' @return [storr_riffle()]: an object of class `storr`. [driver_riffle()]: an environment with the
#'   functions of a driver. Errors in reading and writing are of class `riffle_error`, see
#'   [riffle-package].
#' @seealso `vignette("integrations", package = "riffle")` for other caches and pipelines.
#' @export
#' @examplesIf requireNamespace("storr", quietly = TRUE)
#' path <- tempfile()
#' store <- storr_riffle(path)
#' store$set("cars", mtcars)
#' store$list()
#'
#' # another session finds it by the path
#' identical(storr_riffle(path)$get("cars"), mtcars)
#' store$destroy()
storr_riffle <- function(path, hash_algorithm = NULL, default_namespace = "objects", ...) {
  if (!requireNamespace("storr", quietly = TRUE)) {
    raise("riffle_error_argument", "The package 'storr' is needed, and not installed.", sys.call())
  }
  storr::storr(driver_riffle(path, hash_algorithm, ...), default_namespace)
}

#' @rdname storr_riffle
#' @export
driver_riffle <- function(path, hash_algorithm = NULL, ...) {
  unknown <- setdiff(names(list(...)), names(formals(qs_save)))
  if (length(unknown)) {
    raise("riffle_error_argument", sprintf("`%s` is no argument of qs_save().", unknown[1]), sys.call())
  }
  hash_algorithm <- store_open(path, hash_algorithm, sys.call())
  path <- normalizePath(path)
  keys <- file.path(path, "keys")
  objects <- file.path(path, "objects")
  last <- list()
  key_file <- function(key, namespace) {
    # storr asks whether a key is there, then for its hash
    if (!identical(last$of, list(key, namespace))) {
      file <- file.path(keys, encode_name(namespace), encode_name(key))
      last <<- list(of = list(key, namespace), file = file)
    }
    last$file
  }
  object_file <- function(hash) {
    if (length(hash)) file.path(objects, paste0(hash, ".rif")) else character()
  }

  driver <- list(
    path = path,
    hash_algorithm = hash_algorithm,
    # not throw_missing: storr would report whatever fails as missing, a damaged file too
    traits = list(accept = "object"),
    type = function() "riffle",
    destroy = function() unlink(path, recursive = TRUE),

    get_hash = function(key, namespace) qs_read(key_file(key, namespace), FALSE, 1L),
    set_hash = function(key, namespace, hash) {
      file <- key_file(key, namespace)
      bytes <- qs_serialize(hash, nthreads = 1L, codec = "none")
      if (overwrite(file, bytes)) return(invisible())
      dir.create(dirname(file), showWarnings = FALSE)
      qs_save(hash, file, nthreads = 1L, codec = "none")
    },
    exists_hash = function(key, namespace) file.exists(key_file(key, namespace)),
    del_hash = function(key, namespace) remove_files(key_file(key, namespace)),
    list_keys = function(namespace) decode_name(list.files(file.path(keys, encode_name(namespace)))),
    list_namespaces = function() decode_name(list.files(keys)),

    get_object = function(hash) qs_read(object_file(hash)),
    set_object = function(hash, value) qs_save(value, object_file(hash), ...),
    exists_object = function(hash) file.exists(object_file(hash)),
    del_object = function(hash) remove_files(object_file(hash)),
    list_hashes = function() sub("\\.rif$", "", list.files(objects, "\\.rif$"))
  )
  structure(list2env(driver, parent = emptyenv()), class = "driver_riffle")
}

# Opens or makes the store and gives its hash algorithm. The file store.rif comes first, so a folder
# with other files and without it is none of ours.
store_open <- function(path, hash_algorithm, call) {
  refuse <- function(...) raise("riffle_error_argument", sprintf(...), call)
  if (!is_string(path)) refuse("`path` must be a string, not %s.", describe(path))
  if (!is.null(hash_algorithm) && !is_string(hash_algorithm)) {
    refuse("`hash_algorithm` must be a string or NULL, not %s.", describe(hash_algorithm))
  }
  file <- file.path(path, "store.rif")
  if (file.exists(file)) {
    store <- qs_read(file)
    if (store$layout != 1) refuse("The store %s needs a newer version of riffle.", sQuote(path, FALSE))
    if (!is.null(hash_algorithm) && hash_algorithm != store$hash_algorithm) {
      raise(c("riffle_error_argument", "ConfigError"),
            sprintf("Incompatible value for hash_algorithm: the store has \"%s\", not \"%s\".",
                    store$hash_algorithm, hash_algorithm), call)
    }
    return(store$hash_algorithm)
  }
  if (length(list.files(path))) {
    refuse("`path` must be a store of riffle or an empty folder, not %s.", sQuote(path, FALSE))
  }
  if (is.null(hash_algorithm)) hash_algorithm <- best_hash_algorithm()
  if (requireNamespace("digest", quietly = TRUE) &&
      !hash_algorithm %in% eval(formals(digest::digest)$algo)) {
    refuse("`hash_algorithm` must be one that digest has, not \"%s\".", hash_algorithm)
  }
  dir.create(path, showWarnings = FALSE, recursive = TRUE)
  qs_save(list(layout = 1L, hash_algorithm = hash_algorithm), file)
  for (folder in c("keys", "objects")) dir.create(file.path(path, folder), showWarnings = FALSE)
  hash_algorithm
}

# The fastest of 128 bits that digest has, with which storr makes its hashes.
best_hash_algorithm <- function() {
  known <- if (requireNamespace("digest", quietly = TRUE)) eval(formals(digest::digest)$algo)
  if ("xxh3_128" %in% known) "xxh3_128" else "md5"
}

# Puts the bytes in place of as many, and tells whether it could. File systems such as ext4 take
# longer to put a new small file in place of an old one than to write it. One write within a page: a
# reader that is as quick as to see half of it sees a checksum that differs, not another hash.
overwrite <- function(file, bytes) {
  if (!identical(file.size(file), as.double(length(bytes)))) return(FALSE)
  tryCatch({
    con <- file(file, "r+b")
    writeBin(bytes, con)
    identical(close(con), 0L)
  }, error = function(e) FALSE, warning = function(w) FALSE)
}

# Which of the files were there.
remove_files <- function(files) {
  there <- file.exists(files)
  unlink(files[there])
  there
}

# Any string as a file name, and back. Capital letters get a mark, for file systems that ignore case.
is_odd_name <- function(x) !grepl("^[a-z0-9_-][a-z0-9_.-]*\\z", x, perl = TRUE)

encode_name <- function(x) {
  odd <- is_odd_name(x)
  if (any(odd)) x[odd] <- vapply(x[odd], encode_odd_name, "")
  x
}

encode_odd_name <- function(x) {
  if (!nzchar(x)) return("%")
  bytes <- charToRaw(enc2utf8(x))
  is_capital <- bytes >= charToRaw("A") & bytes <= charToRaw("Z")
  is_kept <- bytes %in% charToRaw("abcdefghijklmnopqrstuvwxyz0123456789_.-")
  is_kept[1] <- is_kept[1] && bytes[1] != charToRaw(".") # a hidden file, or `..`
  name <- sprintf("%%%02x", as.integer(bytes))
  name[is_kept] <- rawToChar(bytes[is_kept], multiple = TRUE)
  name[is_capital] <- paste0("+", tolower(rawToChar(bytes[is_capital], multiple = TRUE)))
  paste(name, collapse = "")
}

decode_name <- function(x) {
  odd <- grepl("[%+]", x)
  if (any(odd)) x[odd] <- vapply(x[odd], decode_odd_name, "")
  x
}

decode_odd_name <- function(x) {
  if (x == "%") return("")
  pieces <- regmatches(x, gregexpr("%[0-9a-f]{2}|[+][a-z]|[^%+]+", x))[[1]]
  bytes <- lapply(pieces, function(piece) {
    switch(substr(piece, 1, 1),
           "%" = as.raw(strtoi(substring(piece, 2), 16L)),
           "+" = charToRaw(toupper(substring(piece, 2))),
           charToRaw(piece))
  })
  name <- rawToChar(unlist(bytes))
  Encoding(name) <- "UTF-8"
  name
}
