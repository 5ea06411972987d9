# Time against size over codecs and levels: where the curve bends is where a default belongs.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("workloads.R", "backends.R", "measure.R")) source(file.path(here, part))

opts <- read_options(list(workloads = "survey_1e6,prices,strings_1e6", threads = 2, reps = 5,
                          out = file.path(here, "results", "curve.csv")))

riffle_setting <- function(codec, level) {
  list(
    write = function(x, file) {
      riffle::qs_save(x, file, compress_level = level, nthreads = opts$threads, codec = codec)
    },
    read = function(file) riffle::qs_read(file, nthreads = opts$threads)
  )
}

qs2_setting <- function(level) {
  list(
    write = function(x, file) {
      qs2::qs_save(x, file, compress_level = level, nthreads = opts$threads)
    },
    read = function(file) qs2::qs_read(file, nthreads = opts$threads)
  )
}

fst_setting <- function(level) {
  list(
    write = function(x, file) fst::write_fst(as_frame(x), file, compress = level),
    read = fst::read_fst
  )
}

# One setting a row: the name of a curve, its package and the level.
settings <- rbind(
  data.frame(curve = "riffle zstd", package = "riffle", level = c(-5, -1, 1, 3, 5, 7, 9, 12)),
  data.frame(curve = "riffle lz4", package = "riffle", level = c(1, 3, 6, 9)),
  data.frame(curve = "riffle none", package = "riffle", level = 0),
  data.frame(curve = "qs2", package = "qs2", level = c(-5, -1, 1, 3, 5, 7, 9, 12)),
  data.frame(curve = "fst", package = "fst", level = c(0, 25, 50, 75, 85, 100))
)

backend_of <- function(i) {
  level <- settings$level[i]
  switch(settings$package[i],
    riffle = riffle_setting(sub("riffle ", "", settings$curve[i]), level),
    qs2 = qs2_setting(level),
    fst = fst_setting(level)
  )
}

run_workload <- function(name) {
  x <- workloads[[name]]()
  folder <- tempfile("curve")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  made <- lapply(seq_len(nrow(settings)), backend_of)
  files <- file.path(folder, seq_along(made))
  taken <- mapply(can_write, made, files, MoreArgs = list(x = x))
  rows <- rbind(
    operation_rows("write", lapply(made[taken], write_task, x = x), taken),
    operation_rows("read", Map(read_task, made[taken], files[taken]), taken)
  )
  size <- file.size(files[taken])
  rows <- cbind(workload = name, threads = opts$threads, rows, size = size)
  wide <- data.frame(
    rows[rows$operation == "write", c("curve", "level")], MB = short(mib(size)),
    "write ms" = spread(rows[rows$operation == "write", ]),
    "read ms" = spread(rows[rows$operation == "read", ]), check.names = FALSE
  )
  print_table(name, wide, opts$threads, unique(settings$package))
  rows
}

can_write <- function(backend, file, x) {
  problem <- tryCatch({ backend$write(x, file); NULL }, error = conditionMessage)
  if (!is.null(problem)) message("not timed: ", problem)
  is.null(problem)
}

operation_rows <- function(operation, tasks, taken) {
  names(tasks) <- which(taken)
  times <- interleave(tasks, opts$reps)
  times$backend <- NULL
  cbind(settings[taken, c("curve", "level")], operation = operation, times)
}

settings <- settings[settings$package %in% available(unique(settings$package)), ]
if ("fst" %in% settings$package) fst::threads_fst(opts$threads)
chosen <- split_names(opts$workloads, names(workloads), "workload")
save_csv(do.call(rbind, lapply(chosen, run_workload)), opts$out)
