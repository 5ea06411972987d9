# Runs every test there is and closes with one line: N passed, N failed, N skipped.
#   R_LIBS=out/lib Rscript tools/test.R [core] [r] [cases]      no argument: all three
# A count is one test: a check of a core program, a test_that() block, a handed case. What dies,
# hangs or says nothing counts as failed. Each test file has an R process of its own.

parts <- commandArgs(TRUE)
if (!length(parts)) parts <- c("core", "r", "cases")
setwd(dirname(dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))))))
rscript <- file.path(R.home("bin"), "Rscript")
dir.create("out", showWarnings = FALSE)
total <- c(passed = 0, failed = 0, skipped = 0)

count <- function(passed = 0, failed = 0, skipped = 0) {
  total <<- total + c(passed, failed, skipped)
}

# Runs a command and shows its lines as they come; returns them, with the exit status.
run <- function(command) {
  con <- pipe(paste(command, "2>&1; echo \"exit status $?\""), "r")
  on.exit(close(con))
  lines <- character()
  while (length(line <- readLines(con, 1, warn = FALSE))) {
    lines <- c(lines, line)
    if (!startsWith(line, "exit status ")) cat(line, "\n", sep = "")
  }
  status <- as.integer(sub("^exit status ", "", lines[length(lines)]))
  list(lines = lines[-length(lines)], status = status)
}

test_core <- function() {
  cat("\nThe core half alone\n\n")
  r <- run("sh tests/core/run.sh")
  sum <- grep("^[0-9]+ passed, [0-9]+ failed$", r$lines, value = TRUE)
  n <- as.numeric(regmatches(sum[length(sum)], gregexpr("[0-9]+", sum[length(sum)]))[[1]])
  if (length(n) != 2) return(count(failed = 1))
  count(n[1], max(n[2], r$status != 0))
}

# One file of tests/testthat in a fresh R, which writes its counts to `result`.
test_file <- function(file) {
  name <- sub("\\.[rR]$", "", sub("^test-?", "", basename(file)))
  result <- tempfile()
  log <- tempfile()
  on.exit(unlink(c(result, log)))
  started <- proc.time()[["elapsed"]]
  status <- suppressWarnings(system2(
    rscript, c("--vanilla", "tools/test-file.R", shQuote(name), shQuote(result)),
    stdout = log, stderr = log, timeout = 1800
  ))
  seconds <- proc.time()[["elapsed"]] - started
  n <- if (file.exists(result)) scan(result, quiet = TRUE)
  died <- length(n) != 4 || status != 0
  if (died) n <- c(0, 1, 0, 0)
  cat(sprintf(
    "%-28s %4d passed, %d failed, %d skipped %6.1f s%s\n",
    basename(file), as.integer(n[1]), as.integer(n[2]), as.integer(n[3]), seconds,
    if (died) sprintf("  R died with status %d", status) else ""
  ))
  if (n[2] > 0 || n[4] > 0) writeLines(readLines(log, warn = FALSE))
  count(n[1], n[2], n[3])
}

test_r <- function() {
  cat("\ntestthat, R ", as.character(getRversion()), "\n\n", sep = "")
  Sys.setenv(NOT_CRAN = "true")
  files <- list.files("tests/testthat", "^test.*\\.[rR]$", full.names = TRUE)
  if (!length(files)) {
    cat("no test files\n")
    count(failed = 1)
  }
  for (f in files) test_file(f)
}

test_cases <- function() {
  runner <- file.path("..", "shared", "cases", "run.R")
  if (!file.exists(runner)) {
    cat("\nThe handed cases (../shared/cases) are not here: skipped\n")
    return(count(skipped = 1))
  }
  cat("\nCases from public bug reports\n\n")
  r <- run(paste(shQuote(rscript), "--vanilla", shQuote(runner), "riffle"))
  row <- regmatches(r$lines, regexec("^(\\S+) +(ok|skip|FAIL) +[0-9.]+s", r$lines))
  row <- do.call(rbind, row[lengths(row) == 3])
  if (is.null(row)) return(count(failed = 1))
  failed <- sum(row[, 3] == "FAIL")
  ended <- any(grepl("ok, [0-9]+ failed, [0-9]+ skipped of", r$lines))
  count(sum(row[, 3] == "ok"), max(failed, !ended), sum(row[, 3] == "skip"))
}

if ("core" %in% parts) test_core()
if ("r" %in% parts) test_r()
if ("cases" %in% parts) test_cases()

cat(sprintf("\n%d passed, %d failed, %d skipped\n",
            as.integer(total[[1]]), as.integer(total[[2]]), as.integer(total[[3]])))
quit(status = as.integer(total[["failed"]] > 0 || total[["passed"]] == 0))
