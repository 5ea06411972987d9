// ring.h - an ordered ring of jobs between one producer and a few workers.
//
// The producer claims a slot, fills its job and submits it. `work` runs on jobs in any order, on
// workers and on the producer's own thread while it waits. Then either
//   - `drain` gets the finished jobs in the order claimed, one at a time, on whichever thread
//     finished the one that was due (saving), or
//   - there is no `drain`, and the producer takes them itself in order: ring_peek(),
//     ring_release() (reading).
// Threads are started as work piles up, so a small object starts none; without any, the same code
// runs inline. Every function is safe after a failure: it returns the first error again. The ring
// knows no codec and no file.
#ifndef RIFFLE_RING_H
#define RIFFLE_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum slot_state {
  SLOT_FREE,
  SLOT_HELD,   // the producer's
  SLOT_READY,  // waits for a thread
  SLOT_BUSY,   // one thread's
  SLOT_DONE    // waits for its turn
};

struct slot {
  void *job;              // one owner at a time, told by `state`
  enum slot_state state;  // guarded by ring.lock
  bool detached;          // guarded by ring.lock: freed when done, whatever its turn
};

struct ring_ops {
  // Any thread, no lock held. `thread` is below n_threads and never on two threads at once.
  enum status (*work)(void *ctx, unsigned thread, void *job, struct error *e);
  // In order, one at a time, no lock held; or NULL.
  enum status (*drain)(void *ctx, void *job, struct error *e);
  bool drain_on_producer;  // only the producer's thread drains
};

struct ring {
  struct slot *slots;
  size_t n_slots;
  unsigned n_threads;  // that may work, the producer's among them
  struct ring_ops ops;
  void *ctx;
  uint64_t head;       // the next to claim; the producer's
  uint64_t tail;       // the next to drain or take; guarded by lock if there is a drain
  size_t pending;      // weight submitted since opening; the producer's
  pthread_mutex_t lock;
  pthread_cond_t work_cond;   // a slot became ready, or stop
  pthread_cond_t owner_cond;  // a slot became done or free, or an error
  bool lock_ready;
  struct error err;    // guarded by lock: the first failure
  bool draining;       // guarded by lock: some thread is in `drain`
  bool stop;           // guarded by lock
  size_t n_ready;      // guarded by lock
  unsigned n_idle;     // guarded by lock: workers that wait
  struct worker *workers;
  unsigned n_started;  // the producer's
};

// The slots' jobs are set by the caller afterwards: r->slots[i].job. `ctx` goes to the ops.
enum status ring_open(struct ring *r, size_t n_slots, unsigned n_threads, struct ring_ops ops,
                      void *ctx);

// A free slot, as held. Waits at most RING_WAIT_MS: AGAIN means none yet, look for an interrupt
// and call again. The slot stays the caller's until ring_submit().
enum { RING_WAIT_MS = 100 };
enum status ring_claim(struct ring *r, struct slot **out);
// Takes back the last claim, before it was submitted.
void ring_unclaim(struct ring *r);
// Whether any slot is before the one claimed last. Without a drain.
static inline bool ring_has_older(const struct ring *r) { return r->head - r->tail > 1; }
// Whether ring_claim() would return at once.
bool ring_has_free(struct ring *r);
// `weight` is the job's size in bytes: threads are started when there is enough to do.
enum status ring_submit(struct ring *r, struct slot *s, size_t weight);
// Waits until every submitted slot has been worked on (and drained).
enum status ring_wait(struct ring *r);

// Without a drain. The oldest slot not released, or NULL in *out.
struct slot *ring_peek(struct ring *r);
// Waits until `s` is done.
enum status ring_done(struct ring *r, struct slot *s);
// Gives up the oldest slot: it is free now or, if it is still being worked on, when that is done.
void ring_release(struct ring *r);

// Joins the threads and forgets the slots. Safe on a zeroed, half-opened or closed ring.
void ring_close(struct ring *r);

#endif
