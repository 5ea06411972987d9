// r_progress.h - looks for an interrupt and, in a call that takes long, shows how far it has come.
//
// A call that saves or reads begins its progress and ends it in its cleanup. In between, whatever
// works for long on R's thread calls progress_look(), once per block or every few MB. No other
// thread may. Calls nest, as R code can run inside them: only the outermost shows a bar.
//
// The bar itself is R's half, R/progress.R. An error in it turns it off and goes no further.
#ifndef RIFFLE_R_PROGRESS_H
#define RIFFLE_R_PROGRESS_H

#include <stdbool.h>

#include "r_error.h"

enum progress_mode {
  PROGRESS_OFF,
  PROGRESS_ON,
  PROGRESS_DEFAULT  // the option riffle.progress, which is asked for no sooner than it matters
};

// Bytes of the stream. `total` is NA while nobody knows; `doing` is as in struct subject.
struct progress_amount {
  const char *doing;
  double done, total;
};

struct progress {
  bool on;
  bool ask;                       // first, whether there is to be a bar
  const struct subject *subject;  // lent
  void (*measure)(void *call, struct progress_amount *);  // may raise an error
  void *call;
  double began, due;              // in seconds
  bool open;                      // between begin and end
  bool shown;
  struct progress *outer;         // the call inside which this one runs
};

// Neither raises a condition. progress_end() may run R code, and does nothing the second time.
void progress_begin(struct progress *p, enum progress_mode mode, const struct subject *subject,
                    void (*measure)(void *call, struct progress_amount *), void *call);
void progress_end(struct progress *p);

// At the end of the work, while the call's value is protected: a last look, and the end.
void progress_finish(struct progress *p);

// Raises an interrupt, and may run R code: what the caller has made must be protected. R's reader
// and writer have a static buffer for each direction, which must hold nothing that is still wanted.
void progress_look(void);

#endif
