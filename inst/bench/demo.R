# riffle's main job before your eyes: `make demo`, or
#   Rscript -e 'source(system.file("bench", "demo.R", package = "riffle"))'
# Saves and reads a survey of a million rows and a list of fitted models, compares what comes back
# with what was saved, and prints times and sizes beside saveRDS() and readRDS().

library(riffle)

source(system.file("bench", "workloads.R", package = "riffle"))

# Median of the wall-clock times of a few calls, in ms; the last value comes with it.
timed <- function(f, times) {
  ms <- numeric(times)
  for (i in seq_len(times)) {
    started <- Sys.time()
    value <- f()
    ms[i] <- 1000 * as.numeric(difftime(Sys.time(), started, units = "secs"))
  }
  list(ms = stats::median(ms), value = value)
}

measure <- function(x, save, read, times) {
  file <- tempfile()
  on.exit(unlink(file))
  write <- timed(function() save(x, file), times)
  back <- timed(function() read(file), times)
  list(write = write$ms, read = back$ms, size = file.size(file) / 1e6, value = back$value)
}

# A function's own environment comes back as a new one, as with readRDS().
same <- function(x, y) {
  identical(x, y, ignore.environment = TRUE, ignore.bytecode = TRUE, ignore.srcref = TRUE)
}

show <- function(title, x) {
  cat("\n", title, ", ", format(structure(object.size(x), class = "object_size"), units = "auto", standard = "SI"),
      " in memory\n\n", sep = "")
  cat(sprintf("  %-24s%12s%12s%12s\n", "", "write", "read", "size"))
  row <- function(name, m) {
    cat(sprintf("  %-24s%9.0f ms%9.0f ms%9.1f MB\n", name, m$write, m$read, m$size))
  }
  riffle <- measure(x, qs_save, qs_read, 5)
  row("qs_save, qs_read", riffle)
  base <- measure(x, saveRDS, readRDS, 1)
  row("saveRDS, readRDS", base)
  cat(sprintf("  %-24s%6.1f times%6.1f times%6.2f times\n", "base / riffle",
              base$write / riffle$write, base$read / riffle$read, base$size / riffle$size))
  good <- same(x, riffle$value) && same(base$value, riffle$value)
  cat("\n  read back identical: ", if (good) "yes" else "NO", "\n", sep = "")
  good
}

cat("riffle ", as.character(packageVersion("riffle")), ", R ", as.character(getRversion()), ", ",
    qs_threads(), " threads\n", sep = "")
frame <- survey(1e6)
good <- show("A survey of 1,000,000 rows and 8 columns", frame)

# Fitted at top level, so that their formulas belong to the global environment.
part <- frame[seq_len(20000), ]
models <- list(
  lm = lm(log(income) ~ region + year, part),
  glm = glm(employed ~ region + log(income), binomial, part),
  loess = loess(log(income) ~ as.numeric(survey_date), part[seq_len(1000), ]),
  spline = smooth.spline(part$year, log(part$income)),
  ecdf = ecdf(part$income)
)
good <- show(paste0("Fitted models (", toString(names(models)), ")"), models) && good
cat("\n")
if (!good) quit(status = 1)
