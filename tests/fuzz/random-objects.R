# Random objects, each made from a seed, and what must hold for every one of them.
#
# random_object(seed) is plain data as the walker understands it; random_object(seed, any = TRUE)
# may hold functions, calls and environments as well.

methods::setClass("RandomSlots", where = globalenv(),
                  representation(number = "numeric", text = "character", any = "ANY"))
methods::setClass("RandomNumbers", contains = "numeric", where = globalenv(),
                  representation(unit = "character"))

one_of <- function(...) sample(list(...), 1)[[1]]

flip_coin <- function(p) runif(1) < p

# Mostly short; sometimes about as long as what makes a block of its own, or several.
random_length <- function() {
  switch(sample(8, 1), 0L, 1L, sample(5L, 1), sample(40L, 1), sample(255:257, 1),
         sample(508:516, 1), sample(3000L, 1), if (flip_coin(.05)) sample(140000L, 1) else 2L)
}

odd_values <- c(
  NA, NaN, readBin(as.raw(c(0x34, 0x12, 0, 0, 0, 0, 0xf8, 0xff)), "double", endian = "little"),
  readBin(as.raw(c(1, 0, 0, 0, 0, 0, 0xf0, 0x7f)), "double", endian = "little"),
  -0, 0, Inf, -Inf, 5e-324, -2.2e-308, .Machine$double.xmax, 2^53, 0.1
)

random_doubles <- function(n) {
  switch(sample(5, 1), rnorm(n), round(rlnorm(n), 2), as.numeric(sample(1000L, n, TRUE)),
         sample(odd_values, n, TRUE), rep(rnorm(1), n))
}

random_integers <- function(n) {
  switch(sample(4, 1), sample(c(NA, -3:3), n, TRUE), cumsum(sample(9L, n, TRUE)),
         as.integer(runif(n, -2147483647, 2147483647)), rep(NA_integer_, n))
}

encoded <- function(x, encoding) {
  Encoding(x) <- encoding
  x
}

random_texts <- list(
  function(n) sample(c("a", "b", "", NA, "NA"), n, TRUE),
  function(n) sprintf("id-%d", sample.int(1e6, n, TRUE)),
  function(n) sample(c("\u00e9", "\u4e2d\u6587", "\U1F600", "e"), n, TRUE),
  function(n) sample(c(encoded("\xe9", "latin1"), encoded("\xe9", "bytes"), "\u00e9", NA), n, TRUE),
  function(n) sample(c(encoded("\u00e9t\u00e9", "unknown"), "ete"), n, TRUE),
  function(n) strrep("s", sample(c(0:12, 38:44, 255:257), n, TRUE)),
  function(n) strrep("t", sample(c(1, 65535:65537), min(n, 40), TRUE))
)

random_strings <- function(n) sample(random_texts, 1)[[1]](n)

random_atomic <- function() {
  n <- random_length()
  switch(sample(6, 1), sample(c(TRUE, FALSE, NA), n, TRUE), random_integers(n), random_doubles(n),
         complex(real = random_doubles(n), imaginary = random_doubles(n)),
         as.raw(sample(0:255, n, TRUE)), random_strings(n))
}

partly_used <- function(x) {
  x[length(x)]
  x
}

wrap <- function(x) .Internal(wrap_meta(x, sample(c(NA, -1L, 1L), 1), flip_coin(.5)))

# Attributes set on a vector that is shared wrap it, without any knowledge of its order.
shared_and_noted <- function(x) {
  kept <- x
  attr(x, "note") <- "n"
  x
}

random_altrep <- function() {
  n <- 1L + random_length()
  switch(sample(10, 1), seq_len(n), n:1, 2147483646 + seq_len(n), as.numeric(1:9),
         as.character(seq_len(n)), as.character(random_doubles(n)),
         partly_used(as.character(seq_len(n))), sort(random_integers(n), na.last = NA),
         shared_and_noted(random_doubles(n + 64)), wrap(random_atomic()))
}

grown <- function(n) {
  x <- integer()
  for (i in seq_len(n)) x[[i]] <- i
  x
}

random_leaf <- function() {
  switch(sample(9, 1), random_atomic(), random_atomic(), random_atomic(), random_altrep(), NULL,
         as.name(one_of("x", "y", "a name", "\u00e7", "names")), grown(sample(100, 1)),
         one_of(globalenv(), baseenv(), emptyenv(), .BaseNamespaceEnv, alist(a = , b = 1)),
         methods::new("RandomSlots", number = random_doubles(3), text = random_strings(2)))
}

