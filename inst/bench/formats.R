# The files and tools that people already have: qs2 and RDS files by riffle beside their own packages,
# storr's drivers, and qs_hash() beside digest. Each ratio is printed with the one riffle is held to.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("workloads.R", "backends.R", "measure.R")) source(file.path(here, part))

opts <- read_options(list(threads = 2, reps = 7, rows = 1e6,
                          out = file.path(here, "results", "formats.csv")))
there <- function(package) length(available(package)) == 1

# A row per ratio, peer over riffle: of times, or of sizes where that says so.
row <- function(what, peer, floor, mine, theirs, unit = "ms") {
  data.frame(what = what, peer = peer, riffle = mine, theirs = theirs, unit = unit,
             ratio = if (unit == "MB") mine / theirs else theirs / mine, held_to = floor)
}

# Two tasks in turn.
race <- function(what, floor, riffle, peer, peer_name) {
  times <- interleave(list(riffle = riffle, peer = peer), opts$reps)
  row(what, peer_name, floor, times$median_ms[1], times$median_ms[2])
}

into <- function(write, x, extension) {
  force(write)
  force(x)
  new_task(function(file) write(x, file),
           function(calls) paste0(fresh_files(calls), extension),
           function(files) unlink(dirname(files[1]), recursive = TRUE))
}

from <- function(read, file) {
  force(read)
  force(file)
  new_task(read, function(calls) rep(file, calls))
}

sizes <- function(what, peer, floor, mine, theirs) {
  row(what, peer, floor, mib(file.size(mine)), mib(file.size(theirs)), "MB")
}

threaded_save <- function(x, file) riffle::qs_save(x, file, nthreads = opts$threads)
threaded_read <- function(file) riffle::qs_read(file, nthreads = opts$threads)

qs2_rows <- function(x, folder) {
  mine <- file.path(folder, "riffle.qs2")
  theirs <- file.path(folder, "qs2.qs2")
  save <- function(x, file) qs2::qs_save(x, file, nthreads = opts$threads)
  read <- function(file) qs2::qs_read(file, nthreads = opts$threads)
  threaded_save(x, mine)
  save(x, theirs)
  stopifnot(identical(qs2::qs_read(mine, validate_checksum = TRUE), x), identical(threaded_read(theirs), x))
  rbind(
    race("write a qs2 file", 1.5, into(threaded_save, x, ".qs2"), into(save, x, ".qs2"), "qs2"),
    race("read a qs2 file", 1.5, from(threaded_read, theirs), from(read, theirs), "qs2"),
    sizes("size of a qs2 file", "qs2", 1.02, mine, theirs)
  )
}

rds_rows <- function(x, folder) {
  mine <- file.path(folder, "riffle.rds")
  theirs <- file.path(folder, "base.rds")
  threaded_save(x, mine)
  saveRDS(x, theirs)
  stopifnot(identical(readRDS(mine), x), identical(threaded_read(theirs), x))
  rbind(
    race("write an RDS file", 1.8, into(threaded_save, x, ".rds"), into(saveRDS, x, ".rds"), "saveRDS"),
    race("read an RDS file", 1.3, from(threaded_read, theirs), from(readRDS, theirs), "readRDS"),
    sizes("size of an RDS file", "saveRDS", 1.02, mine, theirs)
  )
}

# Values differ from call to call: storr does not store what it has already.
storr_task <- function(st, operation, values) {
  force(st)
  force(values)
  at <- 0
  run <- switch(operation,
    set = function(key) {
      at <<- at + 1
      st$set(key, values(at), use_cache = FALSE)
    },
    get = function(key) st$get(key, use_cache = FALSE)
  )
  new_task(run, function(calls) rep("key", calls))
}

storr_rows <- function(folder) {
  rif <- riffle::storr_riffle(file.path(folder, "riffle"), nthreads = opts$threads)
  rds <- storr::storr_rds(file.path(folder, "rds"))
  number <- function(i) i + 0.5
  bytes <- as.raw(sample(0:255, 1e8, TRUE))
  big <- function(i) {
    bytes[1:8] <- writeBin(i + 0.5, raw())
    bytes
  }
  one <- function(what, operation, values, floor) {
    race(what, floor, storr_task(rif, operation, values), storr_task(rds, operation, values),
         "storr_rds")
  }
  rbind(
    one("storr: set a number", "set", number, 1), one("storr: get a number", "get", number, 1),
    one("storr: set 100 MB of raw", "set", big, 3), one("storr: get 100 MB of raw", "get", big, 3)
  )
}

hash_rows <- function(x) {
  task <- function(hash) new_task(function(i) hash(x), seq_len)
  race("hash the survey frame", 5, task(riffle::qs_hash),
       task(function(x) digest::digest(x, algo = "xxhash64")), "digest")
}

x <- survey(opts$rows)
folder <- tempfile("formats")
dir.create(folder)
rows <- rbind(
  if (there("qs2")) qs2_rows(x, folder),
  rds_rows(x, folder),
  if (there("storr")) storr_rows(folder),
  if (there("digest")) hash_rows(x)
)
unlink(folder, recursive = TRUE)

met <- ifelse(rows$unit == "MB", rows$ratio <= rows$held_to, rows$ratio >= rows$held_to)
print_table("The files and tools people have", data.frame(
  what = rows$what, peer = rows$peer, riffle = paste(short(rows$riffle), rows$unit),
  theirs = paste(short(rows$theirs), rows$unit), ratio = short(rows$ratio),
  `held to` = paste(ifelse(rows$unit == "MB", "<=", ">="), rows$held_to), met = ifelse(met, "yes", "NO"),
  check.names = FALSE
), opts$threads, c("riffle", "qs2"))
utils::write.csv(rows, opts$out, row.names = FALSE)
cat("\nwrote ", opts$out, "\n", sep = "")
