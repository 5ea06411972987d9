# Starts an R process that evaluates `code`, in which riffle is attached and the named values are
# there. `before` are shell commands for limits, `env` variables. See child_result().
child_start <- function(code, ..., before = "", env = character(), with = "") {
  skip_on_os("windows")
  library <- dirname(getNamespaceInfo("riffle", "path"))
  skip_if_not(file.exists(file.path(library, "riffle", "Meta", "package.rds")),
              "needs riffle to be installed")
  folder <- tempfile("child-")
  dir.create(folder)
  Sys.chmod(folder, "0777", use_umask = FALSE)
  saveRDS(list(code = code, values = list(...)), file.path(folder, "in.rds"))
  writeLines(c(
    sprintf("folder <- %s", deparse(folder)),
    sprintf("library(riffle, lib.loc = %s)", deparse(library)),
    "input <- readRDS(file.path(folder, 'in.rds'))",
    "values <- list2env(input$values, parent = globalenv())",
    "saveRDS(eval(input$code, values), file.path(folder, 'part'))",
    "invisible(file.rename(file.path(folder, 'part'), file.path(folder, 'out.rds')))"
  ), file.path(folder, "run.R"))
  variables <- c(paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep)), env)
  script <- c(
    "unset R_TESTS RIFFLE_THREADS OMP_THREAD_LIMIT _R_CHECK_LIMIT_CORES_",
    paste("export", sub("=(.*)", "='\\1'", variables)),
    paste("echo $$ >", shQuote(file.path(folder, "pid"))),
    before,
    # exec: the shell's process becomes that of R
    paste("exec", with, shQuote(file.path(R.home("bin"), "Rscript")), "--vanilla",
          shQuote(file.path(folder, "run.R")))
  )
  writeLines(script, file.path(folder, "run.sh"))
  child <- list(folder = folder, log = file.path(folder, "log"), out = file.path(folder, "out.rds"))
  # not by wait = FALSE: a shell's background process ignores Ctrl-C, and R since 4.6 keeps to that
  parallel::mcparallel(system2("sh", shQuote(file.path(folder, "run.sh")), stdout = child$log,
                               stderr = child$log), detached = TRUE)
  child
}

# Whether the condition holds in the end.
wait_until <- function(condition, seconds = 5) {
  until <- Sys.time() + seconds
  repeat {
    if (eval.parent(substitute(condition))) return(TRUE)
    if (Sys.time() > until) return(FALSE)
    Sys.sleep(0.01)
  }
}

wait_for_file <- function(path, seconds) wait_until(file.exists(path), seconds)

child_pid <- function(child) {
  file <- file.path(child$folder, "pid")
  wait_until(file.exists(file) && file.size(file) > 0, 30)
  as.integer(readLines(file))
}

# The value of the child's code, once it is there; or its last words, if it died or hangs.
child_result <- function(child, seconds = 60) {
  pid <- child_pid(child)
  wait_until(file.exists(child$out) || !is_running(pid), seconds)
  if (file.exists(child$out)) return(readRDS(child$out))
  hangs <- is_running(pid)
  if (hangs) tools::pskill(pid, tools::SIGKILL)
  paste(c(if (hangs) "the child hung:" else "the child died:", readLines(child$log)),
        collapse = "\n")
}

is_running <- function(pid) {
  status <- sprintf("/proc/%d/stat", pid)
  if (!dir.exists("/proc/self")) return(tools::pskill(pid, 0L))
  # what waits for its parent to look (Z) has ended
  file.exists(status) && !grepl(") Z", suppressWarnings(tryCatch(
    readLines(status, warn = FALSE), error = function(e) ") Z"
  )), fixed = TRUE)
}

# Evaluates `code` in a process of its own and gives its value.
child <- function(code, ..., seconds = 60, before = "", env = character(), with = "") {
  child_result(child_start(substitute(code), ..., before = before, env = env, with = with), seconds)
}

# Runs shell commands, in the background if `wait` is FALSE.
shell <- function(..., wait = TRUE) system2("sh", c("-c", shQuote(paste(...))), wait = wait)
