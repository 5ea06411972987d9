#include "r_env.h"

#include <R.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b) {
  return strcmp(R_CHAR(PRINTNAME(*(const SEXP *) a)), R_CHAR(PRINTNAME(*(const SEXP *) b)));
}

SEXP *env_symbols(SEXP env, R_xlen_t *n) {
  SEXP names = PROTECT(R_lsInternal3(env, TRUE, FALSE));
  *n = XLENGTH(names);
  SEXP *symbols = (SEXP *) R_alloc((size_t) *n + 1, sizeof(SEXP));
  for (R_xlen_t i = 0; i < *n; i++) symbols[i] = Rf_installTrChar(STRING_ELT(names, i));
  UNPROTECT(1);
  qsort(symbols, (size_t) *n, sizeof(SEXP), compare_names);
  return symbols;
}

#if R_VERSION < R_Version(4, 6, 0)

static struct binding plain_binding(SEXP env, SEXP symbol) {
  SEXP value = Rf_findVarInFrame(env, symbol);
  if (TYPEOF(value) != PROMSXP) return (struct binding){.kind = BINDING_VALUE, .value = value};
  if (PRVALUE(value) != R_UnboundValue)
    return (struct binding){.kind = BINDING_VALUE, .value = PRVALUE(value)};
  return (struct binding){
      .kind = BINDING_DELAYED, .value = R_PromiseExpr(value), .env = PRENV(value)};
}

#else

static struct binding plain_binding(SEXP env, SEXP symbol) {
  switch (R_GetBindingType(symbol, env)) {
    case R_BindingTypeDelayed:
      return (struct binding){.kind = BINDING_DELAYED,
                              .value = R_DelayedBindingExpression(symbol, env),
                              .env = R_DelayedBindingEnvironment(symbol, env)};
    case R_BindingTypeMissing:
      return (struct binding){.kind = BINDING_VALUE, .value = R_MissingArg};
    case R_BindingTypeUnbound:
    case R_BindingTypeActive: return (struct binding){.kind = BINDING_ODD};
    default:
      if (symbol == R_DotsSymbol) return (struct binding){.kind = BINDING_ODD};
      return (struct binding){.kind = BINDING_VALUE,
                              .value = R_getVarEx(symbol, env, FALSE, R_NilValue)};
  }
}

#endif

struct binding env_binding(SEXP env, SEXP symbol) {
  struct binding b;
  if (R_BindingIsActive(symbol, env))
    b = (struct binding){.kind = BINDING_ACTIVE, .value = R_ActiveBindingFunction(symbol, env)};
  else
    b = plain_binding(env, symbol);
  if (symbol == R_DotsSymbol && b.value != R_MissingArg) b.kind = BINDING_ODD;
  b.locked = R_BindingIsLocked(symbol, env);
  return b;
}
