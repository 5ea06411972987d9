#include "r_depth.h"

#include <R.h>
#include <stdint.h>

static struct {
  uintptr_t start;   // 0: unknown, no check
  uintptr_t budget;  // bytes that may be in use; R's own limit lies a little higher
} stack;

void depth_init(void) {
  SEXP call = PROTECT(Rf_lang1(Rf_install("Cstack_info")));
  SEXP info = PROTECT(Rf_eval(call, R_BaseEnv));
  const int *v = INTEGER(info);  // size, current, direction, eval_depth
  const char here = 0;
  if (v[0] != NA_INTEGER && v[1] != NA_INTEGER && v[2] == 1) {
    stack.start = (uintptr_t) &here + (uintptr_t) v[1];
    stack.budget = (uintptr_t) v[0] / 100 * 85;
  }
  UNPROTECT(2);
}

void depth_check(const struct subject *subject) {
  const char here = 0;
  const uintptr_t used = stack.start - (uintptr_t) &here;
  if (stack.start == 0 || used <= stack.budget || used > 2 * stack.budget) return;
  throw_reason("riffle_error_depth", "the object is nested too deeply for R's C stack", subject);
}
