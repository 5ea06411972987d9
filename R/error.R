# Called from C (r_error.c). Both raise a condition whose call is the one that the user made: C's
# .Call() has no frame of its own.

# The first of the frames of ours that end with our caller's. To be called before a promise hides it.
# NULL if the caller is the only one: a lazy vector was read.
own_call <- function() {
  ours <- topenv()
  i <- caller <- sys.nframe() - 1
  while (i > 1 && identical(topenv(environment(sys.function(i - 1))), ours)) i <- i - 1
  if (i < caller) sys.call(i)
}

abort <- function(class, what, is_path) {
  call <- own_call()
  subject <- if (is_path) sQuote(what[2], FALSE) else what[2]
  raise(class, paste0(what[1], subject, ": ", what[3], "."), call)
}

abort_argument <- function(name, takes, value) {
  call <- own_call()
  raise("riffle_error_argument", sprintf("`%s` must be %s, not %s.", name, takes, describe(value)), call)
}

raise <- function(class, message, call) {
  stop(structure(class = c(class, "riffle_error", "error", "condition"),
                 list(message = message, call = call)))
}

# A value in a few words: itself if it is short, else what kind of thing it is.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.atomic(x) && length(x) == 1 && is.null(attributes(x))) {
    return(if (is.character(x) && !is.na(x)) encodeString(x, quote = "\"") else format(x))
  }
  if (is.function(x)) return("a function")
  sprintf("an object of class %s and length %d", sQuote(class(x)[1], FALSE), length(x))
}

# Called from C, too: the object is given back all the same.
warn <- function(what, is_path) {
  call <- own_call()
  subject <- if (is_path) sQuote(what[1], FALSE) else what[1]
  warning(structure(class = c("riffle_warning", "warning", "condition"),
                    list(message = paste0(subject, ": ", what[2], "."), call = call)))
}
