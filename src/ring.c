#define _GNU_SOURCE  // clock_gettime()
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "thread.h"

// Less work than this is done before a thread has woken up.
enum { WEIGHT_PER_THREAD = 1 << 17 };

struct worker {
  struct ring *ring;
  unsigned number;
  pthread_t thread;
};

enum status ring_open(struct ring *r, size_t n_slots, unsigned n_threads, struct ring_ops ops,
                      void *ctx) {
  *r = (struct ring){.n_slots = n_slots, .n_threads = n_threads, .ops = ops, .ctx = ctx};
  r->slots = calloc(n_slots, sizeof(struct slot));
  r->workers = calloc(n_threads, sizeof(struct worker));
  if (!r->slots || !r->workers) return fail(&r->err, ERR_NOMEM, 0, "starting");
  if (pthread_mutex_init(&r->lock, NULL)) return fail(&r->err, ERR_NOMEM, 0, "starting");
  if (pthread_cond_init(&r->work_cond, NULL)) {
    pthread_mutex_destroy(&r->lock);
    return fail(&r->err, ERR_NOMEM, 0, "starting");
  }
  if (pthread_cond_init(&r->owner_cond, NULL)) {
    pthread_cond_destroy(&r->work_cond);
    pthread_mutex_destroy(&r->lock);
    return fail(&r->err, ERR_NOMEM, 0, "starting");
  }
  r->lock_ready = true;
  return OK;
}

static struct slot *slot_at(struct ring *r, uint64_t i) { return &r->slots[i % r->n_slots]; }

// ---- with the lock held -------------------------------------------------------------------

static void keep_error(struct ring *r, const struct error *e) {
  if (e->code && r->err.code == OK) r->err = *e;
}

// Drains what is due and finished. After a failure slots are only given back.
static void drain_due(struct ring *r, bool is_producer) {
  if (!r->ops.drain || r->draining || (r->ops.drain_on_producer && !is_producer)) return;
  r->draining = true;
  for (struct slot *s = slot_at(r, r->tail); s->state == SLOT_DONE && !r->stop;
       s = slot_at(r, r->tail)) {
    if (r->err.code == OK) {
      struct error e = {0};
      pthread_mutex_unlock(&r->lock);
      r->ops.drain(r->ctx, s->job, &e);
      pthread_mutex_lock(&r->lock);
      keep_error(r, &e);
    }
    s->state = SLOT_FREE;
    r->tail++;
    pthread_cond_signal(&r->owner_cond);
  }
  r->draining = false;
}

// The ready slot that is due first, as busy; NULL if there is none.
static struct slot *take_ready(struct ring *r) {
  if (r->n_ready == 0) return NULL;
  struct slot *s;
  for (uint64_t i = r->tail; (s = slot_at(r, i))->state != SLOT_READY; i++) {}
  s->state = SLOT_BUSY;
  r->n_ready--;
  return s;
}

static void run(struct ring *r, struct slot *s, unsigned thread) {
  struct error e = {0};
  if (r->err.code == OK) {
    pthread_mutex_unlock(&r->lock);
    r->ops.work(r->ctx, thread, s->job, &e);
    pthread_mutex_lock(&r->lock);
  }
  keep_error(r, &e);
  s->state = s->detached ? SLOT_FREE : SLOT_DONE;
  pthread_cond_signal(&r->owner_cond);
  drain_due(r, thread == 0);
}

static void wait_bounded(struct ring *r) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += RING_WAIT_MS * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_cond_timedwait(&r->owner_cond, &r->lock, &until);
}

// A set of states, as bits.
enum { FREE = 1 << SLOT_FREE, HELD = 1 << SLOT_HELD, DONE = 1 << SLOT_DONE };
static bool is_in(const struct slot *s, int states) { return states & 1 << s->state; }

// The producer does a job, drains or waits a little: whatever brings `s` into one of the states.
static enum status advance(struct ring *r, const struct slot *s, int states) {
  while (r->err.code == OK && !is_in(s, states)) {
    drain_due(r, true);
    if (is_in(s, states)) break;
    struct slot *next = take_ready(r);
    if (next) {
      run(r, next, 0);
      continue;
    }
    wait_bounded(r);
    if (r->err.code == OK && !is_in(s, states) && r->n_ready == 0) return AGAIN;
  }
  return r->err.code;
}

