#' Save and read many objects
#'
#' [qs_savem()] saves objects with their names in one file, as [save()] does; [qs_readm()] restores
#' them by these names, as [load()] does. The names and arguments are those of qs2.
#'
#' The file holds a named list, so [qs_read()] reads it as well, without assigning anything, and
#' [qs_readm()] takes any named list that [qs_save()] wrote.
#'
#' @param ... [qs_savem()]: the objects. A symbol, or a string, is an object by its name; an
#'   expression needs a name (`answer = 6 * 7`). Arguments with the name of one of [qs_save()], such
#'   as `nthreads`, are passed on to it. [qs_readm()]: further arguments of [qs_read()].
#' @param list A character vector of the names of more objects, as of [save()].
#' @param file The path of the file, a string. [qs_savem()] takes it by name only.
#' @param envir The environment where strings and `list` are looked for, and its parents.
#' @param env The environment to restore the objects in. What has the same name there is replaced.
#'
#' @return [qs_savem()]: `NULL`, invisibly. [qs_readm()]: the names of the objects, invisibly.
#'   Errors are of class `riffle_error`, see [riffle-package]: an object that does not exist is a
#'   `riffle_error_argument`, a file without a named list a `riffle_error_format`.
#' @seealso [qs_save()], [qs_read()] for one object.
#' @export
#' @examples
#' file <- tempfile(fileext = ".rif")
#' a <- 1:3
#' b <- "text"
#' qs_savem(a, b, answer = 6 * 7, file = file)
#'
#' rm(a, b)
#' print(qs_readm(file))
#' a
#'
#' # without assigning
#' str(qs_read(file))
#' unlink(file)
qs_savem <- function(..., list = character(), file, envir = parent.frame()) {
  call <- sys.call()
  if (missing(file)) throw_call("`file` must be given, by its name.", call)
  if (!is.character(list) || anyNA(list)) abort_argument("list", "a vector of names", list)
  if (!is.environment(envir)) abort_argument("envir", "an environment", envir)
  args <- as.list(substitute(alist(...)))[-1]
  given <- if (is.null(names(args))) character(length(args)) else names(args)
  is_option <- given %in% setdiff(names(formals(qs_save)), c("object", "file"))
  objects <- which(!is_option)
  names <- c(object_names(args[objects], given[objects], call), list)
  if (anyDuplicated(names)) {
    throw_call(sprintf("%s is given twice.", sQuote(names[anyDuplicated(names)], FALSE)), call)
  }
  # by their place in `...`: that forces a promise where it belongs
  values <- lapply(objects, function(i) {
    by_name <- is.character(args[[i]]) && !nzchar(given[i])
    if (by_name) return(object_named(args[[i]], envir, call))
    tryCatch(...elt(i), error = function(e) throw_unless_missing(e, args[[i]], envir, call))
  })
  values <- c(values, lapply(list, object_named, envir, call))
  names(values) <- names
  options <- lapply(which(is_option), function(i) ...elt(i))
  names(options) <- given[is_option]
  call_with(quote(qs_save(values, file)), options)
}

throw_call <- function(message, call) raise("riffle_error_argument", message, call)

# The name given, or that of the symbol or string.
object_names <- function(args, given, call) {
  has_name <- nzchar(given) | vapply(args, function(a) is.name(a) || is.character(a), NA)
  if (!all(has_name)) {
    expr <- deparse(args[!has_name][[1]], nlines = 1)[1]
    throw_call(sprintf("An object that is no variable needs a name: `name = %s`.", expr), call)
  }
  as.character(ifelse(nzchar(given), given, vapply(args, function(a) as.character(a)[1], "")))
}

object_named <- function(name, envir, call) {
  if (!nzchar(name) || !exists(name, envir)) throw_no_object(name, call)
  get(name, envir)
}

throw_no_object <- function(name, call) {
  throw_call(sprintf("The object %s does not exist.", sQuote(name, FALSE)), call)
}

# An object that is there can fail to be evaluated, for reasons of its own.
throw_unless_missing <- function(e, expr, envir, call) {
  if (is.name(expr) && !exists(as.character(expr), envir)) throw_no_object(as.character(expr), call)
  stop(e)
}

# Calls with symbols for the large arguments, so that an error's call does not hold the data.
call_with <- function(call, options, env = parent.frame()) {
  eval(as.call(c(as.list(call), options)), env)
}

#' @rdname qs_savem
#' @export
qs_readm <- function(file, env = parent.frame(), ...) {
  if (!is.environment(env)) abort_argument("env", "an environment", env)
  values <- qs_read(file, ...)
  if (!is_named_list(values)) {
    holds <- sprintf("it holds %s, not a list with a name for each object", describe(values))
    is_path <- is.character(file)
    abort("riffle_error_format", c("Can't read ", if (is_path) file else "the connection", holds), is_path)
  }
  # one after the other: assign() keeps to active and locked bindings as load() does
  for (i in seq_along(values)) assign(names(values)[i], values[[i]], envir = env)
  invisible(names(values))
}

is_named_list <- function(x) {
  is.list(x) && !is.null(names(x)) && !anyNA(names(x)) && all(nzchar(names(x)))
}

