test_that("vectors of every type come back identical", {
  expect_round_trips(example_atomics())
})

test_that("long vectors come back bit by bit", {
  expect_round_trips(example_long_vectors())
})

test_that("long vectors come back the same with every codec, shuffled or not", {
  values <- example_long_vectors()
  for (codec in c("zstd", "lz4", "none")) for (shuffle in c(TRUE, FALSE)) {
    restored <- lapply(values, function(x) qs_deserialize(qs_serialize(x, codec = codec, shuffle = shuffle)))
    same <- mapply(is_same, restored, values)
    expect_identical(names(values)[!same], character(), info = paste(codec, shuffle))
  }
})

test_that("strings keep their bytes and their encoding", {
  skip_if_not_utf8()
  values <- example_encodings()
  expect_round_trips(values)
  mixed <- values[["a vector of mixed encodings"]]
  restored <- qs_deserialize(qs_serialize(mixed))
  expect_identical(Encoding(restored), Encoding(mixed))
  expect_identical(lapply(restored[-5], charToRaw), lapply(mixed[-5], charToRaw))
})

test_that("a string and NA stay apart, in values, names and levels", {
  x <- list(c("NA", NA, ""), structure(1:3, names = c("NA", NA, "")), addNA(factor(c("NA", NA))))
  restored <- qs_deserialize(qs_serialize(x))
  expect_identical(is.na(restored[[1]]), c(FALSE, TRUE, FALSE))
  expect_identical(is.na(names(restored[[2]])), c(FALSE, TRUE, FALSE))
  expect_identical(is.na(levels(restored[[3]])), c(FALSE, TRUE))
})

test_that("a file written in the C locale is read in UTF-8 as base R reads its own", {
  skip_if_not_utf8()
  files <- list(ours = withr::local_tempfile(), base = withr::local_tempfile())
  written <- child({
    x <- list("caf\u00e9", "ascii", "\xe9", as.name("a"))
    qs_save(x, files$ours)
    saveRDS(x, files$base)
    l10n_info()[["UTF-8"]]
  }, files = files, env = "LC_ALL=C")
  expect_false(written)
  read <- function(fun, path) suppressWarnings(try(fun(path), silent = TRUE))
  expect_identical(serialize(read(qs_read, files$ours), NULL), serialize(read(readRDS, files$base), NULL))
})

test_that("attributes come back as they are, in their order, on every type", {
  expect_round_trips(example_attributes())
})

test_that("row names stay compact, integer or character", {
  frames <- list(data.frame(v = 1:5), data.frame(v = 1:5)[c(5, 2), , drop = FALSE], mtcars)
  restored <- qs_deserialize(qs_serialize(frames))
  expect_identical(vapply(restored, .row_names_info, 0L), vapply(frames, .row_names_info, 0L))
})

test_that("language of every type comes back identical", {
  expect_round_trips(example_language())
})

test_that("a call with the missing argument comes back", {
  expect_round_trip(quote(x[, 1]))
  expect_round_trip(quote(expr = ))
  expect_round_trip(formals(global_function(function(a, b = 2, ...) NULL)))
})

test_that("a compiled function comes back compiled and gives the same results", {
  f <- example_language()[["a compiled function"]]
  restored <- qs_deserialize(qs_serialize(f))
  expect_identical(restored(7), f(7))
  expect_output(print(restored), "<bytecode")
})

test_that("a function keeps the text it was written as", {
  f <- eval(parse(text = "function(x) { x   # a remark\n}", keep.source = TRUE), globalenv())
  expect_round_trip(f, identical = FALSE)
  expect_output(print(qs_deserialize(qs_serialize(f))), "# a remark", fixed = TRUE)
})

