# Runs one file of tests/testthat against the installed riffle, for tools/test.R:
#   Rscript tools/test-file.R NAME RESULT
# RESULT gets four numbers: tests passed, failed and skipped, and warnings given.

args <- commandArgs(TRUE)
suppressPackageStartupMessages(library(testthat))
library(riffle)

pattern <- paste0("^\\Q", args[1], "\\E$")
tests <- as.data.frame(test_dir(
  "tests/testthat", filter = pattern, perl = TRUE, package = "riffle", load_package = "installed",
  reporter = "check", stop_on_failure = FALSE, stop_on_warning = FALSE
))
failed <- tests$failed > 0 | tests$error
skipped <- !failed & tests$skipped
cat(sum(!failed & !skipped), sum(failed), sum(skipped), sum(tests$warning), "\n", file = args[2])
