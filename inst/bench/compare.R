# Times, sizes and peak memory of riffle beside its peers; README.md says how to run it.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("workloads.R", "backends.R", "measure.R")) source(file.path(here, part))

opts <- read_options(list(workloads = "tables", backends = "tables", threads = 2, reps = 7,
                          peak = "yes", out = file.path(here, "results", "compare.csv")))

# Names out of `known`, where "all" stands for all and "tables" for those of the README's tables.
choose <- function(text, known, in_tables, what) {
  text <- gsub("tables", paste(in_tables, collapse = ","), text, fixed = TRUE)
  if (text == "all") known else split_names(text, known, what)
}

choose_backends <- function(text) choose(text, names(backends), table_backends, "backend")

choose_workloads <- function(text) {
  chosen <- choose(text, names(workloads), tables, "workload")
  needs <- workload_needs[chosen]
  there <- is.na(needs) | vapply(needs, requireNamespace, TRUE, quietly = TRUE)
  for (i in which(!there)) {
    message("missing: workload ", chosen[i], " needs the package ", needs[i])
  }
  chosen[there]
}

# Writes and reads once; the reason why this backend can't be timed on x, or "".
reason_unfit <- function(backend, x, file) {
  tryCatch(
    {
      suppressWarnings(backend$write(x, file))
      if (backend$same(x, backend$read(file))) "" else "what it reads differs"
    },
    error = function(e) sub("\n.*", "", conditionMessage(e))
  )
}

# The files of the backends that give x back, by name; says why the others don't.
checked_files <- function(opened, x, folder) {
  files <- list()
  for (name in names(opened)) {
    file <- file.path(folder, name)
    reason <- reason_unfit(opened[[name]], x, file)
    if (nzchar(reason)) message("  not timed: ", name, ": ", reason) else files[[name]] <- file
  }
  files
}

# What an operation on raw vectors starts from.
memory_input <- function(operation, backend, x) {
  switch(operation,
    deserialize = backend$memory$serialize(x),
    unmarshall = serialize(x, NULL, xdr = FALSE),
    x
  )
}

# The backends that have the operation and give what they should.
memory_tasks <- function(operation, opened, x) {
  tasks <- list()
  for (name in names(opened)) {
    run <- opened[[name]]$memory[[operation]]
    if (is.null(run)) next
    input <- memory_input(operation, opened[[name]], x)
    result <- run(input)
    stream <- serialize(x, NULL, xdr = FALSE)
    right <- switch(operation,
      serialize = same_object(x, opened[[name]]$memory$deserialize(result)),
      marshall = identical(result, stream),
      size = result == length(stream),
      same_object(x, result)
    )
    if (right) tasks[[name]] <- memory_task(run, input)
    else message("  not timed: ", name, " ", operation, ": its result differs")
  }
  tasks
}

time_operation <- function(operation, tasks, reps) {
  if (!length(tasks)) return(NULL)
  cbind(operation = operation, interleave(tasks, reps), size = NA_real_, peak_mib = NA_real_)
}

time_files <- function(opened, x, files, folder) {
  fit <- opened[names(files)]
  tasks <- list(write = lapply(fit, write_task, x = x), read = Map(read_task, fit, files))
  rows <- do.call(rbind, Map(time_operation, names(tasks), tasks, opts$reps))
  rows$size <- file.size(unlist(files))[match(rows$backend, names(files))]
  if (opts$peak == "yes") rows$peak_mib <- peaks(rows, x, files, folder)
  rows
}

peaks <- function(rows, x, files, folder) {
  object <- file.path(folder, "object.rds")
  saveRDS(x, object, compress = FALSE)
  one <- function(backend, operation) {
    file <- if (operation == "write") object else files[[backend]]
    peak_memory(backend, operation, file, opts$threads)
  }
  mapply(one, rows$backend, rows$operation)
}

time_memory <- function(opened, x) {
  operations <- c("serialize", "deserialize", "marshall", "unmarshall", "size")
  tasks <- lapply(stats::setNames(operations, operations), memory_tasks, opened = opened, x = x)
  do.call(rbind, Map(time_operation, operations, tasks, opts$reps))
}