test_that("functions of one source text share it", {
  text <- c(sprintf("f%d <- function(x) x + %d", 1:50, 1:50), strrep("#", 20000))
  env <- new.env(parent = globalenv())
  for (e in parse(text = text, keep.source = TRUE)) eval(e, env)
  functions <- mget(paste0("f", 1:50), env)
  source_of <- function(f) attr(attr(f, "srcref"), "srcfile")
  restored <- qs_deserialize(qs_serialize(functions))
  expect_true(identical(source_of(restored$f1), source_of(restored$f50)))
})

test_that("the environments that R knows come back as themselves", {
  expect_round_trips(example_special_environments())
})

test_that("a package's environment comes back as itself, with base R's warning", {
  expect_warning(bytes <- qs_serialize(as.environment("package:stats")), "may not be available")
  expect_true(identical(qs_deserialize(bytes), as.environment("package:stats")))
  withr::local_options(warn = 2)
  expect_error(qs_serialize(as.environment("package:stats")), "may not be available")
  expect_identical(live_calls(), 0L)
})

test_that("an environment comes back with its values, parent, attributes and locks", {
  e <- new.env(parent = globalenv())
  e$a <- 1:10
  e$.hidden <- "h"
  assign("caf\u00e9", 2, envir = e)
  attr(e, "tag") <- "t"
  class(e) <- "thing"
  lockBinding("a", e)
  lockEnvironment(e)
  expect_round_trip(e, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(e))
  expect_identical(mget(ls(e, all.names = TRUE), restored), mget(ls(e, all.names = TRUE), e))
  expect_true(identical(parent.env(restored), globalenv()))
  expect_identical(attributes(restored), attributes(e))
  expect_true(environmentIsLocked(restored))
  expect_true(bindingIsLocked("a", restored))
})

test_that("environments without hash table, and of many entries, come back", {
  plain <- new.env(hash = FALSE, parent = emptyenv())
  plain$x <- 1
  large <- list2env(structure(as.list(1:2000), names = paste0("v", 1:2000)), parent = emptyenv())
  expect_round_trip(plain, "The plain environment", identical = FALSE)
  expect_round_trip(large, "The large environment", identical = FALSE)
  expect_identical(qs_deserialize(qs_serialize(large))$v1999, 1999L)
})

test_that("what is shared stays shared, and cycles close", {
  e <- new.env(parent = globalenv())
  e$self <- e
  e$child <- new.env(parent = e)
  f <- function() self
  environment(f) <- e
  formula <- y ~ x
  environment(formula) <- e
  x <- list(e, e, f, formula, rep(list(e), 50))
  expect_round_trip(x, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(x))
  first <- restored[[1]]
  expect_true(identical(restored[[2]], first))
  expect_true(identical(first$self, first))
  expect_true(identical(parent.env(first$child), first))
  expect_true(identical(environment(restored[[3]]), first))
  expect_true(identical(environment(restored[[4]]), first))
  expect_true(identical(restored[[5]][[50]], first))
  expect_false(identical(first, e))
})

test_that("a shared environment is saved once", {
  e <- new.env(parent = globalenv())
  e$data <- as.raw(sample(0:255, 1e5, TRUE))
  expect_lt(length(qs_serialize(rep(list(e), 20))), 1.1e5)
})

test_that("thousands of symbols and environments keep their references", {
  environments <- lapply(1:2000, function(i) list2env(list(i = i), parent = emptyenv()))
  symbols <- lapply(sprintf("name%d", 1:2000), as.name)
  x <- list(environments, symbols, rev(environments), rev(symbols))
  expect_round_trip(x, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(x))
  expect_true(identical(restored[[3]], rev(restored[[1]])))
  expect_identical(restored[[4]], rev(symbols))
})

test_that("a promise in an environment is not run by saving, and works after reading", {
  e <- new.env(parent = globalenv())
  e$runs <- 0
  delayedAssign("p", { runs <- runs + 1; 42 }, e, e)
  expect_round_trip(e, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(e))
  expect_identical(e$runs, 0)
  expect_identical(restored$runs, 0)
  expect_identical(restored$p, 42)
  expect_identical(restored$runs, 1)
})

