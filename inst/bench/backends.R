# The packages compared. A backend is made by calling its constructor, once its package is known to
# be there; the functions are looked up then, so that `::` is not part of what is timed.
#   write(x, file), read(file)  what is timed
#   same(x, y)                  what must hold of the object read, before anything is timed
#   memory                      the operations on raw vectors that it has (see memory_input())

backends <- list(
  riffle = function(threads) {
    save <- riffle::qs_save
    read <- riffle::qs_read
    serialize_to <- riffle::qs_serialize
    deserialize <- riffle::qs_deserialize
    list(
      write = function(x, file) save(x, file, nthreads = threads),
      read = function(file) read(file, nthreads = threads),
      same = same_object,
      memory = list(
        serialize = function(x) serialize_to(x, nthreads = threads),
        deserialize = function(bytes) deserialize(bytes, nthreads = threads),
        marshall = riffle::marshall,
        unmarshall = riffle::unmarshall,
        size = riffle::calc_size
      )
    )
  },
  qs2 = function(threads) {
    save <- qs2::qs_save
    read <- qs2::qs_read
    serialize_to <- qs2::qs_serialize
    deserialize <- qs2::qs_deserialize
    list(
      write = function(x, file) save(x, file, nthreads = threads),
      read = function(file) read(file, nthreads = threads),
      same = same_object,
      memory = list(
        serialize = function(x) serialize_to(x, nthreads = threads),
        deserialize = function(bytes) deserialize(bytes, nthreads = threads)
      )
    )
  },
  qdata = function(threads) {
    save <- qs2::qd_save
    read <- qs2::qd_read
    list(
      write = function(x, file) save(x, file, nthreads = threads),
      read = function(file) read(file, nthreads = threads),
      same = same_object
    )
  },
  fst = function(threads) {
    fst::threads_fst(threads)
    save <- fst::write_fst
    read <- fst::read_fst
    list(write = function(x, file) save(as_frame(x), file), read = read, same = same_data)
  },
  datatable = function(threads) {
    data.table::setDTthreads(threads)
    save <- data.table::fwrite
    read <- data.table::fread
    list(
      write = function(x, file) save(as_frame(x), file, na = "NA"),
      read = function(file) read(file, sep = ",", showProgress = FALSE),
      same = same_data
    )
  },
  arrow = function(threads) {
    arrow::set_cpu_count(threads)
    save <- arrow::write_parquet
    read <- arrow::read_parquet
    list(write = function(x, file) save(as_frame(x), file), read = read, same = same_data)
  },
  nanoparquet = function(threads) {
    save <- nanoparquet::write_parquet
    read <- nanoparquet::read_parquet
    list(write = function(x, file) save(as_frame(x), file), read = read, same = same_data)
  },
  base = function(threads) {
    list(write = saveRDS, read = readRDS, same = same_object)
  },
  base_raw = function(threads) {
    list(
      write = function(x, file) saveRDS(x, file, compress = FALSE),
      read = readRDS,
      same = same_object,
      memory = list(
        marshall = function(x) serialize(x, NULL, xdr = FALSE),
        unmarshall = unserialize
      )
    )
  },
  callback = function(threads) {
    list(memory = list(size = empty_serialize()))
  }
)

backend_package <- c(
  riffle = "riffle", qs2 = "qs2", qdata = "qs2", fst = "fst", datatable = "data.table",
  arrow = "arrow", nanoparquet = "nanoparquet", base = "base", base_raw = "base", callback = "base"
)

table_backends <- c("riffle", "qs2", "qdata", "fst", "base", "base_raw", "callback")

# The backends that can run here, made; says which cannot.
open_backends <- function(names, threads) {
  opened <- list()
  for (name in names) {
    package <- backend_package[[name]]
    if (!requireNamespace(package, quietly = TRUE)) {
      message("missing: backend ", name, " needs the package ", package)
      next
    }
    opened[[name]] <- tryCatch(backends[[name]](threads), error = function(e) {
      message("missing: backend ", name, ": ", conditionMessage(e))
      NULL
    })
  }
  opened
}

versions <- function(names) {
  packages <- unique(backend_package[names])
  packages <- setdiff(packages, "base")
  found <- vapply(packages, function(p) format(utils::packageVersion(p)), "")
  paste(packages, found, collapse = ", ")
}

# Compiles the empty-callback R_Serialize in a temporary folder.
empty_serialize <- function() {
  folder <- tempfile("callback")
  dir.create(folder)
  file.copy(file.path(here, "empty_serialize.c"), folder)
  source <- file.path(folder, "empty_serialize.c")
  log <- suppressWarnings(system2(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", shQuote(source)),
                                  stdout = TRUE, stderr = TRUE))
  library <- file.path(folder, paste0("empty_serialize", .Platform$dynlib.ext))
  if (!file.exists(library)) stop("no compiler made it: ", utils::tail(log, 1))
  symbol <- dyn.load(library)$empty_serialize
  function(x) .Call(symbol, x)
}

# What a columnar format can hold: a data frame, or a vector as its only column.
as_frame <- function(x) {
  if (is.data.frame(x)) return(x)
  if (!is.atomic(x) || !is.null(dim(x))) stop("not a data frame or a plain vector")
  structure(list(x = x), class = "data.frame", row.names = .set_row_names(length(x)))
}

# Bit for bit; where the object holds environments, which are never identical to a copy, the
# bytes of both must be those that R's own round trip gives.
same_object <- function(x, y) {
  if (identical(x, y, num.eq = FALSE, single.NA = FALSE, attrib.as.set = FALSE)) return(TRUE)
  base <- serialize(unserialize(serialize(x, NULL)), NULL)
  identical(base, serialize(y, NULL))
}

# The same values in the same columns; types and attributes may differ.
same_data <- function(x, y) {
  x <- as_frame(x)
  y <- as.data.frame(y)
  identical(names(x), names(y)) && nrow(x) == nrow(y) && all(mapply(same_column, x, y))
}

same_column <- function(a, b) {
  plain <- function(v) !is.factor(v) && is.numeric(unclass(v))
  if (plain(a) && plain(b)) return(isTRUE(all.equal(as.numeric(a), as.numeric(b))))
  identical(as.character(a), as.character(b))
}
