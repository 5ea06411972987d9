# Timing, peak memory and printing, shared by the scripts of this folder.

# --name=value arguments over defaults; a default that is a number makes a number.
read_options <- function(defaults) {
  for (arg in commandArgs(TRUE)) {
    parts <- regmatches(arg, regexec("^--([a-z]+)=(.*)$", arg))[[1]]
    if (length(parts) != 3 || !parts[2] %in% names(defaults)) {
      stop("unknown argument ", arg, "; known: ", paste0("--", names(defaults), collapse = " "),
           call. = FALSE)
    }
    value <- if (is.character(defaults[[parts[2]]])) parts[3] else as.numeric(parts[3])
    defaults[[parts[2]]] <- value
  }
  defaults
}

split_names <- function(text, known, what) {
  chosen <- strsplit(text, ",")[[1]]
  unknown <- setdiff(chosen, known)
  if (length(unknown)) {
    stop("unknown ", what, ": ", paste(unknown, collapse = ", "), "; known: ",
         paste(known, collapse = ", "), call. = FALSE)
  }
  chosen
}

# Those of the packages that are installed; says which are not.
available <- function(packages) {
  there <- vapply(packages, requireNamespace, TRUE, quietly = TRUE)
  for (package in packages[!there]) message("missing: the package ", package)
  packages[there]
}

# ---- time

clock <- function() as.numeric(Sys.time())

seconds <- function(run, inputs) {
  start <- clock()
  for (input in inputs) value <- run(input)
  clock() - start
}

# A task is timed by run(input) over inputs(calls); clean(inputs) undoes what they left.
new_task <- function(run, inputs, clean = function(inputs) NULL) {
  list(run = run, inputs = inputs, clean = clean)
}

# A task outlives the loop that makes it, so it forces its arguments.
write_task <- function(backend, x) {
  force(backend)
  new_task(function(file) backend$write(x, file), fresh_files,
           function(files) unlink(dirname(files[1]), recursive = TRUE))
}

read_task <- function(backend, file) {
  force(file)
  new_task(backend$read, function(calls) rep(file, calls))
}

memory_task <- function(run, input) {
  force(input)
  new_task(run, function(calls) rep(list(input), calls))
}

fresh_files <- function(calls) {
  folder <- tempfile("write")
  dir.create(folder)
  file.path(folder, seq_len(calls))
}

time_task <- function(task, calls) {
  inputs <- task$inputs(calls)
  on.exit(task$clean(inputs))
  gc(FALSE)
  seconds(task$run, inputs) / calls
}

# Short calls are timed in loops of at least 50 ms; long ones up to 6 s in all, so that one longer
# than that is timed once, by the very call that found it so slow.
plan_task <- function(task, reps) {
  first <- time_task(task, 1)
  if (first < 0.1) first <- time_task(task, 5)
  task$calls <- max(1, min(2000, floor(0.05 / first)))
  task$times <- if (first > 6) first
  task$rounds <- if (first > 6) 0 else max(1, min(reps, floor(6 / first)))
  task
}

# Each round runs every task once, so that drift of the machine hits all alike.
# Gives one row per task: median, min and max in milliseconds.
interleave <- function(tasks, reps) {
  tasks <- lapply(tasks, plan_task, reps = reps)
  times <- lapply(tasks, `[[`, "times")
  for (round in seq_len(reps)) {
    for (name in names(tasks)) {
      task <- tasks[[name]]
      if (round <= task$rounds) times[[name]] <- c(times[[name]], time_task(task, task$calls))
    }
  }
  of <- function(f) 1000 * vapply(times, f, 0, USE.NAMES = FALSE)
  data.frame(
    backend = names(tasks), median_ms = of(stats::median), min_ms = of(min), max_ms = of(max),
    reps = lengths(times, FALSE), calls = vapply(tasks, `[[`, 0, "calls", USE.NAMES = FALSE)
  )
}

# ---- memory

# Peak memory of one write or read in a fresh process, beyond the object and the result, in MiB.
peak_memory <- function(backend, operation, file, threads) {
  if (!file.exists("/proc/self/clear_refs")) return(NA_real_)
  args <- c(shQuote(file.path(here, "peak.R")), backend, operation, shQuote(file), threads)
  out <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), args, stdout = TRUE,
                                  stderr = FALSE))
  if (length(out)) as.numeric(out[length(out)]) else NA_real_
}

# ---- printing

options(width = 160)

machine <- function(threads) {
  cpu <- tryCatch(grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1],
                  error = function(e) NA)
  cpu <- if (is.na(cpu)) Sys.info()[["machine"]] else sub(".*: *", "", cpu)
  sprintf("%s, %d cores, %s; R %s; %d threads; %s", cpu, parallel::detectCores(),
          utils::sessionInfo()$running, getRversion(), threads, format(Sys.time(), "%F %H:%M"))
}

print_table <- function(title, table, threads, backends) {
  cat("\n", title, "\n  ", machine(threads), "\n  ", versions(backends), "\n", sep = "")
  print(table, row.names = FALSE)
}

short <- function(x) ifelse(is.na(x), "-", formatC(signif(x, 3), format = "fg", width = 1))

spread <- function(rows) {
  sprintf("%s (%s-%s)", short(rows$median_ms), short(rows$min_ms), short(rows$max_ms))
}

mib <- function(bytes) bytes / 2^20

save_csv <- function(rows, file) {
  dir.create(dirname(file), showWarnings = FALSE, recursive = TRUE)
  utils::write.csv(rows, file, row.names = FALSE)
  cat("\nwrote ", file, "\n", sep = "")
}