test_that("the dots and the promises of a call's frame come back", {
  f <- global_function(function(x, ...) environment())
  frame <- f(1 + 1, a = 2, 3)
  expect_round_trip(frame, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(frame))
  expect_identical(eval(quote(list(x, ...)), restored), list(2, a = 2, 3))
})

test_that("active bindings come back as their function", {
  e <- new.env(parent = globalenv())
  makeActiveBinding("now", global_function(function() "called"), e)
  expect_round_trip(e, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(e))
  expect_true(bindingIsActive("now", restored))
  expect_identical(restored$now, "called")
})

test_that("the loop variables of compiled code come back with their values", {
  f <- compiler::cmpfun(global_function(function() {
    s <- 0
    for (i in 1:100) s <- s + i * 0.5
    flag <- s > 1
    environment()
  }))
  frame <- f()
  expect_round_trip(frame, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(frame))
  expect_identical(restored$s, 2525)
  expect_identical(restored$i, 100L)
  expect_true(restored$flag)
})

test_that("S4 objects of every kind come back as S4 objects", {
  withr::defer(for (class in c("TestPlain", "TestNumber", "TestList", "TestFunction", "TestEnvironment"))
    removeClass(class, where = globalenv()))
  where <- globalenv()
  setClass("TestPlain", representation(a = "numeric", b = "list"), where = where)
  setClass("TestNumber", contains = "numeric", representation(unit = "character"), where = where)
  setClass("TestList", contains = "list", where = where)
  setClass("TestFunction", contains = "function", representation(k = "numeric"), where = where)
  setClass("TestEnvironment", contains = "environment", representation(n = "character"), where = where)
  values <- list(
    "a plain S4 object" = new("TestPlain", a = 1, b = list("x")),
    "an S4 number" = new("TestNumber", c(1, 2.5), unit = "cm"),
    "an S4 list" = new("TestList", list(1, "a")),
    "an S4 function" = new("TestFunction", global_function(function(x) x + 1), k = 2),
    "an S4 generic" = getGeneric("show")
  )
  expect_round_trips(values)
  env <- new("TestEnvironment", n = "q")
  assign("v", 9, envir = env)
  expect_round_trip(env, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(c(values, env)))
  expect_true(all(vapply(restored, isS4, NA)))
  expect_identical(restored[[2]]@unit, "cm")
  expect_identical(restored[[4]](1), 2)
  expect_identical(get("v", envir = restored[[6]]), 9)
})

test_that("a reference class object comes back on its own", {
  withr::defer(removeClass("TestAccount", where = globalenv()))
  account <- setRefClass("TestAccount", fields = list(sum = "numeric"), where = globalenv(),
                         methods = list(add = function(x) { sum <<- sum + x; invisible(.self) }))
  a <- account$new(sum = 10)
  restored <- qs_deserialize(qs_serialize(a$add(1)))
  restored$add(5)
  expect_identical(restored$sum, 16)
  expect_identical(a$sum, 11)
  expect_true(is(restored, "TestAccount"))
})

test_that("an external pointer comes back as nil, once for many, with its attributes", {
  pointer <- structure(asNamespace("stats")$C_rnorm$address, note = "n")
  expect_round_trip(list(pointer, pointer), identical = FALSE)
  restored <- qs_deserialize(qs_serialize(list(pointer, pointer)))
  expect_type(restored[[1]], "externalptr")
  expect_output(print.default(restored[[1]]), "nil|0x0>|\\(0\\)|00000000>")
  expect_identical(attributes(restored[[1]]), attributes(pointer))
  expect_true(identical(restored[[1]], restored[[2]]))
})

test_that("a weak reference comes back dead", {
  key <- new.env()
  x <- list(from("rlang", "new_weakref")(key, value = 1:3), "after")
  expect_round_trip(x, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(x))
  expect_type(restored[[1]], "weakref")
  expect_null(from("rlang", "wref_key")(restored[[1]]))
  expect_identical(restored[[2]], "after")
})

