# The R half on small objects, for the sanitizers and valgrind: every way in and out, and every way
# to fail. Base R only. Closes with `N passed, N failed`.

Sys.unsetenv("LD_PRELOAD")
library(riffle)
passed <- failed <- 0L

ok <- function(what, value) {
  good <- tryCatch(isTRUE(value), error = function(e) {
    message(conditionMessage(e))
    FALSE
  })
  if (good) passed <<- passed + 1L else failed <<- failed + 1L
  if (!good) cat("FAILED:", what, "\n")
}
raises <- function(expr) {
  inherits(tryCatch(expr, error = identity), "riffle_error")
}

file <- tempfile(fileext = ".rif")
set.seed(1)
env <- new.env()
env$self <- env
env$x <- 1:3
latin1 <- "caf\xe9"
Encoding(latin1) <- "latin1"
blocks <- 300000

objects <- list(
  null = NULL, logical = c(TRUE, NA, FALSE), integer = c(1L, NA, -5L), sequence = 1:100000,
  double = c(0, -0, NA, NaN, Inf, 1e-310), complex = c(1+2i, NA), raw = as.raw(0:255),
  character = c("a", NA, "", "\u00e9\u4e2d", latin1), factor = factor(c("x", "y", NA)),
  date = Sys.Date(), frame = data.frame(a = 1:5, b = letters[1:5], stringsAsFactors = TRUE),
  matrix = matrix(runif(20), 4, dimnames = list(NULL, letters[1:5])),
  list = list(1, "a", list(2, NULL)), pairlist = pairlist(a = 1, 2), call = quote(f(x, y = 2)),
  symbol = as.name("a"), formula = y ~ x, closure = function(x) x + 1, builtin = sum, special = `if`,
  expression = expression(a + b, 1), environment = env, global = globalenv(), namespace = asNamespace("stats"),
  sorted = sort(c(3, 1, 2)), deferred = as.character(1:1000), numbers = runif(blocks),
  integers = sample(1e6L, blocks, TRUE), strings = paste0("item", seq_len(30000)),
  zeros = numeric(blocks), empty = list(character(), integer(), double(), raw(), list()),
  model = lm(mpg ~ wt, mtcars)
)
same <- function(x, y) {
  identical(serialize(x, NULL, xdr = FALSE), serialize(y, NULL, xdr = FALSE)) ||
    identical(x, y, ignore.environment = TRUE, ignore.bytecode = TRUE) ||
    isTRUE(all.equal(x, y))
}

for (name in names(objects)) {
  x <- objects[[name]]
  for (threads in c(1L, 3L)) {
    qs_save(x, file, nthreads = threads)
    ok(paste(name, "file", threads), same(x, qs_read(file, nthreads = threads)))
    ok(paste(name, "file, validated", threads), same(x, qs_read(file, TRUE, threads)))
  }
  ok(paste(name, "raw"), same(x, qs_deserialize(qs_serialize(x, nthreads = 2L), nthreads = 2L)))
  bare <- marshall(x)
  ok(paste(name, "size"), identical(calc_size(x), as.double(length(bare))))
  ok(paste(name, "marshall"), same(x, unmarshall(bare)))
}

for (codec in c("zstd", "lz4", "none")) for (shuffle in c(TRUE, FALSE)) {
  qs_save(objects, file, codec = codec, shuffle = shuffle, nthreads = 2L)
  ok(paste(codec, shuffle), same(objects$numbers, qs_read(file, nthreads = 2L)$numbers))
}

# What a refhook takes is not written; a hook that fails leaves no file.
hook <- function(e) if (is.environment(e)) "taken"
ok("refhook", identical(
  qs_deserialize(qs_serialize(list(env), refhook = hook), refhook = function(s) s), list("taken")
))
unlink(file)
stops <- function(e) stop("no")
ok("failing refhook", inherits(
  tryCatch(qs_save(list(objects$numbers, env), file, nthreads = 3L, refhook = stops), error = identity), "error"
) && !file.exists(file))
nested <- function(e) rawToChar(as.raw(65 + length(qs_serialize(runif(50000), nthreads = 2L)) %% 20))
ok("nested call", is.raw(qs_serialize(list(runif(blocks), env), nthreads = 2L, refhook = nested)))

# Damage: any cut and any changed byte is an error or, past what is read, no difference.
x <- list(numbers = runif(2000), strings = letters, whole = 1:50 + 0L)
bytes <- qs_serialize(x)
cuts <- unique(c(0:120, round(seq(121, length(bytes) - 1, length.out = 60)), length(bytes) - 1:20))
ok("cut", all(vapply(cuts, function(n) raises(qs_deserialize(bytes[seq_len(n)])), NA)))
flips <- unique(c(1:120, round(seq(121, length(bytes), length.out = 120))))
ok("changed", all(vapply(flips, function(i) {
  damaged <- bytes
  damaged[i] <- xor(damaged[i], as.raw(0x40))
  raises(qs_deserialize(damaged))
}, NA)))
writeBin(bytes[1:200], file)
ok("cut file", raises(qs_read(file)))
ok("bare stream cut", inherits(tryCatch(unmarshall(marshall(x)[1:500]), error = identity), "error"))
ok("text", raises({
  writeLines("text", file)
  qs_read(file)
}))
ok("no file", raises(qs_read(tempfile())))
ok("no folder", raises(qs_save(1, file.path(tempfile(), "a.rif"))))
for (bad in list(0, -1, NA, "a", NULL, 1:2)) {
  ok("nthreads", raises(qs_save(1, file, nthreads = bad)))
}
for (bad in list(NULL, NA_character_, character(), c("a", "b"), "", 1)) {
  ok("file", raises(qs_save(1, bad)))
}

cat(passed, " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0))
