# Parts of a file: one column, some rows, one element of a list, lazy reading; beside fst and beside
# riffle reading the whole. Each ratio is printed with the one riffle is held to.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
for (part in c("workloads.R", "backends.R", "measure.R")) source(file.path(here, part))

opts <- read_options(list(threads = 2, reps = 15, rows = 1e6,
                          out = file.path(here, "results", "parts.csv")))
with_fst <- length(available("fst")) == 1
if (with_fst) invisible(fst::threads_fst(opts$threads))

# Two tasks in turn; the ratio is of the second's time to the first's.
race <- function(what, peer, sign, held_to, first, second) {
  times <- interleave(list(first = new_task(function(i) first(), seq_len),
                           second = new_task(function(i) second(), seq_len)), opts$reps)
  data.frame(what = what, peer = peer, ms = times$median_ms[1], peer_ms = times$median_ms[2],
             ratio = times$median_ms[2] / times$median_ms[1], sign = sign, held_to = held_to)
}

read <- function(...) riffle::qs_read(..., nthreads = opts$threads)

column_rows <- function(x, file, fst_file) {
  do.call(rbind, lapply(names(x), function(name) {
    stopifnot(identical(read(file, columns = name), x[name]))
    race(paste("column", name), "fst", ">=", 1, function() read(file, columns = name),
         function() fst::read_fst(fst_file, columns = name))
  }))
}

range_rows <- function(x, file, fst_file) {
  from <- nrow(x) / 2 + 1
  to <- from + 999
  stopifnot(identical(read(file, from = from, to = to), x[from:to, ]))
  race("1,000 rows of all columns", "fst", ">=", 1, function() read(file, from = from, to = to),
       function() fst::read_fst(fst_file, from = from, to = to))
}

# A column that is touched is decoded once: so a fresh lazy frame for each, whose making is timed
# apart and taken off.
lazy_rows <- function(x, file) {
  stopifnot(identical(read(file, lazy = TRUE), x))
  whole <- race("the frame, lazy", "whole", ">=", 10, function() read(file, lazy = TRUE),
                function() read(file))
  touch <- function(name) {
    force(name)
    lazily <- function() {
      frame <- read(file, lazy = TRUE)
      .subset2(frame, name)[length(.subset2(frame, name))]
    }
    row <- race(paste("column", name, "touched"), "columns =", ">=", 1 / 1.2, lazily,
                function() read(file, columns = name))
    row$ms <- row$ms - whole$ms
    row$ratio <- row$peer_ms / row$ms
    row
  }
  rbind(whole, do.call(rbind, lapply(setdiff(names(x), "id"), touch)))
}

list_rows <- function(folder) {
  frames <- seeded(lapply(seq_len(1000), function(i) {
    data.frame(id = seq_len(4000) + i, value = round(rlnorm(4000, 3), 2),
               group = sample(letters, 4000, TRUE))
  }))
  names(frames) <- sprintf("frame_%04d", seq_along(frames))
  file <- file.path(folder, "frames.rif")
  riffle::qs_save(frames, file, nthreads = opts$threads)
  stopifnot(identical(read(file, select = "frame_0700"), frames[["frame_0700"]]))
  race("one of 1,000 frames (80 MB)", "whole", ">=", 50, function() read(file, select = "frame_0700"),
       function() read(file))
}

x <- survey(opts$rows)
folder <- tempfile("parts")
dir.create(folder)
file <- file.path(folder, "survey.rif")
fst_file <- file.path(folder, "survey.fst")
riffle::qs_save(x, file, nthreads = opts$threads)
if (with_fst) fst::write_fst(x, fst_file)
rows <- rbind(
  if (with_fst) column_rows(x, file, fst_file),
  if (with_fst) range_rows(x, file, fst_file),
  lazy_rows(x, file),
  list_rows(folder)
)
blocks <- riffle::qs_info(file)$blocks
share <- 100 * sum(blocks$stored_bytes[blocks$kind == "index"]) / file.size(file)
unlink(folder, recursive = TRUE)

met <- rows$ratio >= rows$held_to
print_table("Parts of a file", data.frame(
  what = rows$what, ms = short(rows$ms), peer = rows$peer, `peer ms` = short(rows$peer_ms),
  ratio = short(rows$ratio), `held to` = paste(rows$sign, short(rows$held_to)),
  met = ifelse(met, "yes", "NO"), check.names = FALSE
), opts$threads, c("riffle", if (with_fst) "fst"))
cat(sprintf("\nThe index takes %.2f %% of the survey frame's file (at most 0.5).\n", share))
save_csv(rows, opts$out)