test_that("objects of every ALTREP class of base R come back, and of the same class", {
  values <- example_altrep()
  for (i in seq_along(values)) expect_round_trip(values[[i]], names(values)[i])
})

test_that("a vector that was a sequence or a wrapper can be changed after", {
  x <- list(1:1000, sort(runif(1000)), as.character(1:1000))
  restored <- qs_deserialize(qs_serialize(x))
  restored[[1]][2] <- 99L
  restored[[2]][500] <- -1
  restored[[3]][7] <- "seven"
  expect_identical(restored[[1]][1:3], c(1L, 99L, 3L))
  expect_identical(order(restored[[2]])[1], 500L)
  expect_true(is.unsorted(restored[[2]]))
  expect_identical(restored[[3]][6:8], c("6", "seven", "8"))
})

test_that("a long sequence stays a sequence, in the file too", {
  path <- withr::local_tempfile()
  qs_save(list(a = 1:100000000), path)
  expect_lt(file.size(path), 1000)
  restored <- qs_read(path)$a
  expect_identical(restored[c(1, 1e8)], c(1L, 100000000L))
})

test_that("a vector grown by assignment comes back identical", {
  numbers <- numeric()
  strings <- character()
  things <- list()
  for (i in 1:2000) {
    numbers[i] <- i / 2
    strings[[paste0("n", i)]] <- "s"
    things[[i]] <- i
  }
  x <- list(numbers, strings, things)
  expect_true(is_same(qs_deserialize(qs_serialize(x)), x))
  expect_true(is_same(unmarshall(marshall(x)), x))
})

test_that("models, tables and other real objects come back as from base R", {
  values <- list(
    lm = lm(mpg ~ wt, mtcars), glm = glm(am ~ wt, binomial, mtcars),
    loess = loess(mpg ~ wt, mtcars), spline = smooth.spline(1:20, sin(1:20)),
    hclust = hclust(dist(matrix(1:12, 4))), ecdf = ecdf(c(1, 3, 2)),
    dendrogram = as.dendrogram(hclust(dist(matrix(c(1, 5, 9, 2, 8, 3), 6)))),
    histogram = hist(1:10, plot = FALSE), steps = stepfun(1:2, 0:2), session = utils::sessionInfo()
  )
  expect_round_trips(values, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(values$lm))
  expect_identical(predict(restored, mtcars[1:3, ]), predict(values$lm, mtcars[1:3, ]))
})

test_that("a model's environment with a long sequence in it is small", {
  fit <- global_function(function() {
    junk <- 1:50000000
    lm(Sepal.Length ~ Sepal.Width, data = iris)
  })
  bytes <- qs_serialize(fit())
  expect_lt(length(bytes), 1e5)
  expect_length(environment(formula(qs_deserialize(bytes)))$junk, 50000000)
})

test_that("64-bit integers come back", {
  skip_on_cran()
  x <- from("bit64", "as.integer64")(c("9007199254740993", NA, "-1"))
  expect_round_trip(x)
  expect_round_trip(rep(x, 1000))
})

test_that("a data.table comes back and can be changed by reference", {
  x <- from("data.table", "data.table")(a = c(1, 2, 3), b = c("x", "y", NA), key = "a")
  expect_round_trip(x, identical = FALSE)
  restored <- qs_deserialize(qs_serialize(x))
  from("data.table", "setDT")(restored)
  from("data.table", "set")(restored, j = "z", value = restored$a * 2)
  expect_identical(restored$z, c(2, 4, 6))
  expect_identical(names(x), c("a", "b"))
})

test_that("R6 objects that point at each other still do", {
  node <- from("R6", "R6Class")("Node", public = list(
    name = NULL, other = NULL, initialize = function(name) self$name <- name
  ))
  a <- node$new("a")
  b <- node$new("b")
  a$other <- b
  b$other <- a
  restored <- qs_deserialize(qs_serialize(list(a, b)))
  expect_true(identical(restored[[1]]$other, restored[[2]]))
  expect_true(identical(restored[[2]]$other, restored[[1]]))
  restored[[1]]$name <- "z"
  expect_identical(restored[[2]]$other$name, "z")
  expect_identical(a$name, "a")
})

