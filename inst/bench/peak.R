# A child of peak_memory(): one write (of the object in an uncompressed RDS file) or one read, and
# the peak of resident memory beyond what was there before and, for a read, beyond its result.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                    fixed = TRUE))
source(file.path(here, "backends.R"))

status <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
heap <- function() sum(gc()[, 2])

args <- commandArgs(TRUE)
backend <- open_backends(args[1], as.numeric(args[4]))[[1]]
small <- tempfile()
backend$write(data.frame(x = 1), small)
backend$read(small)

if (args[2] == "write") {
  x <- readRDS(args[3])
  run <- function() backend$write(x, tempfile())
} else {
  run <- function() backend$read(args[3])
}
heap_before <- heap()
cat("5", file = "/proc/self/clear_refs")
before <- status("VmRSS")
result <- run()
peak <- status("VmHWM")
cat(max(0, peak - before - if (args[2] == "read") heap() - heap_before else 0), "\n")