random_code <- function() {
  f <- function(x, ...) x + 1
  environment(f) <- globalenv()
  one_of(quote(f(x, 1)), utils::removeSource(f), new.env(parent = emptyenv()), sum, y ~ x)
}

random_frame <- function(depth, any) {
  n <- random_length()
  columns <- lapply(seq_len(sample(4, 1)), function(i) {
    switch(sample(5, 1), random_integers(n), random_doubles(n), sample(c("u", "v", NA), n, TRUE),
           factor(sample(letters, n, TRUE)), as.Date("2020-01-01") + sample(9L, n, TRUE))
  })
  names(columns) <- paste0("c", seq_along(columns))
  as.data.frame(columns)
}

# Elements are sometimes one object many times.
random_elements <- function(depth, any) {
  n <- sample(c(0:6, 20, 300), 1, prob = c(rep(1, 7), .4, .1))
  if (n > 6) return(rep_len(list(list(a = 1L, b = "u"), sample(9L, 1), sample(letters, 1)), n))
  lapply(seq_len(n), function(i) random_value(depth - 1, any))
}

random_container <- function(depth, any) {
  x <- switch(sample(6, 1), random_frame(depth, any), as.pairlist(random_elements(depth, any)),
              as.expression(random_elements(depth, any)),
              methods::new("RandomSlots", number = 1, text = "t", any = random_value(depth - 1, any)),
              random_elements(depth, any), random_elements(depth, any))
  if (is.null(x) || !is.list(x) || is.data.frame(x) || flip_coin(.5)) return(x)
  names(x) <- rep_len(c("a", "b", "", "names", "\u00fc"), length(x))
  x
}

with_attributes <- function(x, depth, any) {
  # these are not copied: an attribute would stay
  if (is.null(x) || is.name(x) || is.environment(x) || is.primitive(x)) return(x)
  for (i in seq_len(sample(3, 1))) {
    name <- one_of("note", "unit", "levels", "comment of it", "\u00e7", "class", "tsp2")
    value <- if (name == "class") random_class() else random_value(depth - 1, any)
    if (!is.null(value)) attr(x, name) <- value
  }
  if (is.atomic(x) && length(x) && flip_coin(.3)) dim(x) <- c(length(x), 1)
  x
}

random_class <- function() one_of("k", c("k", "l"), "noquote")

random_value <- function(depth, any) {
  x <- if (depth <= 0 || flip_coin(.4)) random_leaf() else random_container(depth, any)
  if (any && flip_coin(.1)) x <- random_code()
  if (depth > 0 && flip_coin(.3)) x <- with_attributes(x, depth, any)
  x
}

random_object <- function(seed, any = FALSE) {
  set.seed(seed)
  random_value(sample(0:5, 1), any)
}

# ---- what must hold -----------------------------------------------------------------------

# R before 4.6 marks vectors that were grown; riffle does not.
equal_but_growable <- function(bytes, r) {
  if (identical(bytes, r)) return(TRUE)
  if (getRversion() >= "4.6.0" || length(bytes) != length(r)) return(FALSE)
  at <- which(bytes != r)
  all(xor(bytes[at], r[at]) == as.raw(2)) && all(bytes[at] < r[at])
}

# What is wrong with riffle's streams of x, in a sentence; NULL if nothing is.
stream_difference <- function(x) {
  r <- serialize(x, NULL, xdr = FALSE)
  bytes <- riffle::marshall(x)
  if (!equal_but_growable(bytes, r)) return("marshall() differs from serialize()")
  if (riffle::calc_size(x) != length(r)) return("calc_size() differs from the length")
  again <- serialize(unserialize(bytes), NULL, xdr = FALSE)
  options <- list(list(), list(shuffle = FALSE, codec = "none"), list(nthreads = 1, codec = "lz4"))
  for (o in options) {
    read <- riffle::qs_deserialize(do.call(riffle::qs_serialize, c(list(quote(x)), o)))
    if (!identical(serialize(read, NULL, xdr = FALSE), again))
      return("qs_serialize() and qs_deserialize() differ from unserialize()")
  }
  if (!identical(serialize(x, NULL, xdr = FALSE), r)) return("the object was changed")
  NULL
}
