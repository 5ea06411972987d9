# How time and peak memory grow with the rows of the survey frame, on 1 to as many threads as
# there are cores. The largest frame needs about 6 GB.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("workloads.R", "backends.R", "measure.R")) source(file.path(here, part))

opts <- read_options(list(rows = "1e3,1e4,1e5,1e6,1e7,3e7", backends = "riffle,qs2,fst",
                          threads = parallel::detectCores(), reps = 3,
                          out = file.path(here, "results", "scaling.csv")))

run_threads <- function(threads, x, folder) {
  opened <- open_backends(split_names(opts$backends, names(backends), "backend"), threads)
  object <- file.path(folder, "object.rds")
  files <- stats::setNames(file.path(folder, names(opened)), names(opened))
  for (name in names(opened)) opened[[name]]$write(x, files[[name]])
  write <- interleave(lapply(opened, write_task, x = x), opts$reps)
  read <- interleave(Map(read_task, opened, files), opts$reps)
  write$peak_mib <- mapply(peak_memory, names(opened), "write", object, threads)
  read$peak_mib <- mapply(peak_memory, names(opened), "read", files, threads)
  rows <- rbind(cbind(operation = "write", write), cbind(operation = "read", read))
  cbind(rows = nrow(x), threads = threads, rows, size = file.size(files))
}

run_rows <- function(n) {
  x <- survey(n)
  folder <- tempfile("scaling")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  saveRDS(x, file.path(folder, "object.rds"), compress = FALSE)
  rows <- do.call(rbind, lapply(seq_len(opts$threads), run_threads, x = x, folder = folder))
  table <- data.frame(
    rows[c("threads", "operation", "backend")], ms = spread(rows), "peak MB" = short(rows$peak_mib),
    MB = short(mib(rows$size)), check.names = FALSE
  )
  print_table(paste("Survey frame of", format(n, scientific = FALSE, big.mark = ","), "rows"),
              table, opts$threads, unique(rows$backend))
  rows
}

sizes <- as.numeric(strsplit(opts$rows, ",")[[1]])
save_csv(do.call(rbind, lapply(sizes, run_rows)), opts$out)
