#include "r_attrib.h"

#if R_VERSION >= R_Version(4, 6, 0)

struct visitor {
  attrib_visit *visit;
  void *ctx;
};

// R_mapAttrib() goes on for as long as it gets C's NULL.
static SEXP visit_one(SEXP tag, SEXP value, void *data) {
  const struct visitor *v = data;
  v->visit(v->ctx, tag, value);
  return NULL;
}

void attrib_each(SEXP x, attrib_visit *visit, void *ctx) {
  struct visitor v = {visit, ctx};
  R_mapAttrib(x, visit_one, &v);
}

#endif