test_that("an XML document's pointer is dead in another session, not dangling", {
  skip_on_cran()
  path <- withr::local_tempfile()
  qs_save(from("xml2", "read_xml")("<a><b/></a>"), path)
  message <- child({
    document <- qs_read(path)
    tryCatch(getExportedValue("xml2", "xml_children")(document), error = conditionMessage)
  }, path = path)
  expect_match(message, "pointer")
})

test_that("a plot builds the same data after", {
  skip_on_cran()
  make <- from("ggplot2", "ggplot")
  aes <- from("ggplot2", "aes")
  layer_data <- from("ggplot2", "layer_data")
  env <- new.env(parent = globalenv())
  env$data <- data.frame(x = as.numeric(1:200), y = sqrt(1:200))
  mapping <- eval(bquote(.(aes)(x, y + 1)), env)
  plot <- make(env$data, mapping, environment = env) + from("ggplot2", "geom_point")()
  restored <- qs_deserialize(qs_serialize(plot))
  expect_identical(layer_data(restored), layer_data(plot))
})

test_that("sparse matrices come back", {
  skip_on_cran()
  expect_round_trip(from("Matrix", "sparseMatrix")(c(1, 3), c(2, 1), x = c(1.5, 2)))
})

test_that("time series of xts come back", {
  skip_on_cran()
  expect_round_trip(from("xts", "xts")(1:3, as.POSIXct("2020-01-01", tz = "UTC") + 1:3))
})

test_that("additive models come back", {
  skip_on_cran()
  formula <- mpg ~ s(wt, k = 5)
  environment(formula) <- globalenv()
  expect_round_trip(from("mgcv", "gam")(formula, data = mtcars), identical = FALSE)
})

test_that("lists nested a thousand deep come back", {
  for (x in list(nested_list(1000), structure(nested_list(500), note = nested_list(500))))
    expect_round_trip(x)
})

test_that("long pairlists come back, or are an error", {
  x <- as.pairlist(as.list(1:5000))
  expect_round_trip(x)
  skip_if(is.na(Cstack_info()[["size"]]))
  got <- child({
    x <- as.pairlist(as.list(1:1000000))
    bytes <- qs_serialize(x)
    size <- tryCatch(length(qs_deserialize(bytes)), riffle_error_depth = function(c) "too deep")
    list(size, riffle:::live_calls(), qs_deserialize(qs_serialize(1:3)))
  })
  expect_true(identical(got[[1]], "too deep") || identical(got[[1]], 1000000L))
  expect_identical(got[-1], list(0L, 1:3))
})

test_that("a chain of environments is read, or an error", {
  skip_if(is.na(Cstack_info()[["size"]]))
  got <- child({
    inward <- NULL
    for (i in 1:1e5) inward <- list2env(list(inner = inward), parent = emptyenv())
    outcome <- tryCatch({
      restored <- qs_deserialize(qs_serialize(inward))
      n <- 0
      while (!is.null(restored)) {
        n <- n + 1
        restored <- restored$inner
      }
      n
    }, riffle_error_depth = function(c) "too deep")
    list(outcome, riffle:::live_calls(), qs_deserialize(qs_serialize(1:3)))
  })
  expect_true(identical(got[[1]], "too deep") || identical(got[[1]], 1e5))
  expect_identical(got[-1], list(0L, 1:3))
})

