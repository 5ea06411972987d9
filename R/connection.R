# Connections as `file` of qs_save() and qs_read(). C takes open ones, and calls write_connection()
# and read_connection() for each piece.
#
# One that is not open is opened for the call and closed after it, and stays a valid connection, as with
# saveRDS() and readRDS(). R offers that only within one call of writeBin() or readBin(): close()
# destroys the object. So what is opened and closed in its place is another of the same kind; where
# there can be none (its settings are not told), all bytes go by one such call.

# What C is to take for `con`: `file`, a path or an open connection; what to do when that has been
# written, `finish`, and at the end in any case, `close`.
sink_of <- function(con) {
  call <- sys.call(-1)
  about <- describe_connection(con, "write", call)
  if (about$opened == "opened") return(list(file = named(con, about)))
  if (has_path(about)) return(list(file = about$description))
  cant <- function(reason) {
    raise("riffle_error_io",
          paste0("Can't save to ", subject_of(about), ": ", reason, "."), call)
  }
  switch(about$class,
         pipe = sink_pipe(about, cant),
         gzfile = , bzfile = , xzfile = sink_whole(con, about, cant),
         must_be_open(about, "write", call))
}

sink_pipe <- function(about, cant) {
  con <- try_open(pipe(about$description, "wb"), cant)
  finish <- function() {
    status <- close(con)
    con <<- NULL
    if (!is.null(status) && status != 0) cant("its command failed")
  }
  list(file = named(con, about), finish = finish,
       close = function() if (!is.null(con)) close_quietly(con))
}

# How strongly these compress is not told. writeBin() refuses what was made for text or has been read;
# saveRDS() does not, and leaves it open to writeBin(), which begins the file anew.
sink_whole <- function(con, about, cant) {
  memory <- rawConnection(raw(), "wb")
  finish <- function() {
    try_open(saveRDS(NULL, con), cant)
    reason <- write_connection(con, rawConnectionValue(memory), FALSE)
    if (!is.null(reason)) cant(paste("writing to it failed:", reason))
  }
  list(file = named(memory, about), finish = finish, close = function() close(memory))
}

source_of <- function(con) {
  call <- sys.call(-1)
  about <- describe_connection(con, "read", call)
  if (about$opened == "opened") return(list(file = named(con, about)))
  if (has_path(about)) return(list(file = about$description))
  if (about$class == "sockconn") must_be_open(about, "read", call)
  cant <- function(reason) {
    raise("riffle_error_io", paste0("Can't read ", subject_of(about), ": ", reason, "."), call)
  }
  place <- about$description
  con <- switch(about$class,
                file = try_open(file(place, "rb"), cant),
                pipe = try_open(pipe(place, "rb"), cant),
                gzfile = , bzfile = , xzfile = try_open(gzfile(place, "rb"), cant),
                unz = try_open(unz(sub(":[^:]*$", "", place), sub(".*:", "", place), "rb"), cant),
                rawConnection(read_whole(con, about, cant), "rb"))
  list(file = named(con, about, TRUE), close = function() close_quietly(con))
}

# `way` is "read" or "write".
describe_connection <- function(con, way, call) {
  about <- tryCatch(summary(con), error = function(e) {
    raise("riffle_error_argument", "`file` is an invalid connection: it has been closed.", call)
  })
  if (about$opened == "opened") {
    if (about$text == "text") wrong_mode("in binary mode", about, way, call)
    if (about[[paste("can", way)]] != "yes") {
      wrong_mode(if (way == "read") "that can be read" else "that can be written to", about, way, call)
    }
  }
  about
}

wrong_mode <- function(needed, about, way, call) {
  raise("riffle_error_argument", sprintf(
    "`file` must be a connection %s: open it with \"%s\", not with \"%s\".",
    needed, mode_for(way), about$mode
  ), call)
}

must_be_open <- function(about, way, call) {
  raise("riffle_error_argument", sprintf(
    "`file`, a connection of class '%s', must be open: open it with \"%s\".", about$class, mode_for(way)
  ), call)
}

mode_for <- function(way) if (way == "read") "rb" else "wb"

subject_of <- function(about) paste("the connection", sQuote(about$description, FALSE))

# C's messages call it so.
named <- function(con, about, ours = FALSE) structure(con, subject = subject_of(about), ours = ours)

# Such a one is as good as its path, and that is better: replaced at the end, read anywhere.
has_path <- function(about) {
  about$class == "fifo" || (about$class == "file" && about$description != "stdin")
}

# R's error is only that it cannot open the connection; why, is in the warning before it.
try_open <- function(expr, cant) {
  why <- NULL
  withCallingHandlers(
    tryCatch(expr, error = function(e) cant(c(why, conditionMessage(e))[1])),
    warning = function(w) {
      why <<- conditionMessage(w)
      invokeRestart("muffleWarning")
    }
  )
}

# A pipe whose command has ended complains.
close_quietly <- function(con) suppressWarnings(try(close(con), silent = TRUE))

# The bytes of a connection that is not open, such as a url() with headers, which are not told. Nor is
# how many they are: what proves too few is read again from the beginning. readChar(), other than
# readBin(), opens also what was made for text, and leaves it marked as binary.
read_whole <- function(con, about, cant) {
  if (about$text == "text") try_open(readChar(con, 0L, useBytes = TRUE), cant)
  n <- 2^26
  repeat {
    bytes <- try_open(readBin(con, "raw", n), cant)
    if (length(bytes) < n) return(bytes)
    if (n == .Machine$integer.max) cant("it is too long to be read at once: open it first")
    n <- min(8 * n, .Machine$integer.max)
  }
}

# ---- called from C (r_connection.c) -----------------------------------------------------------

# NULL, or why it failed. That not all could be written is only a warning of writeBin().
write_connection <- function(con, bytes, last) {
  tryCatch({
    if (length(bytes)) writeBin(bytes, con)
    if (last) flush(con)
    NULL
  }, error = why_not_written, warning = why_not_written)
}

# R's handler of the signal raises an error of this name.
why_not_written <- function(condition) {
  message <- conditionMessage(condition)
  if (grepl("SIGPIPE", message, fixed = TRUE)) "nobody reads it any longer" else message
}

# Up to n bytes, none at the end; NULL after a while if more may come; or why it failed.
read_connection <- function(con, n, n_silent) {
  tryCatch({
    bytes <- if (inherits(con, "fifo")) read_fifo(con, n, n_silent) else readBin(con, "raw", n)
    if (length(bytes) || !is.null(bytes) && !isIncomplete(con)) return(bytes)
    Sys.sleep(0.05)
    NULL
  }, error = conditionMessage, warning = conditionMessage)
}

# Of one that does not block it is an error of readBin() that its writer has nothing to give yet. If
# there is no writer, there may have been none yet: for 5 seconds.
read_fifo <- function(con, n, n_silent) {
  bytes <- tryCatch(readBin(con, "raw", n), error = function(e) {
    nothing_yet <- gettext("error reading from the connection", domain = "R")
    if (conditionMessage(e) == nothing_yet) NULL else stop(e)
  })
  if (length(bytes) || n_silent >= 100) bytes
}
