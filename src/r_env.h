// r_env.h - what is in an environment and in a function, without running or changing anything:
// no promise is forced, no active binding called.
#ifndef RIFFLE_R_ENV_H
#define RIFFLE_R_ENV_H

#include <Rinternals.h>
#include <Rversion.h>
#include <stdbool.h>

enum binding_kind {
  BINDING_VALUE,    // of a promise that was forced, too
  BINDING_DELAYED,  // a promise still to be forced
  BINDING_ACTIVE,
  BINDING_ODD  // no function tells: `...`
};

struct binding {
  enum binding_kind kind;
  bool locked;
  SEXP value;  // or a promise's expression, or an active binding's function
  SEXP env;    // a promise's
};

// The symbols of all bindings in the order of the names' bytes, R_alloc'ed.
SEXP *env_symbols(SEXP env, R_xlen_t *n);
struct binding env_binding(SEXP env, SEXP symbol);

#if R_VERSION < R_Version(4, 5, 0)
static inline SEXP env_parent(SEXP env) { return ENCLOS(env); }
static inline SEXP closure_formals(SEXP f) { return FORMALS(f); }
static inline SEXP closure_env(SEXP f) { return CLOENV(f); }
static inline SEXP closure_body(SEXP f) { return R_ClosureExpr(f); }
#else
static inline SEXP env_parent(SEXP env) { return R_ParentEnv(env); }
static inline SEXP closure_formals(SEXP f) { return R_ClosureFormals(f); }
static inline SEXP closure_env(SEXP f) { return R_ClosureEnv(f); }
// The expression, not the byte code that R makes of it after a few calls.
static inline SEXP closure_body(SEXP f) { return R_BytecodeExpr(R_ClosureBody(f)); }
#endif

#endif
