# Data frames of n rows, 7 or more, with columns of every kind, as a named list.
example_frames <- function(n) {
  i <- seq_len(n)
  plain <- data.frame(
    flag = i %% 3 == 0, id = i * 2L, few = (i * 7L) %% 5L, price = (i * 37) %% 1000 / 100,
    wave = (i * 0.7548776662) %% 1, text = sprintf("id-%06d", i), same = c("a", NA, "\u00e9")[i %% 3 + 1],
    z = complex(real = i, imaginary = -i), byte = as.raw(i %% 256)
  )
  with_names <- plain[c("id", "text")]
  with_names$named <- stats::setNames(i + 0, paste0("n", i))
  classed <- data.frame(
    level = factor(c("lo", "hi", NA)[i %% 3 + 1], levels = c("lo", "hi", "none")),
    order = factor(c("x", "y")[i %% 2 + 1], ordered = TRUE),
    day = as.Date("2020-01-01") + i, whole_day = structure(17000L + i, class = "Date"),
    time = as.POSIXct("2020-01-01", tz = "America/New_York") + i / 7,
    span = as.difftime(i / 3, units = "mins"), version = numeric_version(paste0("1.", i))
  )
  classed$local <- as.POSIXlt(classed$time, tz = "UTC")
  classed$as_is <- I(i + 0.5)
  classed$noted <- structure(i, note = "dropped by base")
  classed$noted_level <- structure(classed$level, label = "a factor's")
  deep <- data.frame(id = i)
  deep$matrix <- matrix(seq_len(2 * n) + 0, n, dimnames = list(NULL, c("u", "v")))
  deep$texts <- matrix(as.character(seq_len(3 * n)), n)
  deep$list <- lapply(i, function(k) if (k %% 3) seq_len(k %% 5))
  deep$as_is <- I(lapply(i, function(k) letters[k %% 26]))
  deep$frame <- data.frame(p = i, q = classed$level)
  deep$array <- array(i, n)
  numbered <- plain[c("id", "text")][rev(i), ]
  texts <- plain[c("id", "price")]
  row.names(texts) <- sprintf("row %d", i)
  noted <- structure(plain[c("id", "few")], note = "the frame's", other = list(1, 2))
  list(plain = plain, "named columns" = with_names, classed = classed, deep = deep, "row numbers" = numbered,
       "row names" = texts, "attributes" = noted, "one column" = plain["text"],
       "no columns" = plain[character()])
}

example_tibbles <- function(n) {
  tibble <- from("tibble", "as_tibble")
  frames <- example_frames(n)
  # vctrs has no times in parts, and makes doubles of dates in integers
  flat <- tibble(frames$classed[setdiff(names(frames$classed), c("local", "whole_day"))])
  attr(flat, "note") <- "the tibble's"
  list(plain = tibble(frames$plain), classed = flat, deep = tibble(frames$deep))
}

# Of one block at most and without an index; and, by save_as(), with one and of many blocks.
small_and_large <- c(50, 20000)

save_as <- function(x, format) {
  path <- tempfile(fileext = ".rif")
  is_large <- is.list(x) && utils::object.size(x) > 30000
  if (format != "riffle" || !is_large) {
    qs_save(x, path, format = format)
  } else {
    qs_save(x, path, codec = "none", shuffle = FALSE, meta = list(note = "needs an index"))
  }
  path
}

# Random rows, as list(from, to): also the first, the last, all, none.
some_ranges <- function(n) {
  at <- sort(sample(n, 2))
  list(c(1, 1), c(1, n), c(n, n), at, c(at[1], at[1] + 1), c(1, at[2]), c(at[1], n + 10), c(n + 1, n + 5),
       c(5, 4))
}

rows_between <- function(range, n) if (range[1] <= min(range[2], n)) range[1]:min(range[2], n) else integer()

# `x` is the part of `what` that it should be.
expect_part <- function(x, expected, what) {
  expect(identical(x, expected), paste0(
    what, " is another: ", paste(utils::head(all.equal(x, expected), 3), collapse = "; ")
  ))
}
