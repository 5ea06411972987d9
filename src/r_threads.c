#include <R.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cores.h"
#include "r_args.h"
#include "r_ffi.h"
#include "r_threads.h"

// The session's setting. A forked child starts over with one thread: its siblings share the cores.
static struct {
  long owner;  // the process it holds for
  int n;
} setting;

// The whole number above zero in an environment variable, else 0.
static int from_env(const char *name) {
  const char *text = getenv(name);
  char *end;
  const long n = text ? strtol(text, &end, 10) : 0;
  return text && *text && *end == '\0' && n > 0 && n <= 256 ? (int) n : 0;
}

static int at_most(int n, int limit) { return limit && limit < n ? limit : n; }

void threads_init(void) {
  const int wanted = from_env("RIFFLE_THREADS");
  const char *check = getenv("_R_CHECK_LIMIT_CORES_");
  const bool limited = check && *check && strcmp(check, "false") != 0 && strcmp(check, "FALSE") != 0;
  int n = wanted ? wanted : at_most(cores_available(), 256);
  n = at_most(n, from_env("OMP_THREAD_LIMIT"));
  setting.n = at_most(n, limited ? 2 : 0);
  setting.owner = (long) getpid();
}

int threads_get(void) { return setting.owner == (long) getpid() ? setting.n : 1; }

SEXP ffi_threads_set(SEXP nthreads) {
  setting.n = (int) arg_threads(nthreads);
  setting.owner = (long) getpid();
  return R_NilValue;
}