test_that("lists nested a million deep are saved and read, or an error, and R goes on", {
  skip_if(is.na(Cstack_info()[["size"]]))
  got <- child({
    x <- list("the innermost")
    for (i in seq_len(1e6)) x <- list(x)
    depth <- function(x) {
      n <- 0
      while (is.list(x)) {
        x <- x[[1]]
        n <- n + 1
      }
      n
    }
    try_it <- function(expr) tryCatch(expr, riffle_error_depth = function(c) "too deep")
    path <- tempfile()
    saved <- try_it({ qs_save(x, path); depth(qs_read(path)) })
    raw <- try_it(depth(qs_deserialize(qs_serialize(x))))
    stream <- try_it(depth(unmarshall(marshall(x))))
    size <- try_it(calc_size(x))
    nothing <- serialize(NULL, NULL, xdr = FALSE)
    level <- as.raw(c(0x13, 0, 0, 0, 1, 0, 0, 0))
    crafted <- c(head(nothing, -4), rep(level, 1e6), tail(nothing, 4))
    read <- try_it(depth(unmarshall(crafted)))
    list(list(saved, raw, stream, size, read), riffle:::live_calls(), list.files(tempdir(), "riffle"),
         qs_deserialize(qs_serialize(1:3)))
  })
  expected <- list(1000001, 1000001, 1000001, NULL, 1e6)
  for (i in 1:5) {
    right <- identical(got[[1]][[i]], "too deep") || identical(got[[1]][[i]], expected[[i]]) ||
      (i == 4 && is.numeric(got[[1]][[i]]))
    expect_true(right, info = paste(i, format(got[[1]][[i]])))
  }
  expect_identical(got[-1], list(0L, character(), 1:3))
})

test_that("calls nested deep are an error at worst", {
  skip_if(is.na(Cstack_info()[["size"]]))
  got <- child({
    x <- quote(a)
    for (i in seq_len(2e5)) x <- as.call(list(as.name("("), x))
    outcome <- tryCatch({ qs_deserialize(qs_serialize(x)); "fine" },
                        riffle_error_depth = function(c) "too deep")
    list(outcome %in% c("fine", "too deep"), riffle:::live_calls())
  })
  expect_identical(got, list(TRUE, 0L))
})

test_that("saving and reading hold under gctorture", {
  skip_on_cran()
  e <- new.env(parent = globalenv())
  e$self <- e
  x <- list(1:3, c("a", "\u00e9"), quote(f(x)), global_function(function(x, y = 2) x + y),
            structure(1i, k = "z"), pairlist(a = 1), expression(a), NULL, 1:600 + 0.5, format(1:300),
            as.character(1:3), data.frame(a = 1:2, b = c("x", "y")), e)
  got <- child({
    path <- tempfile()
    qs_save(x, path)
    for (f in c(qs_serialize, qs_deserialize, marshall, unmarshall, qs_read)) f
    gctorture2(1)
    bytes <- qs_serialize(x)
    restored <- list(qs_deserialize(bytes), qs_read(path), unmarshall(marshall(x)))
    gctorture2(0)
    list(bytes, restored, tryCatch(qs_deserialize(head(bytes, -1)), error = class)[1])
  }, x = x)
  expect_identical(got[[1]], qs_serialize(x))
  for (restored in got[[2]]) {
    expect_true(is_same(restored[-13], x[-13]))
    expect_true(identical(restored[[13]]$self, restored[[13]]))
  }
  expect_identical(got[[3]], "riffle_error_corrupt")
})

test_that("validate_checksum changes nothing for a good file", {
  path <- withr::local_tempfile()
  x <- list(runif(3e5), format(1:5000), mtcars)
  qs_save(x, path)
  for (validate in c(TRUE, FALSE)) {
    expect_identical(qs_read(path, validate_checksum = validate), x)
    expect_identical(qs_deserialize(read_bytes(path), validate_checksum = validate), x)
  }
})

test_that("the arguments are those of qs2, in their order, then ours", {
  expect_identical(names(formals(qs_read)), c("file", "validate_checksum", "nthreads", "refhook", "data_only",
                                              "progress", "columns", "from", "to",
                                              "select", "lazy"))
  expect_identical(names(formals(qs_deserialize)), c("input", "validate_checksum", "nthreads", "refhook", "data_only"))
})
