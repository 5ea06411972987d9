# What must come out for plain data: XXH3 of R's own stream without its header.
stream_hash <- function(x, bits = 64) {
  qs_hash(serialize(x, NULL, xdr = FALSE, version = 2)[-(1:14)], bits)
}

# Their streams have strings that are hashed in UTF-8.
other_encodings <- c(
  "one text in many encodings", "a vector of mixed encodings", "names of mixed encodings",
  "unmarked text of the session's encoding", "a list of mixed encodings",
  "an attribute of mixed encodings", "levels of mixed encodings"
)

compiled <- c("a compiled function", "compiled code", "a function of a package")

test_that("the hash of a raw vector is that of XXH3", {
  # from the test vectors of xxHash: no bytes, with seed 0
  expect_identical(qs_hash(raw()), "2d06800538d394c2")
  expect_identical(qs_hash(raw(), 128), "99aa06d3014798d86001c324468d497f")
  expect_match(qs_hash(as.raw(1:255)), "^[0-9a-f]{16}$")
  expect_match(qs_hash(as.raw(1:255), 128L), "^[0-9a-f]{32}$")
})

test_that("the hash of a raw vector is what xxhsum prints", {
  skip_if(Sys.which("xxhsum") == "", "xxhsum is not here")
  file <- withr::local_tempfile()
  set.seed(1)
  for (n in c(0, 1, 3, 8, 16, 17, 128, 129, 240, 241, 1024, 16384, 16385, 1e5, 3e6)) {
    bytes <- as.raw(sample(0:255, n, TRUE))
    writeBin(bytes, file)
    theirs <- function(flag, digits) {
      line <- system2("xxhsum", c(flag, "<", shQuote(file)), stdout = TRUE, stderr = FALSE)
      regmatches(line, regexpr(sprintf("\\b[0-9a-f]{%d}\\b", digits), line))
    }
    expect_identical(qs_hash(bytes), theirs("-H3", 16))
    expect_identical(qs_hash(bytes, 128), theirs("-H2", 32))
  }
})

test_that("the hash of an object is that of its stream in version 2", {
  values <- c(example_objects(), example_altrep())
  values <- values[!names(values) %in% c(other_encodings, compiled)]
  for (i in seq_along(values)) {
    x <- values[[i]]
    is_bare_raw <- is.raw(x) && is.null(attributes(x))
    ours <- if (is_bare_raw) qs_hash(list(x)) else qs_hash(x)
    theirs <- stream_hash(if (is_bare_raw) list(x) else x)
    expect(identical(ours, theirs), paste(names(values)[i], "has another hash."))
  }
  expect_identical(qs_hash(values, 128), stream_hash(values, 128))
  expect_identical(live_calls(), 0L)
})

test_that("the walker and R's serializer agree", {
  values <- c(example_objects(), example_altrep())
  values <- values[!names(values) %in% c(other_encodings, compiled)]
  for (i in seq_along(values)) {
    for (bits in c(64, 128)) {
      x <- list(values[[i]])
      expect(identical(qs_hash(x, bits), hash_by_serializer(x, bits)),
             paste(names(values)[i], "has another hash."))
    }
  }
})

test_that("different values have different hashes", {
  values <- c(example_objects(), list(1:2, c(1, 2), c(a = 1L, b = 2L), list(1L, 2L), "1", NA, "NA"))
  hashes <- vapply(unname(values), function(x) qs_hash(list(x)), "")
  same <- which(duplicated(hashes))
  for (i in same) {
    twin <- values[[match(hashes[i], hashes)]]
    expect(identical(values[[i]], twin), paste(names(values)[i], "has the hash of another value."))
  }
  expect_lt(length(same), 10)
})

test_that("ALTREP vectors have the hash of ordinary ones", {
  expanded <- function(x) unserialize(serialize(x, NULL, version = 2))
  for (x in example_altrep()) expect_identical(qs_hash(x), qs_hash(expanded(x)))
  expect_identical(qs_hash(1:10), qs_hash(c(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L)))
  expect_identical(qs_hash(as.character(1:3)), qs_hash(c("1", "2", "3")))
  options <- withr::local_options(scipen = 0)
  few <- as.character(c(1e5, 1e15, 123456))
  options(scipen = 100)
  expect_identical(qs_hash(few), qs_hash(c("1e+05", "1e+15", "123456")))
})

test_that("hashing leaves the object as it is", {
  for (x in example_altrep()) {
    before <- utils::capture.output(.Internal(inspect(x)))
    stream <- serialize(x, NULL)
    inspected <- utils::capture.output(.Internal(inspect(x)))
    if (!identical(before, inspected)) next  # serialize() has changed it
    qs_hash(x)
    expect_identical(utils::capture.output(.Internal(inspect(x))), before)
    expect_identical(serialize(x, NULL), stream)
  }
  big <- 1:1e9 # 4 GB, were it expanded
  before <- gc(reset = TRUE)[2, 2]
  expect_match(qs_hash(big[1:2]), "^[0-9a-f]+$")
  qs_hash(list(1:1e7))
  expect_lt(gc()[2, 6] - before, 30)
})

test_that("the encoding of a string does not count, unless it is bytes", {
  expect_identical(qs_hash(latin1("\u00e9")), qs_hash("\u00e9"))
  expect_identical(qs_hash(structure(1, names = latin1("\u00e9"))), qs_hash(c("\u00e9" = 1)))
  expect_identical(qs_hash(rep(latin1("\u00e9"), 1000)), qs_hash(rep("\u00e9", 1000)))
  if (l10n_info()$`UTF-8`) expect_identical(qs_hash(native("\u00e9t\u00e9")), qs_hash("\u00e9t\u00e9"))
  expect_false(qs_hash(as_bytes("\u00e9")) == qs_hash("\u00e9"))
  expect_identical(qs_hash("\u00e9"), stream_hash("\u00e9"))
})

