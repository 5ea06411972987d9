// r_eval.h - calls of riffle's own R functions from C.
#ifndef RIFFLE_R_EVAL_H
#define RIFFLE_R_EVAL_H

#include <Rinternals.h>

// Evaluates `call`, a call or any other expression, in riffle's namespace. It may raise a condition.
SEXP eval_own(SEXP call);

#endif
