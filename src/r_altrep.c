#include "r_altrep.h"

#include <R_ext/Altrep.h>
#include <Rversion.h>
#include <stdbool.h>
#include <string.h>

#include "r_attrib.h"

static struct {
  SEXP base, riffle, intseq, realseq, deferred;
} symbols;

void altrep_init(void) {
  symbols.base = Rf_install("base");
  symbols.riffle = Rf_install("riffle");
  symbols.intseq = Rf_install("compact_intseq");
  symbols.realseq = Rf_install("compact_realseq");
  symbols.deferred = Rf_install("deferred_string");
}

#if R_VERSION < R_Version(4, 6, 0)
SEXP altrep_class(SEXP x) { return CAR(ATTRIB(ALTREP_CLASS(x))); }
SEXP altrep_package(SEXP x) { return CADR(ATTRIB(ALTREP_CLASS(x))); }
#else
SEXP altrep_class(SEXP x) { return R_altrep_class_name(x); }
SEXP altrep_package(SEXP x) { return R_altrep_class_package(x); }
#endif

// Once all strings are made there is no state. R drops the attributes of the argument before it
// writes it; such an argument is rare and left to R.
static enum altrep_form deferred_form(SEXP x) {
  const SEXP state = R_altrep_data1(x);
  if (state == R_NilValue) return ALTREP_ORDINARY;
  const SEXP arg = CAR(state);
  return attrib_any(arg) || Rf_isObject(arg) || Rf_isS4(arg) ? ALTREP_FOREIGN : ALTREP_DATA1;
}

// A wrapper that knows nothing about its plain vector has no state.
static enum altrep_form wrapper_form(SEXP x) {
  const SEXP meta = R_altrep_data2(x);
  if (TYPEOF(meta) != INTSXP || XLENGTH(meta) != 2) return ALTREP_FOREIGN;
  const int *known = INTEGER_RO(meta);  // sortedness, no NA
  const bool nothing = !ALTREP(R_altrep_data1(x)) && known[0] == NA_INTEGER && known[1] == 0;
  return nothing ? ALTREP_ORDINARY : ALTREP_WRAPPER;
}

enum altrep_form altrep_form(SEXP x) {
  const SEXP package = altrep_package(x);
  if (package == symbols.riffle) return ALTREP_ORDINARY;
  if (package != symbols.base) return ALTREP_FOREIGN;
  const SEXP class = altrep_class(x);
  if (class == symbols.intseq || class == symbols.realseq) return ALTREP_DATA1;
  if (class == symbols.deferred) return deferred_form(x);
  if (strncmp(R_CHAR(PRINTNAME(class)), "wrap_", 5) == 0) return wrapper_form(x);
  return ALTREP_FOREIGN;
}