run_workload <- function(name, opened) {
  cat("\n", name, "\n", sep = "")
  x <- workloads[[name]]()
  folder <- tempfile("files")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  on_files <- Filter(function(backend) !is.null(backend$write), opened)
  files <- checked_files(on_files, x, folder)
  rows <- if (length(files)) time_files(on_files, x, files, folder)
  if (name %in% in_memory) rows <- rbind(rows, time_memory(opened, x))
  if (is.null(rows)) return(NULL)
  rows <- cbind(workload = name, threads = opts$threads, rows)
  print_files(name, rows)
  print_memory(name, rows)
  rows
}

# Of each row, what riffle has in `column` on the same operation.
of_riffle <- function(rows, column) {
  riffle <- rows[rows$backend == "riffle", ]
  riffle[[column]][match(rows$operation, riffle$operation)]
}

print_files <- function(name, rows) {
  write <- rows[rows$operation == "write", ]
  read <- rows[rows$operation == "read", ]
  if (!nrow(write)) return()
  table <- data.frame(
    backend = write$backend,
    "write ms" = spread(write), "read ms" = spread(read), MB = short(mib(write$size)),
    "peak w" = short(write$peak_mib), "peak r" = short(read$peak_mib),
    "write / riffle" = short(write$median_ms / of_riffle(write, "median_ms")),
    "read / riffle" = short(read$median_ms / of_riffle(read, "median_ms")),
    "MB / riffle" = short(write$size / of_riffle(write, "size")),
    check.names = FALSE
  )
  print_table(paste0(name, ": files"), table, opts$threads, write$backend)
}

print_memory <- function(name, rows) {
  rows <- rows[!rows$operation %in% c("write", "read"), ]
  if (!nrow(rows)) return()
  table <- data.frame(
    operation = rows$operation, backend = rows$backend,
    us = short(1000 * rows$median_ms), from = short(1000 * rows$min_ms),
    to = short(1000 * rows$max_ms), calls = rows$calls * rows$reps,
    "us / riffle" = short(rows$median_ms / of_riffle(rows, "median_ms")), check.names = FALSE
  )
  print_table(paste0(name, ": in memory"), table, opts$threads, unique(rows$backend))
}

# The floors that were set for riffle, beside what was measured. On one thread those against qs2
# hold at 0.8 of their values.
print_floors <- function(rows) {
  floors <- utils::read.csv(file.path(here, "floors.csv"))
  key <- function(d, backend) paste(d$workload, d$operation, backend)
  column <- function(backend, name) {
    rows[[name]][match(key(floors, backend), key(rows, rows$backend))]
  }
  sizes <- floors$operation == "file"
  floors$operation[sizes] <- "write"
  time <- column(floors$peer, "median_ms") / column("riffle", "median_ms")
  size <- column("riffle", "size") / column(floors$peer, "size")
  relaxed <- opts$threads == 1 & !sizes & floors$peer == "qs2"
  limit <- ifelse(relaxed, 0.8, 1) * floors$limit
  measured <- ifelse(sizes, size, time)
  met <- ifelse(sizes, measured <= limit, measured >= limit)
  table <- data.frame(
    issue = floors$issue, workload = floors$workload,
    operation = ifelse(sizes, "file", floors$operation), peer = floors$peer, floor = paste(ifelse(sizes, "<=", ">="), limit),
    measured = short(measured), met = ifelse(met, "yes", "NO")
  )[!is.na(measured), ]
  if (nrow(table)) {
    print_table("Floors: peer / riffle for times, riffle / peer for files", table, opts$threads,
                unique(rows$backend))
  }
}

chosen <- choose_workloads(opts$workloads)
opened <- open_backends(choose_backends(opts$backends), opts$threads)
rows <- do.call(rbind, lapply(chosen, run_workload, opened = opened))
if (!is.null(rows)) {
  print_floors(rows)
  save_csv(rows, opts$out)
}
