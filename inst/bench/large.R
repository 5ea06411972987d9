# A walk through a large file: what is in it, a column, some rows, a lazy frame, pieces. And pieces of a
# larger one in a process of its own, whose peak of memory is printed.
#   large.R [--gib=1.2] [--pieces=4] [--threads=2]     sizes of the two files, in GiB of numbers
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("backends.R", "measure.R")) source(file.path(here, part))
library(riffle)

opts <- read_options(list(gib = 1.2, pieces = 4, threads = 2))
qopt("nthreads", opts$threads)

# Eight columns of eight bytes a row, which hardly compress.
large_frame <- function(gib) {
  n <- gib * 2^30 / 64
  set.seed(11)
  as.data.frame(stats::setNames(lapply(1:8, function(i) stats::rnorm(n)), paste0("x", 1:8)))
}

step <- function(what, expr) {
  time <- system.time(value <- expr)[["elapsed"]]
  cat(sprintf("%-58s %9.1f ms\n", what, 1000 * time))
  invisible(value)
}

# Short ones: the median of many.
quick <- function(what, run, most = NA) {
  run()
  ms <- 1000 * stats::median(replicate(51, {
    start <- clock()
    run()
    clock() - start
  }))
  held <- if (is.na(most)) "" else sprintf("  (at most %g: %s)", most, if (ms <= most) "yes" else "NO")
  cat(sprintf("%-58s %9.2f ms%s\n", what, ms, held))
}

file <- tempfile(fileext = ".rif")
x <- large_frame(opts$gib)
cat(machine(opts$threads), "\n\n", sep = "")
step(sprintf("save %.0f rows of 8 doubles", nrow(x)), qs_save(x, file, meta = list(made = "by large.R")))
cat(sprintf("%58s %9.1f MB\n", "the file", file.size(file) / 2^20))
middle <- floor(nrow(x) / 2)
sum_x3 <- sum(x$x3)
some <- x[middle:(middle + 999), c("x2", "x7")]
rm(x)
invisible(gc())

print(qs_info(file))
cat("\n")
quick("qs_info()", function() qs_info(file), 2)
quick("qs_open() and close()", function() close(qs_open(file)), 2)
open <- qs_open(file)
print(open)
cat("\n")
stopifnot(identical(open[middle:(middle + 999), c("x2", "x7")], some), identical(open$meta$made, "by large.R"))
quick("1,000 rows of 2 columns of the open file", function() open[middle:(middle + 999), c("x2", "x7")])
stopifnot(sum(step("one column", open$x3)) == sum_x3)
close(open)
lazy <- step("the frame, lazy", qs_read(file, lazy = TRUE))
stopifnot(step("and the sum of one of its columns", sum(lazy$x3)) == sum_x3)
rm(lazy)
sums <- step("qs_apply(): sums of pieces of a million rows", {
  qs_apply(file, function(piece) sum(piece$x3), rows = 1e6)
})
stopifnot(all.equal(sum(unlist(sums)), sum_x3))
unlink(file)

# ---- pieces of more than memory should hold

child <- '
  args <- commandArgs(TRUE)
  library(riffle)
  rows <- qs_apply(args[1], nrow, rows = 1e6, nthreads = as.numeric(args[2]))
  status <- readLines("/proc/self/status")
  cat(sum(unlist(rows)), sub("[^0-9]*([0-9]+).*", "\\\\1", grep("VmHWM", status, value = TRUE)))
'
if (opts$pieces > 0 && file.exists("/proc/self/status")) {
  file <- tempfile(fileext = ".rif")
  x <- large_frame(opts$pieces)
  n <- nrow(x)
  qs_save(x, file)
  rm(x)
  invisible(gc())
  script <- tempfile(fileext = ".R")
  writeLines(child, script)
  start <- clock()
  out <- system2(file.path(R.home("bin"), "Rscript"), c(shQuote(script), shQuote(file), opts$threads),
                 stdout = TRUE)
  time <- clock() - start
  told <- as.numeric(strsplit(out[length(out)], " ")[[1]])
  stopifnot(told[1] == n)
  peak <- told[2] / 1024
  cat(sprintf("\nqs_apply() over a frame of %.1f GiB in pieces of a million rows: %.1f s, the process at most %.0f MB",
              opts$pieces, time, peak))
  cat(sprintf(" (at most 300: %s)\n", if (peak <= 300) "yes" else "NO"))
  unlink(c(file, script))
}
