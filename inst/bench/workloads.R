# The objects of the suite, each made from a seed. `tables` names those of the number tables that
# the README shows; the rest cover the other kinds of data. A workload that draws on a package
# names it in `workload_needs`.

countries <- c(
  "Kenya", "Uganda", "Tanzania", "Rwanda", "Burundi", "Ethiopia", "Somalia", "Sudan", "Chad",
  "Niger", "Nigeria", "Ghana", "Senegal", "Mali", "Burkina Faso", "Benin", "Togo", "Cameroon",
  "Congo", "DRC"
)
states <- c("Complete", "Partial", "Missing data", NA, "Verified", "Pending review", "Approved")

survey <- function(n) {
  set.seed(7892)
  data.frame(
    id = 1:n,
    region = factor(sample(LETTERS[1:5], n, TRUE)),
    country = sample(countries, n, TRUE),
    year = sample(2020:2025, n, TRUE),
    income = rlnorm(n, 8, 1.5),
    employed = sample(c(TRUE, FALSE), n, TRUE, prob = c(.6, .4)),
    survey_date = as.Date("2020-01-01") + sample(0:2000, n, TRUE),
    notes = sample(states, n, TRUE)
  )
}

# The table that fst's README uses.
four_columns <- function(n) {
  set.seed(1)
  data.frame(
    logical = sample(c(TRUE, FALSE, NA), n, TRUE, prob = c(.85, .1, .05)),
    integer = sample(1:100, n, TRUE),
    real = sample(sample(1:10000, 20) / 100, n, TRUE),
    factor = as.factor(sample(labels(UScitiesD), n, TRUE))
  )
}

# The formula's environment is this call's: it keeps both the matrix and the data frame.
model <- function(n) {
  set.seed(1)
  x <- matrix(rnorm(n * 10), n)
  d <- data.frame(y = rnorm(n), x)
  lm(y ~ ., d)
}

nested <- function(n) {
  lapply(seq_len(n), function(i) list(id = i, name = paste0("n", i), sub = list(a = 1, b = "x")))
}

times <- function(n) {
  set.seed(1)
  start <- as.POSIXct("2020-01-01", tz = "UTC")
  data.frame(
    day = as.Date("2020-01-01") + sample(0:2000, n, TRUE),
    logged = start + cumsum(sample(0:60, n, TRUE)),
    measured = start + sort(runif(n, 0, 1e8))
  )
}

# Sentences of five words out of 2,000; `to` is their encoding.
sentences <- function(n, to) {
  set.seed(1)
  letters_wide <- c(letters, "\u00e9", "\u00fc", "\u00f1", "\u00f8", "\u00e7")
  word <- function(i) paste(sample(letters_wide, 2 + i %% 8, TRUE), collapse = "")
  words <- vapply(seq_len(2000), word, "")
  text <- do.call(paste, replicate(5, sample(words, n, TRUE), simplify = FALSE))
  iconv(text, "UTF-8", to)
}

list_column <- function(n) {
  set.seed(1)
  d <- data.frame(id = seq_len(n))
  d$tags <- lapply(sample(0:4, n, TRUE), function(k) sample(states, k))
  d
}

wide_frame <- function(n, columns) {
  set.seed(1)
  column <- function(i) {
    switch(i %% 4 + 1, rnorm(n), sample.int(1000L, n, TRUE), sample(countries, n, TRUE),
           round(runif(n, 0, 100), 1))
  }
  as.data.frame(stats::setNames(lapply(seq_len(columns), column), paste0("v", seq_len(columns))))
}

long_list <- function(length, n) {
  set.seed(1)
  lapply(seq_len(length), function(i) if (i %% 2) rnorm(n) else sample.int(1e6L, n, TRUE))
}

seeded <- function(expr) {
  set.seed(1)
  expr
}

workloads <- list(
  survey_1e3 = function() survey(1e3),
  survey_1e5 = function() survey(1e5),
  survey_1e6 = function() survey(1e6),
  four_columns_1e7 = function() four_columns(1e7),
  runif_1e7 = function() seeded(runif(1e7)),
  strings_1e6 = function() seeded(paste0("id_", sample(1e7, 1e6))),
  nested_1e5 = function() nested(1e5),
  lm_1e5 = function() model(1e5),
  diamonds = function() ggplot2::diamonds,
  runif_1 = function() seeded(runif(1)),
  integers_sorted = function() seeded(cumsum(sample.int(100L, 5e6, TRUE))),
  integers_random = function() seeded(sample.int(.Machine$integer.max, 5e6, TRUE)),
  dates_times = function() times(1e6),
  prices = function() seeded(round(rlnorm(5e6, 3, 1), 2)),
  matrix_numeric = function() seeded(matrix(rnorm(4e6), 2000)),
  matrix_sparse = function() seeded(Matrix::rsparsematrix(1e5, 1000, 0.01)),
  bit64 = function() seeded(bit64::as.integer64(1e12) + cumsum(sample.int(1000L, 2e6, TRUE))),
  text_latin1 = function() sentences(3e5, "latin1"),
  text_utf8 = function() sentences(3e5, "UTF-8"),
  list_column = function() list_column(1e5),
  wide_frame = function() wide_frame(1e4, 200),
  long_list = function() long_list(20, 1e6)
)

tables <- names(workloads)[1:10]

# Those also timed in memory: serialize, marshall, their inverses and calc_size.
in_memory <- c("survey_1e6", "runif_1")

workload_needs <- c(diamonds = "ggplot2", matrix_sparse = "Matrix", bit64 = "bit64")
