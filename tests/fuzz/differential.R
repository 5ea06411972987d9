# Random objects for FUZZ_SECONDS (600): riffle's streams are those of R's serializer.
#   Rscript tests/fuzz/differential.R [SEED]      SEED: the first; it is printed, to do it again

library(riffle)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(folder, "random-objects.R"))

seconds <- as.numeric(Sys.getenv("FUZZ_SECONDS", "600"))
seed <- as.integer(c(commandArgs(TRUE), as.integer(Sys.time()) %% 1e9)[1])
cat("differential: seeds from ", seed, ", ", seconds, " s\n", sep = "")

failures <- objects <- plain <- 0
until <- Sys.time() + seconds
while (Sys.time() < until) {
  for (any in c(FALSE, TRUE)) {
    x <- random_object(seed, any)
    difference <- stream_difference(x)
    is_plain <- riffle:::is_plain(x)
    if (is.null(difference) && !any && !is_plain) difference <- "plain data is not taken for it"
    objects <- objects + 1
    plain <- plain + is_plain
    if (is.null(difference)) next
    failures <- failures + 1
    cat("random_object(", seed, ", ", any, "): ", difference, "\n", sep = "")
  }
  seed <- seed + 1L
}
cat(objects, "objects,", plain, "of them plain,", failures, "failures\n")
quit(status = as.integer(failures > 0))
