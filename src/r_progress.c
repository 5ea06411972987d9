#define _GNU_SOURCE  // clock_gettime()
#include "r_progress.h"

#include <R.h>
#include <time.h>

#include "r_eval.h"
#include "r_ffi.h"

static const double FIRST_AFTER = 2;

// Both are R's thread's alone.
static struct progress *running;  // the innermost call
static double pace = 1;           // all times are multiplied by it; for tests

static double seconds_now(void) {
  struct timespec t;
  if (clock_gettime(CLOCK_MONOTONIC, &t)) return 0;
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

void progress_begin(struct progress *p, enum progress_mode mode, const struct subject *subject,
                    void (*measure)(void *call, struct progress_amount *), void *call) {
  *p = (struct progress){.on = mode != PROGRESS_OFF && !running,
                         .ask = mode == PROGRESS_DEFAULT,
                         .subject = subject,
                         .measure = measure,
                         .call = call,
                         .open = true,
                         .outer = running};
  if (p->on) {
    p->began = seconds_now();
    p->due = p->began + pace * FIRST_AFTER;
  }
  running = p;
}

// ---- the R half ---------------------------------------------------------------------------

// progress_show() returns the seconds to the next update, or NA: there will be none.
static SEXP show(void *data) {
  struct progress *p = data;
  const struct subject *s = p->subject;
  if (p->ask && Rf_asLogical(eval_own(Rf_lang1(Rf_install("progress_wanted")))) != TRUE)
    return R_NilValue;
  p->ask = false;
  struct progress_amount a = {.doing = s->doing, .total = NA_REAL};
  p->measure(p->call, &a);
  SEXP words = PROTECT(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(words, 0, Rf_mkChar(a.doing));
  SET_STRING_ELT(words, 1, Rf_mkChar(s->path ? s->path : s->thing));
  SEXP is_path = PROTECT(Rf_ScalarLogical(s->path != NULL));
  SEXP numbers = PROTECT(Rf_allocVector(REALSXP, 3));
  REAL(numbers)[0] = a.done;
  REAL(numbers)[1] = a.total;
  REAL(numbers)[2] = seconds_now() - p->began;
  p->shown = true;
  SEXP wait = eval_own(Rf_lang4(Rf_install("progress_show"), words, is_path, numbers));
  UNPROTECT(3);
  return wait;
}

static SEXP no_more(SEXP condition, void *data) {
  (void) condition;
  (void) data;
  return R_NilValue;
}

// While R code runs the progress is off: that code may call us, and may jump.
static void update(struct progress *p) {
  if (seconds_now() < p->due) return;
  p->on = false;
  const double wait = Rf_asReal(R_tryCatchError(show, p, no_more, NULL));
  if (!(wait >= 0)) return;
  p->on = true;
  p->due = seconds_now() + pace * wait;
}

void progress_look(void) {
  R_CheckUserInterrupt();
  if (running && running->on) update(running);
}

static void hide(void *data) {
  (void) data;
  eval_own(Rf_lang1(Rf_install("progress_hide")));
}

void progress_end(struct progress *p) {
  if (!p->open) return;
  p->open = false;
  p->on = false;
  if (p->shown) R_ToplevelExec(hide, NULL);
  running = p->outer;
}

void progress_finish(struct progress *p) {
  if (p->on) progress_look();
  progress_end(p);
}

// For tests: 0 makes every look an update. Returns what it was.
SEXP ffi_progress_pace(SEXP value) {
  SEXP old = Rf_ScalarReal(pace);
  pace = Rf_asReal(value);
  return old;
}