test_that("a vector that has grown has the hash of one that has not", {
  x <- 1
  for (i in 2:1001) x[[i]] <- i
  expect_identical(qs_hash(x), qs_hash(as.numeric(c(1:1001, 5))[-1002]))
  expect_identical(qs_hash(list(x, quote(a))), qs_hash(list(as.numeric(1:1001), quote(a))))
})

test_that("byte code, calls and source references do not count", {
  text <- "function(x, y = function(z) z) { for (i in 1:3) x <- x + y(i); x }"
  make <- function(keep, env) eval(parse(text = text, keep.source = keep)[[1]], env)
  for (env in list(globalenv(), asNamespace("stats"), new.env(parent = globalenv()))) {
    f <- make(FALSE, env)
    fresh <- qs_hash(f)
    expect_identical(qs_hash(make(TRUE, env)), fresh)
    f(1)
    expect_identical(qs_hash(f), fresh)
    for (i in 1:5) f(1)
    expect_identical(qs_hash(f), fresh)
    expect_identical(qs_hash(compiler::cmpfun(f)), fresh)
    g <- f
    body(g)[[2]] <- quote(x)
    expect_false(qs_hash(g) == fresh)
    formals(f)$y <- 2
    expect_false(qs_hash(f) == fresh)
  }
  expect_identical(qs_hash(compiler::compile(quote(a + b * 2))), qs_hash(quote(a + b * 2)))
  expect_identical(qs_hash(global_function(function(x) x)),
                   stream_hash(global_function(function(x) x)))
})

test_that("an environment's hash is that of its bindings", {
  names <- c("a", "b", ".hidden", "c")
  fill <- function(order, hash = TRUE, size = 29L) {
    e <- new.env(hash, globalenv(), size)
    for (n in names[order]) assign(n, match(n, names), e)
    e
  }
  expected <- qs_hash(fill(1:4))
  expect_identical(qs_hash(fill(4:1)), expected)
  expect_identical(qs_hash(fill(c(2, 4, 1, 3), size = 500L)), expected)
  expect_identical(qs_hash(fill(1:4, hash = FALSE)), expected)
  expect_false(qs_hash(fill(1:3)) == expected)
  changed <- fill(1:4)
  changed$a <- 2
  expect_false(qs_hash(changed) == expected)
  other <- fill(1:4)
  parent.env(other) <- baseenv()
  expect_false(qs_hash(other) == expected)
  locked <- fill(1:4)
  lockEnvironment(locked)
  expect_false(qs_hash(locked) == expected)
  named <- fill(1:4)
  attr(named, "name") <- "n"
  expect_false(qs_hash(named) == expected)
  circle <- function() {
    e <- fill(1:4)
    e$self <- list(e, e)
    e
  }
  expect_identical(qs_hash(circle()), qs_hash(circle()))
  expect_false(qs_hash(circle()) == qs_hash(list(circle(), circle())))
})

test_that("hashing runs nothing", {
  make <- function(code = quote(stop("forced"))) {
    e <- new.env(parent = globalenv())
    eval(call("delayedAssign", "p", code, globalenv(), e))
    makeActiveBinding("active", global_function(function() stop("called")), e)
    e
  }
  e <- make()
  expect_identical(qs_hash(e), qs_hash(make()))
  expect_false(qs_hash(e) == qs_hash(make(quote(1 + 1))))
  expect_error(e$p, "forced")
  forced <- make(quote(2 + 3))
  not_yet <- qs_hash(forced)
  forced$p
  expect_false(qs_hash(forced) == not_yet)
  valued <- make()
  valued$p <- 5
  expect_identical(qs_hash(forced), qs_hash(valued))
})

test_that("what only R's serializer can take is hashed, too", {
  frame <- (function(...) environment())(1, 2)
  parent.env(frame) <- globalenv()
  expect_identical(qs_hash(frame), hash_by_serializer(frame))
  expect_identical(qs_hash(frame), stream_hash(frame))
  without <- (function(...) environment())()
  expect_match(qs_hash(without), "^[0-9a-f]+$")
})

test_that("equal objects have equal hashes in another session", {
  make <- quote({
    set.seed(1)
    e <- new.env(parent = globalenv())
    e$f <- function(x) x + y
    environment(e$f) <- e
    list(mtcars, lm(mpg ~ wt, mtcars), e, letters, stats::sd, 1:10, as.character(1:4))
  })
  ours <- vapply(eval(make, new.env(parent = globalenv())), function(x) qs_hash(x), "")
  # e is in the environment where `f` is made: nothing of it may count
  theirs <- child(vapply(eval(make, new.env(parent = globalenv())), function(x) qs_hash(x), ""),
                  make = make)
  expect_identical(theirs, ours)
})

test_that("an impossible number of bits is an error", {
  for (bits in list(32, "64", NA, c(64, 128), NULL, 100)) {
    expect_riffle_error(qs_hash(1, bits), "argument", "`bits` must be 64 or 128")
  }
})

test_that("a list nested too deeply is an error", {
  expect_riffle_error(qs_hash(nested_list(1e6)), "depth")
})

test_that("a raw vector of over 2^31 bytes is hashed", {
  skip_if_not(Sys.getenv("RIFFLE_BIG") == "1", "RIFFLE_BIG is not 1")
  expect_false(child({
    x <- raw(2^31 + 5)
    a <- qs_hash(x)
    x[2^31 + 5] <- as.raw(1)
    a == qs_hash(x)
  }, seconds = 300))
})