// ---- the workers --------------------------------------------------------------------------

static void *worker_main(void *arg) {
  struct worker *w = arg;
  struct ring *r = w->ring;
  pthread_mutex_lock(&r->lock);
  while (!r->stop) {
    struct slot *s = take_ready(r);
    if (s) {
      run(r, s, w->number);
      continue;
    }
    r->n_idle++;
    pthread_cond_wait(&r->work_cond, &r->lock);
    r->n_idle--;
  }
  pthread_mutex_unlock(&r->lock);
  return NULL;
}

// One more thread, if there is work for it. Where it does not start, the others do the work.
static void start_thread(struct ring *r) {
  if (r->n_started + 1 >= r->n_threads) return;
  if (r->pending < (r->n_started + 1) * (size_t) WEIGHT_PER_THREAD) return;
  struct worker *w = &r->workers[r->n_started];
  *w = (struct worker){.ring = r, .number = r->n_started + 1};
  if (thread_start(&w->thread, worker_main, w))
    r->n_started++;
  else
    r->n_threads = r->n_started + 1;
}

// ---- the producer -------------------------------------------------------------------------

enum status ring_claim(struct ring *r, struct slot **out) {
  if (!r->lock_ready) return r->err.code;
  struct slot *s = slot_at(r, r->head);
  pthread_mutex_lock(&r->lock);
  // before the ring is full, as the workers would wait then
  if (r->ops.drain_on_producer) drain_due(r, true);
  const enum status st = advance(r, s, FREE);
  if (st == OK) {
    s->state = SLOT_HELD;
    s->detached = false;
    r->head++;
    *out = s;
  }
  pthread_mutex_unlock(&r->lock);
  return st;
}

void ring_unclaim(struct ring *r) {
  pthread_mutex_lock(&r->lock);
  slot_at(r, --r->head)->state = SLOT_FREE;
  pthread_mutex_unlock(&r->lock);
}

bool ring_has_free(struct ring *r) {
  pthread_mutex_lock(&r->lock);
  const bool is_free = slot_at(r, r->head)->state == SLOT_FREE;
  pthread_mutex_unlock(&r->lock);
  return is_free;
}

enum status ring_submit(struct ring *r, struct slot *s, size_t weight) {
  pthread_mutex_lock(&r->lock);
  s->state = SLOT_READY;
  r->n_ready++;
  if (r->n_idle) pthread_cond_signal(&r->work_cond);
  const bool want_thread = r->n_idle == 0;
  const enum status st = r->err.code;
  pthread_mutex_unlock(&r->lock);
  r->pending += weight;
  if (want_thread) start_thread(r);
  return st;
}

enum status ring_wait(struct ring *r) {
  if (!r->lock_ready) return r->err.code;
  enum status st = OK;
  pthread_mutex_lock(&r->lock);
  const int settled = FREE | HELD | (r->ops.drain ? 0 : DONE);
  for (size_t i = 0; st == OK && i < r->n_slots; i++) st = advance(r, &r->slots[i], settled);
  pthread_mutex_unlock(&r->lock);
  return st;
}

struct slot *ring_peek(struct ring *r) { return r->tail == r->head ? NULL : slot_at(r, r->tail); }

enum status ring_done(struct ring *r, struct slot *s) {
  pthread_mutex_lock(&r->lock);
  const enum status st = advance(r, s, DONE);
  pthread_mutex_unlock(&r->lock);
  return st;
}

void ring_release(struct ring *r) {
  pthread_mutex_lock(&r->lock);
  struct slot *s = slot_at(r, r->tail);
  if (s->state == SLOT_READY || s->state == SLOT_BUSY)
    s->detached = true;
  else
    s->state = SLOT_FREE;
  r->tail++;
  pthread_mutex_unlock(&r->lock);
}

void ring_close(struct ring *r) {
  if (r->lock_ready) {
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->work_cond);
    pthread_mutex_unlock(&r->lock);
    for (unsigned i = 0; i < r->n_started; i++) pthread_join(r->workers[i].thread, NULL);
    pthread_cond_destroy(&r->owner_cond);
    pthread_cond_destroy(&r->work_cond);
    pthread_mutex_destroy(&r->lock);
  }
  free(r->workers);
  free(r->slots);
  *r = (struct ring){0};
}
