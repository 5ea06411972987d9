// thread.h - start a thread that R's signal handlers never run on.
//
// Where no thread can be started (a limit, a platform without them), thread_start() says so and
// the caller does the work itself.
#ifndef RIFFLE_THREAD_H
#define RIFFLE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#ifndef _WIN32
#include <signal.h>
#endif

// Signals are blocked around pthread_create(), so the new thread inherits the full mask.
static inline bool thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
#ifdef _WIN32
  return pthread_create(thread, NULL, run, arg) == 0;
#else
  sigset_t all, old;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) return false;
  const bool started = pthread_create(thread, NULL, run, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return started;
#endif
}

#endif
