// r_altrep.h - how R's serializer writes an ALTREP object of the classes of base R.
#ifndef RIFFLE_R_ALTREP_H
#define RIFFLE_R_ALTREP_H

#include <Rinternals.h>

enum altrep_form {
  ALTREP_ORDINARY,  // like any vector of its type: our own (r_lazy.h), and some of R's
  ALTREP_DATA1,     // its state is R_altrep_data1(): compact sequences, deferred strings
  ALTREP_WRAPPER,   // its state is a cell (data1 . data2)
  ALTREP_FOREIGN    // only R knows
};

// Finds the symbols of the classes' names; once, when the package is loaded.
void altrep_init(void);

// Of an object for which ALTREP(x) holds. Neither expands nor changes it.
enum altrep_form altrep_form(SEXP x);

SEXP altrep_class(SEXP x);    // symbols
SEXP altrep_package(SEXP x);

#endif
