# The bar of a save or read that takes long, by the cli package. Called from C (r_progress.c), on R's
# thread, first after 2 seconds. There is one bar at most: C sees to it that calls inside calls have
# none. An error in here is caught there, and is the end of the bar.

bar <- new.env(parent = emptyenv())   # `id` is that of cli's bar, while there is one

# For tests: all times of the progress are multiplied by this. Returns the old factor.
progress_pace <- function(factor) .Call(ffi_progress_pace, factor)

# Whether a call that was not told shows progress. Asked when it has taken 2 seconds, so that asking
# costs short calls nothing.
progress_wanted <- function() isTRUE(getOption("riffle.progress", interactive()))

# `words`: what is done, to what. `numbers`: bytes done, bytes in total or NA, and the seconds it took.
# Returns the seconds to the next update; NA: none.
progress_show <- function(words, is_path, numbers) {
  if (!requireNamespace("cli", quietly = TRUE)) return(NA_real_)
  suppressWarnings(progress_draw(progress_title(words, is_path), numbers[1], numbers[2], numbers[3]))
  # elsewhere each update is a line of its own
  if (cli::is_dynamic_tty()) 0.2 else 10
}

progress_draw <- function(title, done, total, seconds) {
  if (!is.na(total) && done > total) total <- NA
  rate <- if (seconds > 0) done / seconds else 0
  extra <- list(title = title, done = bytes_text(done), rate = paste0(bytes_text(rate), "/s"),
                left = if (!is.na(total) && rate > 0) paste("ETA", time_text((total - done) / rate)) else "")
  if (is.null(bar$id)) {
    bar$id <- cli::cli_progress_bar(
      type = "custom", format = progress_format(total), total = total, extra = extra, clear = TRUE,
      current = FALSE, auto_terminate = FALSE, .auto_close = FALSE
    )
  }
  # not cli's own rate and time left: it knows nothing of the time before the bar
  cli::cli_progress_update(id = bar$id, set = done, extra = extra, force = TRUE)
}

progress_format <- function(total) {
  if (is.na(total)) return("{cli::pb_spin} {cli::pb_extra$title}: {cli::pb_extra$done}, {cli::pb_extra$rate}")
  "{cli::pb_extra$title} {cli::pb_bar} {cli::pb_percent}, {cli::pb_extra$rate}, {cli::pb_extra$left}"
}

# At the end of the call, also after an error or an interrupt. Nothing may come out of it.
progress_hide <- function() {
  id <- bar$id
  bar$id <- NULL
  if (!is.null(id)) tryCatch(cli::cli_progress_done(id), error = function(e) NULL, interrupt = function(e) NULL)
}

# With the bar, the rate and the time it is to fit into 80 columns; cli cuts off what does not.
progress_title <- function(words, is_path) {
  doing <- switch(words[1], save = "Saving", serialize = "Serializing", read = "Reading", check = "Checking",
                  words[1])
  thing <- if (is_path) shorten(basename(words[2]), 19 - nchar(doing)) else words[2]
  paste(doing, thing)
}

shorten <- function(x, width) if (nchar(x) > width) paste0(substr(x, 1, width - 3), "...") else x

bytes_text <- function(n) {
  power <- if (n >= 1000) min(floor(log10(n) / 3), 5) else 0
  sprintf(if (power) "%.1f %s" else "%.0f %s", n / 1000^power,
          c("B", "kB", "MB", "GB", "TB", "PB")[power + 1])
}

# Hours, if there are any, minutes and seconds: 0:07, 1:00:00.
time_text <- function(seconds) {
  s <- ceiling(seconds)
  if (s < 3600) return(sprintf("%.0f:%02.0f", s %/% 60, s %% 60))
  sprintf("%.0f:%02.0f:%02.0f", s %/% 3600, s %% 3600 %/% 60, s %% 60)
}