#' Keep the result of an expression in a file
#'
#' Evaluates an expression and saves its value; when it is asked again, reads the file instead. The
#' arguments are those of qs2.
#'
#' The value is saved by [qs_save()] as `<cache_dir>/<name>.rif`. While that file is there, `expr`
#' is not evaluated, even if it is another one: the name alone decides.
#'
#' Many processes may use the same name at once. A file appears when it is complete, so it is read
#' whole or not at all; processes that meet before there is one all evaluate the expression, and the
#' last to finish leaves its file. A file that is damaged, or that qs_read() can't read, is
#' replaced, with a warning. If the value cannot be saved, there is a warning and the value.
#'
#' @param expr The expression.
#' @param name A string, the file's name without folder and extension.
#' @param envir The environment to evaluate `expr` in.
#' @param cache_dir The folder of the files. It is made if need be.
#' @param clear `TRUE` to remove the file instead; without `name`, all files in `cache_dir` whose
#'   names end with `.rif` and do not begin with a dot.
#' @param prompt `TRUE` to ask before anything is removed. That takes an interactive session.
#' @param qs_save_params,qs_read_params Lists of further arguments of [qs_save()] and [qs_read()].
#' @param verbose `TRUE` for a message that tells whether the value was there.
#'
#' @return The value of `expr`. With `clear = TRUE` whether a file was removed, invisibly. Errors
#'   are of class `riffle_error`, see [riffle-package].
#' @export
#' @examples
#' folder <- tempfile("cache")
#' slow <- function() {
#'   Sys.sleep(0.2)
#'   mtcars
#' }
#' system.time(qs_cache(slow(), "cars", cache_dir = folder))
#' system.time(qs_cache(slow(), "cars", cache_dir = folder))
#'
#' qs_cache(name = "cars", cache_dir = folder, clear = TRUE, prompt = FALSE)
#' unlink(folder, recursive = TRUE)
qs_cache <- function(expr, name, envir = parent.frame(), cache_dir = ".cache", clear = FALSE,
                     prompt = TRUE, qs_save_params = list(), qs_read_params = list(),
                     verbose = TRUE) {
  if (!is_string(cache_dir)) abort_argument("cache_dir", "a folder's path, as a string", cache_dir)
  if (!is_flag(clear)) abort_argument("clear", "TRUE or FALSE", clear)
  if (!is_flag(prompt)) abort_argument("prompt", "TRUE or FALSE", prompt)
  if (!is_flag(verbose)) abort_argument("verbose", "TRUE or FALSE", verbose)
  check_params(qs_save_params, "qs_save_params", qs_save)
  check_params(qs_read_params, "qs_read_params", qs_read)
  if (clear && missing(name)) {
    files <- list.files(cache_dir, "\\.rif$", full.names = TRUE)
    return(invisible(cache_clear(files, prompt, verbose)))
  }
  if (missing(name)) throw_call("`name` must be given.", sys.call())
  if (!is_string(name) || grepl("[/\\\\]", name)) {
    abort_argument("name", "a file's name without a folder, as a string", name)
  }
  file <- file.path(cache_dir, paste0(name, ".rif"))
  if (clear) return(invisible(cache_clear(file[file.exists(file)], prompt, verbose)))
  cached <- cache_read(file, qs_read_params)
  if (verbose) message(if (is.null(cached)) "not cached" else "cached", ": ", name)
  if (!is.null(cached)) return(cached$value)
  value <- eval(substitute(expr), envir)
  cache_write(value, file, qs_save_params)
  value
}

# Before the expression is evaluated, which may take long.
check_params <- function(params, name, fun) {
  known <- setdiff(names(formals(fun)), c("object", "file"))
  if (is.list(params) && (!length(params) || all(names(params) %in% known) && !is.null(names(params))))
    return()
  fun <- if (name == "qs_save_params") "qs_save()" else "qs_read()"
  abort_argument(name, paste("a list of named arguments of", fun), params)
}

is_string <- function(x) is.character(x) && length(x) == 1 && !is.na(x) && nzchar(x)

is_flag <- function(x) is.logical(x) && length(x) == 1 && !is.na(x)

# list(value =), or NULL if there is nothing that can be used.
cache_read <- function(file, params) {
  if (!file.exists(file)) return(NULL)
  spoilt <- function(e) {
    warning(conditionMessage(e), " It is evaluated again.", call. = FALSE)
    NULL
  }
  tryCatch(
    list(value = call_with(quote(qs_read(file)), params)),
    riffle_error_corrupt = spoilt, riffle_error_format = spoilt, riffle_error_version = spoilt,
    # removed by another process since
    riffle_error_io = function(e) if (file.exists(file)) stop(e)
  )
}

# The value took its time: what prevents that it is kept does not lose it.
cache_write <- function(value, file, params) {
  dir.create(dirname(file), showWarnings = FALSE, recursive = TRUE)
  tryCatch(
    call_with(quote(qs_save(value, file)), params),
    error = function(e) warning(conditionMessage(e), " It is not cached.", call. = FALSE)
  )
}

cache_clear <- function(files, prompt, verbose) {
  if (!length(files)) return(FALSE)
  if (prompt && !confirm_clear(files)) return(FALSE)
  removed <- file.remove(files)
  if (verbose) message("removed: ", paste(basename(files)[removed], collapse = ", "))
  any(removed)
}

confirm_clear <- function(files) {
  if (!interactive()) {
    throw_call("`prompt` must be FALSE where nobody can be asked.", sys.call(-2))
  }
  question <- sprintf("Remove %s? (yes/no) ", paste(sQuote(files, FALSE), collapse = ", "))
  tolower(readline(question)) %in% c("y", "yes")
}
