// unsized.h - a source that cannot seek, has no length and hesitates, as a connection may; it counts
// what it is asked for.
#ifndef RIFFLE_TESTS_UNSIZED_H
#define RIFFLE_TESTS_UNSIZED_H

#include "check.h"
#include "files.h"

struct unsized {
  struct source source;
  const struct bytes *file;
  bool hesitates;  // gives some, then AGAIN
};

static inline enum status unsized_read(struct source *source, void *p, size_t n, size_t *got,
                                       struct error *e) {
  const struct unsized *u = (struct unsized *) source;
  (void) e;
  const size_t left = u->file->len - (size_t) source->at;
  *got = n < left ? n : left;
  const bool again = u->hesitates && *got > 7 && source->at % 3 == 0;
  if (again) *got /= 2;
  if (*got) memcpy(p, u->file->p + source->at, *got);
  source->at += *got;
  return again ? AGAIN : OK;
}

static inline void unsized_close(struct source *source) { free(source->owned); }

static inline void unsized_open(struct unsized *u, const struct bytes *file, bool hesitates) {
  *u = (struct unsized){{.read = unsized_read, .close = unsized_close, .fd = -1}, file, hesitates};
}

#endif
