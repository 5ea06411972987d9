# A package of a few lines that uses riffle.h.
capi_source <- c(
  "#include <riffle.h>",
  "#ifdef __cplusplus",
  "extern \"C\" {",
  "#endif",
  "SEXP use_serialize(SEXP x, SEXP level, SEXP n) {",
  "  return riffle_serialize(x, Rf_asInteger(level), Rf_asInteger(n));",
  "}",
  "SEXP use_serialize_default(SEXP x) {",
  "  return riffle_serialize(x, RIFFLE_DEFAULT, RIFFLE_DEFAULT);",
  "}",
  "SEXP use_deserialize(SEXP x) { return riffle_deserialize(x, RIFFLE_DEFAULT); }",
  "SEXP use_deserialize_data(SEXP x) { return riffle_deserialize_data(x, 1); }",
  "SEXP use_marshall(SEXP x) { return riffle_marshall(x); }",
  "SEXP use_unmarshall(SEXP x) { return riffle_unmarshall(x); }",
  "SEXP use_size(SEXP x) { return Rf_ScalarReal(riffle_stream_size(x)); }",
  "SEXP use_version(void) { return Rf_ScalarInteger(riffle_version()); }",
  "static const R_CallMethodDef entries[] = {",
  "  {\"use_serialize\", (DL_FUNC) (void (*)(void)) &use_serialize, 3},",
  "  {\"use_serialize_default\", (DL_FUNC) (void (*)(void)) &use_serialize_default, 1},",
  "  {\"use_deserialize\", (DL_FUNC) (void (*)(void)) &use_deserialize, 1},",
  "  {\"use_deserialize_data\", (DL_FUNC) (void (*)(void)) &use_deserialize_data, 1},",
  "  {\"use_marshall\", (DL_FUNC) (void (*)(void)) &use_marshall, 1},",
  "  {\"use_unmarshall\", (DL_FUNC) (void (*)(void)) &use_unmarshall, 1},",
  "  {\"use_size\", (DL_FUNC) (void (*)(void)) &use_size, 1},",
  "  {\"use_version\", (DL_FUNC) (void (*)(void)) &use_version, 0},",
  "  {NULL, NULL, 0}};",
  "void R_init_useriffle(DllInfo *dll) {",
  "  R_registerRoutines(dll, NULL, entries, NULL, NULL);",
  "  R_useDynamicSymbols(dll, FALSE);",
  "}",
  "#ifdef __cplusplus",
  "}",
  "#endif"
)

# The library that the package was installed into.
install_user <- function(file, env = parent.frame()) {
  skip_on_os("windows")
  home <- dirname(getNamespaceInfo("riffle", "path"))
  skip_if_not(file.exists(file.path(home, "riffle", "include", "riffle.h")),
              "needs riffle to be installed")
  skip_if(Sys.which("make") == "" || Sys.which(strsplit(r_config("CC"), " ")[[1]][1]) == "",
          "no compiler is here")
  folder <- withr::local_tempdir(.local_envir = env)
  package <- file.path(folder, "useriffle")
  library <- file.path(folder, "library")
  dir.create(file.path(package, "src"), recursive = TRUE)
  dir.create(library)
  writeLines(c("Package: useriffle", "Version: 1.0", "Title: Use Riffle", "License: MIT",
               "Author: Nobody", "Maintainer: Nobody <nobody@example.org>",
               "Description: Uses riffle.", "Imports: riffle", "LinkingTo: riffle"),
             file.path(package, "DESCRIPTION"))
  writeLines(c("useDynLib(useriffle, .registration = TRUE)", "importFrom(riffle, qs_serialize)"),
             file.path(package, "NAMESPACE"))
  writeLines(capi_source, file.path(package, "src", file))
  writeLines("PKG_CFLAGS = -Wall -Wextra\nPKG_CXXFLAGS = -Wall -Wextra",
             file.path(package, "src", "Makevars"))
  log <- file.path(folder, "log")
  status <- withr::with_envvar(
    c(R_LIBS = paste(c(home, .libPaths()), collapse = .Platform$path.sep), R_TESTS = "",
      MAKEFLAGS = "", R_MAKEVARS_USER = "/dev/null"),
    system2(file.path(R.home("bin"), "R"),
            c("CMD", "INSTALL", "--no-test-load", "--no-docs", "-l", shQuote(library), shQuote(package)),
            stdout = log, stderr = log)
  )
  expect(status == 0, paste(c("The package does not install:", readLines(log)), collapse = "\n"))
  warnings <- grep("warning: ", readLines(log), value = TRUE)
  expect(!any(grepl("riffle.h|use.c", warnings)), paste(warnings, collapse = "\n"))
  library
}

