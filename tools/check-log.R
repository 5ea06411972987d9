# Reads a 00check.log: exit status 0 when R CMD check found nothing that is ours to mend.
#   Rscript tools/check-log.R riffle.Rcheck/00check.log
# Clean is no error, no warning, and no note but these, word for word:
#  - a new submission;
#  - what the machine lacks: the time from a server, pandoc, tidy, V8, a package that riffle only plugs into.

log <- commandArgs(TRUE)[1]
lines <- if (file.exists(log)) readLines(log, warn = FALSE) else character()

plugs <- "[\u2018'](cachem|callr|digest|future|memoise|mirai|pins|qs2|shiny|storr|targets)[\u2019']"
allowed <- list(
  "package dependencies" = c(
    "Packages? suggested but not available for checking:",
    sprintf("(Packages? suggested but not available for checking: )?%s( %s)*", plugs, plugs)
  ),
  "CRAN incoming feasibility" = c("Maintainer: .*", "New submission"),
  "for future file timestamps" = "unable to verify current time",
  "top-level files" = "Files .README.md. or .NEWS.md. cannot be checked without .pandoc. being installed.",
  "HTML version of manual" = c(
    "Skipping checking HTML validation: no command .tidy. found",
    "Skipping checking HTML validation: .tidy. doesn't look like recent enough HTML Tidy.*",
    "Skipping checking math rendering: package .V8. unavailable"
  )
)

# One element for each thing checked: its first line and what was said below it.
starts <- cumsum(grepl("^\\* ", lines))
checks <- split(lines, starts)
notes <- Filter(function(x) any(grepl("\\.\\.\\. (\\[.*\\] )?NOTE$", x)), checks)
is_allowed <- function(x) {
  name <- sub("^\\* checking (.*) \\.\\.\\. .*$", "\\1", x[1])
  said <- Filter(nzchar, trimws(x[-1]))
  patterns <- paste0("^(", paste(allowed[[name]], collapse = "|"), ")$")
  length(said) > 0 && name %in% names(allowed) && all(grepl(patterns, said))
}
let_pass <- vapply(notes, is_allowed, NA)

status <- sub("^Status: ", "", grep("^Status: ", lines, value = TRUE))
version <- sub("^\\* using (R .*)$", "\\1", grep("^\\* using R ", lines, value = TRUE))
n_notes <- as.integer(sub(".*?([0-9]+) NOTE.*", "\\1", grep("NOTE", status, value = TRUE), perl = TRUE))
if (!length(n_notes)) n_notes <- 0L
clean <- length(status) == 1L && !grepl("ERROR|WARNING", status) &&
  all(let_pass) && n_notes == length(notes)

if (!clean) {
  bad <- Filter(function(x) any(grepl("(NOTE|WARNING|ERROR)$", x)), checks)
  bad <- bad[!vapply(bad, is_allowed, NA)]
  writeLines(c("", unlist(bad, use.names = FALSE), ""))
}
for (n in notes[let_pass]) cat("let pass:", sub("^\\* checking (.*) \\.\\.\\. .*$", "\\1", n[1]), "-", tail(Filter(nzchar, n), 1), "\n")
cat("R CMD check, ", version, ": ", if (length(status)) status else "did not end",
    if (clean) " (clean)" else " (NOT clean)", "\n", sep = "")
quit(status = as.integer(!clean))
