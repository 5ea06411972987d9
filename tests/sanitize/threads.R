# 1,000 saves and reads with threads, for ThreadSanitizer. Closes with `N passed, N failed`.

Sys.unsetenv("LD_PRELOAD")
library(riffle)
set.seed(1)
objects <- list(
  numbers = runif(2e5),
  table = data.frame(id = 1:60000, x = sample(5, 60000, TRUE), s = sample(state.name, 60000, TRUE)),
  any = list(sample(1e6L, 2e5, TRUE), quote(f(x)), new.env(), as.character(runif(20000)))
)
expected <- lapply(objects, qs_serialize, nthreads = 1L)
file <- tempfile(fileext = ".rif")

round_trip <- function(i) {
  k <- i %% length(objects) + 1L
  threads <- i %% 7L + 2L
  codec <- c("zstd", "lz4", "none")[i %% 5L %% 3L + 1L]
  qs_save(objects[[k]], file, nthreads = threads, codec = codec)
  y <- qs_read(file, nthreads = 9L - threads, validate_checksum = i %% 2L == 0L)
  if (i %% 10L == 0L) return(identical(qs_serialize(y, nthreads = threads), expected[[k]]))
  TRUE
}
passed <- sum(vapply(seq_len(1000L), round_trip, NA))

# A reader and a writer that are left half way.
for (i in 1:50) {
  hook <- function(e) stop("left")
  left <- tryCatch(qs_save(objects$any, file, nthreads = 4L, refhook = hook), error = function(e) TRUE)
  passed <- passed + isTRUE(left)
}

failed <- 1050L - passed
cat(passed, " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0))