r_config <- function(name) {
  system2(file.path(R.home("bin"), "R"), c("CMD", "config", name), stdout = TRUE, stderr = FALSE)[1]
}

expect_user_works <- function(library) {
  x <- list(mtcars, 1:10, letters, mean, as.character(1:3))
  got <- child({
    ns <- loadNamespace(user, lib.loc = library)
    call <- function(name, ...) .Call(get(name, ns), ...)
    failed <- function(expr) tryCatch(expr, error = function(e) c(class(e)[1:2], conditionMessage(e)))
    z <- call("use_serialize", x, 5L, 2L)
    m <- call("use_marshall", x)
    list(
      serialized = identical(z, qs_serialize(x, compress_level = 5)),
      default = identical(call("use_serialize_default", x), qs_serialize(x)),
      restored = identical(call("use_deserialize", z), x),
      data = identical(call("use_deserialize_data", call("use_serialize_default", x[1:3])), x[1:3]),
      marshalled = identical(m, marshall(x)),
      unmarshalled = identical(call("use_unmarshall", m), x),
      size = call("use_size", x) == length(m),
      version = call("use_version"),
      not_data = failed(call("use_deserialize_data", z))[1],
      bad_level = failed(call("use_serialize", x, 99L, 1L)),
      bad_threads = failed(call("use_serialize", x, 1L, 0L))[1],
      corrupt = failed(call("use_deserialize", head(z, -5)))[1:2],
      not_raw = failed(call("use_unmarshall", "a")),
      live = riffle:::live_calls()
    )
  }, x = x, library = library, user = "useriffle")
  expect_type(got, "list")
  for (what in c("serialized", "default", "restored", "data", "marshalled", "unmarshalled", "size")) {
    expect(isTRUE(got[[what]]), paste("Not as in R:", what))
  }
  version <- as.integer(unlist(utils::packageVersion("riffle")))[1:3]
  expect_identical(got$version, as.integer(sum(version * c(10000, 100, 1))))
  expect_identical(got$not_data, "riffle_error_data_only")
  expect_identical(got$bad_level[1:2], c("riffle_error_argument", "riffle_error"))
  expect_match(got$bad_level[3], "`compress_level` must be")
  expect_identical(got$bad_threads, "riffle_error_argument")
  expect_identical(got$corrupt, c("riffle_error_corrupt", "riffle_error"))
  expect_match(got$not_raw[3], "must be a raw vector")
  expect_identical(got$live, 0L)
}

test_that("a package in C uses riffle.h", {
  expect_user_works(install_user("use.c"))
})

test_that("a package in C++ uses riffle.h", {
  skip_if(Sys.which(strsplit(r_config("CXX"), " ")[[1]][1]) == "", "no C++ compiler is here")
  expect_user_works(install_user("use.cpp"))
})

test_that("an error outside of any R function is a riffle_error, too", {
  library <- install_user("use.c")
  script <- withr::local_tempfile(fileext = ".R")
  writeLines(c(
    sprintf("library(riffle, lib.loc = %s)", deparse(dirname(getNamespaceInfo("riffle", "path")))),
    sprintf("invisible(loadNamespace('useriffle', lib.loc = %s))", deparse(library)),
    "f <- getNativeSymbolInfo('use_deserialize', 'useriffle')",
    ".Call(f, raw(3))"
  ), script)
  said <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
                                   stdout = TRUE, stderr = TRUE))
  expect_match(paste(said, collapse = "\n"), "Can't read the raw vector", fixed = TRUE)
})
