# What a script meets: a fresh Rscript that loads the package and writes or reads the survey frame
# of 1e6 rows once, the file in the page cache. A read is the whole process less a bare Rscript; a
# write is timed in the process, from before the package loads, for its object must be there first.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("workloads.R", "backends.R", "measure.R")) source(file.path(here, part))

opts <- read_options(list(threads = 2, reps = 11, rows = 1e6,
                          out = file.path(here, "results", "oneshot.csv")))

calls <- list(
  riffle = c(write = "riffle::qs_save(x, out, nthreads = threads)",
             read = "y <- riffle::qs_read(file, nthreads = threads)"),
  qs2 = c(write = "qs2::qs_save(x, out, nthreads = threads)",
          read = "y <- qs2::qs_read(file, nthreads = threads)"),
  fst = c(write = "fst::threads_fst(threads); fst::write_fst(x, out)",
          read = "fst::threads_fst(threads); y <- fst::read_fst(file)"),
  none = c(read = "invisible()")
)

folder <- tempfile("oneshot")
dir.create(folder)
object <- file.path(folder, "object.rds")

script <- function(operation, name) {
  call <- calls[[name]][[operation]]
  code <- c(
    sprintf("threads <- %d; out <- tempfile(); file <- '%s'", opts$threads,
            file.path(folder, name)),
    if (operation == "read") call else c(
      sprintf("x <- readRDS('%s'); start <- Sys.time()", object), call,
      "cat(as.numeric(Sys.time() - start, units = 'secs'))"
    )
  )
  file <- file.path(folder, paste0(name, "-", operation, ".R"))
  writeLines(code, file)
  file
}

run_script <- function(file) {
  out <- system2(file.path(R.home("bin"), "Rscript"), shQuote(file), stdout = TRUE)
  if (length(attr(out, "status"))) stop("failed: ", paste(readLines(file), collapse = "; "))
  out
}

seconds_taken <- function(file, operation) {
  start <- clock()
  out <- run_script(file)
  if (operation == "write") as.numeric(out[length(out)]) else clock() - start
}

make_files <- function(opened) {
  x <- survey(opts$rows)
  saveRDS(x, object, compress = FALSE)
  for (name in names(opened)) {
    file <- file.path(folder, name)
    opened[[name]]$write(x, file)
    stopifnot(opened[[name]]$same(x, opened[[name]]$read(file)))
  }
}

# Milliseconds over rounds that run each backend once; "none" is the bare Rscript.
time_operation <- function(operation, names) {
  if (operation == "read") names <- c(names, "none")
  scripts <- vapply(names, script, "", operation = operation)
  for (file in scripts) run_script(file)
  took <- replicate(opts$reps, vapply(scripts, seconds_taken, 0, operation = operation))
  took <- matrix(1000 * took, length(names), dimnames = list(names, NULL))
  bare <- if (operation == "read") stats::median(took["none", ]) else 0
  took <- took[names != "none", , drop = FALSE] - bare
  data.frame(
    workload = paste0("survey_", opts$rows), threads = opts$threads, operation = operation,
    backend = rownames(took), median_ms = apply(took, 1, stats::median),
    min_ms = apply(took, 1, min), max_ms = apply(took, 1, max), reps = opts$reps,
    bare_ms = bare, row.names = NULL
  )
}

opened <- open_backends(setdiff(names(calls), "none"), opts$threads)
make_files(opened)
invisible(gc())
rows <- do.call(rbind, lapply(c("write", "read"), time_operation, names = names(opened)))
unlink(folder, recursive = TRUE)

riffle <- rows[rows$backend == "riffle", ]
table <- data.frame(
  operation = rows$operation, backend = rows$backend, ms = spread(rows),
  "ms / riffle" = short(rows$median_ms / riffle$median_ms[match(rows$operation, riffle$operation)]),
  check.names = FALSE
)
print_table("One shot: load the package and do it once, beyond the start of Rscript", table,
            opts$threads, names(opened))
cat("A bare Rscript took", short(max(rows$bare_ms)), "ms.\n")
save_csv(rows, opts$out)
