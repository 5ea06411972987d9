# Every bit counts: -0 is not 0, NaNs differ by their payload, attributes have an order.
is_same <- function(a, b) {
  identical(a, b, num.eq = FALSE, single.NA = FALSE, attrib.as.set = FALSE,
            ignore.environment = TRUE, ignore.srcref = FALSE)
}

# A vector that has grown keeps a flag that says so, which R wrote until 4.6 and the builder drops.
is_same_stream <- function(a, b) {
  if (length(a) != length(b)) return(FALSE)
  differ <- which(a != b)
  length(differ) == 0 || (getRversion() < "4.6" && all(xor(a[differ], b[differ]) == as.raw(2)))
}

# `x` comes back by each pair of functions as it does by serialize() and unserialize(): identical,
# and of the same stream (which also tells encodings, ALTREP classes and flags apart). Environments
# and pointers are never identical to the original: `identical = FALSE` compares streams alone.
expect_round_trip <- function(x, what = "The object", identical = TRUE) {
  path <- withr::local_tempfile(fileext = ".rif")
  qs_save(x, path)
  restored <- list(
    "qs_save() and qs_read()" = qs_read(path),
    "qs_serialize() and qs_deserialize()" = qs_deserialize(qs_serialize(x)),
    "marshall() and unmarshall()" = unmarshall(marshall(x))
  )
  # before identical(), which expands some ALTREP objects
  streams <- lapply(restored, serialize, NULL)
  expected <- serialize(unserialize(serialize(x, NULL)), NULL)
  for (way in names(restored)) {
    expect(is_same_stream(streams[[way]], expected),
           sprintf("%s has another stream after %s.", what, way))
    if (identical) {
      expect(is_same(restored[[way]], x), sprintf("%s is not identical after %s.", what, way))
    }
  }
  expect_identical(live_calls(), 0L)
}

expect_round_trips <- function(values, identical = TRUE) {
  for (i in seq_along(values)) expect_round_trip(values[[i]], names(values)[i], identical)
}

# `expr` raises an error of that class whose message contains `message`; a warning or a value is
# a failure. The call it came from has released all it held.
expect_riffle_error <- function(expr, class, message) {
  condition <- tryCatch({ expr; simpleCondition("no error") }, condition = identity)
  expect_identical(class(condition),
                   c(paste0("riffle_error_", class), "riffle_error", "error", "condition"),
                   info = conditionMessage(condition))
  if (!missing(message)) expect_match(conditionMessage(condition), message, fixed = TRUE)
  expect_identical(live_calls(), 0L)
  invisible(condition)
}

# What comes of `expr` in a word, for loops over many inputs: a riffle_error's own class, or what
# must not be.
outcome <- function(expr) {
  tryCatch({ expr; "a value" },
           riffle_error = function(c) sub("riffle_error_", "", class(c)[1]),
           error = function(c) paste("a bare error:", conditionMessage(c)),
           warning = function(c) paste("a warning:", conditionMessage(c)))
}

# The outcomes of fun() for each input are all among `allowed`; tells the inputs where they are not.
expect_outcomes <- function(inputs, fun, allowed) {
  got <- vapply(inputs, function(input) outcome(fun(input)), "")
  bad <- !got %in% allowed
  expect(!any(bad), paste0(inputs[bad], " gives ", got[bad], collapse = "\n"))
  expect_identical(live_calls(), 0L)
}
