// Tests of ring.c: order, waiting, failures in every place, closing at any time.
// link: -Wl,--wrap=pthread_create
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "check.h"

// ---- threads that do not start ------------------------------------------------------------

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

static unsigned threads_allowed = 1000;
static unsigned threads_started;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg) {
  if (threads_allowed == 0) return EAGAIN;
  threads_allowed--;
  threads_started++;
  return __real_pthread_create(thread, attr, run, arg);
}

static void allow_threads(unsigned n) {
  threads_allowed = n;
  threads_started = 0;
}

// ---- a ring of numbers --------------------------------------------------------------------

enum { MAX_SLOTS = 18, HEAVY = 1 << 20 };

struct job {
  uint64_t number;
  long us;  // how long the work takes
  uint64_t result;
};

struct bench {
  struct ring ring;
  struct job jobs[MAX_SLOTS];
  _Atomic uint64_t n_drained;  // drained in order so far
  atomic_int n_draining;       // in drain() right now
  atomic_int on_thread[9];     // in work() under that number right now
  atomic_bool overlap, disorder, wrong_thread;
  uint64_t fail_work, fail_drain;  // the job's number, or NO_BLOCK
  long drain_us;
  pthread_t producer;
};

static enum status work(void *ctx, unsigned thread, void *job, struct error *e) {
  struct bench *b = ctx;
  struct job *j = job;
  if (thread >= 9 || atomic_fetch_add(&b->on_thread[thread], 1) != 0) b->overlap = true;
  if ((thread == 0) != (pthread_equal(pthread_self(), b->producer) != 0)) b->wrong_thread = true;
  if (j->us) sleep_us(j->us);
  j->result = j->number * 3;
  atomic_fetch_sub(&b->on_thread[thread], 1);
  return j->number == b->fail_work ? fail_block(e, ERR_CODEC, 0, "working", j->number) : OK;
}

static enum status drain(void *ctx, void *job, struct error *e) {
  struct bench *b = ctx;
  const struct job *j = job;
  if (atomic_fetch_add(&b->n_draining, 1) != 0) b->overlap = true;
  if (b->ring.ops.drain_on_producer && !pthread_equal(pthread_self(), b->producer))
    b->wrong_thread = true;
  if (b->drain_us) sleep_us(b->drain_us);
  if (j->number != b->n_drained || j->result != 3 * j->number) b->disorder = true;
  b->n_drained++;
  atomic_fetch_sub(&b->n_draining, 1);
  return j->number == b->fail_drain ? fail_block(e, ERR_IO, ENOSPC, "draining", j->number) : OK;
}

static enum status bench_open(struct bench *b, unsigned n_threads, struct ring_ops ops) {
  memset(b, 0, sizeof(*b));
  b->fail_work = b->fail_drain = NO_BLOCK;
  b->producer = pthread_self();
  const size_t n_slots = 2 * (size_t) n_threads + 2;
  const enum status st = ring_open(&b->ring, n_slots, n_threads, ops, b);
  for (size_t i = 0; st == OK && i < n_slots; i++) b->ring.slots[i].job = &b->jobs[i];
  return st;
}

static const struct ring_ops saving = {work, drain, false};
static const struct ring_ops saving_by_producer = {work, drain, true};
static const struct ring_ops reading = {work, NULL, false};

static enum status claim(struct bench *b, struct slot **s) {
  enum status st;
  while ((st = ring_claim(&b->ring, s)) == AGAIN) {}
  return st;
}

static enum status wait_all(struct bench *b) {
  enum status st;
  while ((st = ring_wait(&b->ring)) == AGAIN) {}
  return st;
}

static enum status submit(struct bench *b, uint64_t number, long us) {
  struct slot *s;
  enum status st = claim(b, &s);
  if (st) return st;
  *(struct job *) s->job = (struct job){number, us, 0};
  return ring_submit(&b->ring, s, HEAVY);
}

static void bench_close(struct bench *b, const char *what) {
  ring_close(&b->ring);
  check(!b->overlap, "no two threads where one is allowed", 0);
  check(!b->wrong_thread, "work and drain run where they should", 0);
  check(!b->disorder, what, b->n_drained);
  ring_close(&b->ring);
}

static long random_us(int kind) {
  return kind == 0 ? 0 : kind == 1 ? (long) random_below(100) : random_below(20) ? 0 : 2000;
}

// ---- saving -------------------------------------------------------------------------------

static void test_order(struct ring_ops ops) {
  for (unsigned n_threads = 1; n_threads <= 8; n_threads++) {
    for (int kind = 0; kind < 3; kind++) {
      struct bench b;
      const uint64_t n = 300;
      allow_threads(1000);
      check(bench_open(&b, n_threads, ops) == OK, "a ring opens", n_threads);
      b.drain_us = kind == 1 ? 20 : 0;
      enum status st = OK;
      for (uint64_t i = 0; st == OK && i < n; i++) st = submit(&b, i, random_us(kind));
      check(st == OK && wait_all(&b) == OK, "all is well", n_threads);
      check(b.n_drained == n, "everything is drained", b.n_drained);
      check(threads_started < n_threads, "no more threads than allowed", threads_started);
      bench_close(&b, "jobs are drained in order");
    }
  }
}

static void test_few_threads_for_little(void) {
  struct bench b;
  struct slot *s;
  allow_threads(1000);
  bench_open(&b, 8, saving);
  for (uint64_t i = 0; i < 3; i++) {
    check(claim(&b, &s) == OK, "a slot", i);
    *(struct job *) s->job = (struct job){i, 0, 0};
    check(ring_submit(&b.ring, s, 1000) == OK, "a small job", i);
  }
  check(wait_all(&b) == OK && b.n_drained == 3, "little work is done", b.n_drained);
  check(threads_started == 0, "without a thread", threads_started);
  bench_close(&b, "in order");
}

static void test_failing_starts(void) {
  for (unsigned allowed = 0; allowed < 4; allowed++) {
    struct bench b;
    allow_threads(allowed);
    bench_open(&b, 4, saving);
    enum status st = OK;
    for (uint64_t i = 0; st == OK && i < 100; i++) st = submit(&b, i, random_us(1));
    check(st == OK && wait_all(&b) == OK && b.n_drained == 100, "work is done without threads",
          allowed);
    check(threads_started == (allowed < 3 ? allowed : 3), "what can start does", threads_started);
    bench_close(&b, "in order without threads");
  }
  allow_threads(1000);
}

// Fails in job `at`: nothing after it may be drained, and every call says so again.
static void test_failure(unsigned n_threads, bool in_drain, uint64_t at, struct ring_ops ops) {
  struct bench b;
  bench_open(&b, n_threads, ops);
  *(in_drain ? &b.fail_drain : &b.fail_work) = at;
  enum status st = OK;
  uint64_t i = 0;
  for (; st == OK && i < 200; i++) st = submit(&b, i, random_us(1));
  if (st == OK) st = wait_all(&b);
  const enum status want = in_drain ? ERR_IO : ERR_CODEC;
  check(st == want, "the failure is told", at);
  check(b.ring.err.code == want && b.ring.err.block == at, "it is the first", b.ring.err.block);
  check(!in_drain || b.ring.err.sys == ENOSPC, "with its errno", at);
  struct slot *s;
  check(ring_claim(&b.ring, &s) == want && ring_wait(&b.ring) == want, "and again", at);
  check(in_drain ? b.n_drained == at + 1 : b.n_drained <= at, "nothing after it is drained",
        b.n_drained);
  bench_close(&b, "in order until the failure");
}

static void test_failures(void) {
  static const uint64_t at[] = {0, 1, 5, 150, 199};
  for (unsigned n_threads = 1; n_threads <= 8; n_threads += n_threads < 3 ? 1 : 5) {
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
      test_failure(n_threads, false, at[i], saving);
      test_failure(n_threads, true, at[i], saving);
      test_failure(n_threads, false, at[i], saving_by_producer);
      test_failure(n_threads, true, at[i], saving_by_producer);
    }
  }
}

// A stuck job: claiming says AGAIN in good time rather than waiting for it.
static void test_again(void) {
  struct bench b;
  struct slot *s;
  bench_open(&b, 2, saving);
  enum status st = OK;
  // The last job is the producer's own to do while it waits; that one must be quick.
  for (uint64_t i = 0; st == OK && i < 6; i++) {
    st = submit(&b, i, i == 0 ? 700000 : 0);
    if (i == 0) sleep_us(50000);  // so that the worker has it
  }
  const double start = seconds_now();
  st = ring_claim(&b.ring, &s);
  const double took = seconds_now() - start;
  check(st == AGAIN, "no slot is free yet", st);
  check(took < 0.55, "told within a bounded time", (uint64_t) (1000 * took));
  check(ring_wait(&b.ring) == AGAIN, "waiting for all is bounded, too", 0);
  check(!ring_has_free(&b.ring), "none is free", 0);
  check(claim(&b, &s) == OK, "later there is one", 0);
  ring_unclaim(&b.ring);
  check(wait_all(&b) == OK && b.n_drained == 6, "and all are drained", b.n_drained);
  bench_close(&b, "in order after AGAIN");
}

static void test_unclaim(void) {
  for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
    struct bench b;
    struct slot *s;
    bench_open(&b, n_threads, saving);
    for (uint64_t i = 0; i < 100; i++) {
      for (uint32_t k = random_below(3); k > 0; k--) {
        check(claim(&b, &s) == OK, "a slot", i);
        ring_unclaim(&b.ring);
      }
      check(submit(&b, i, 0) == OK, "a job", i);
    }
    check(claim(&b, &s) == OK && wait_all(&b) == OK, "a held slot is not waited for", 0);
    check(b.n_drained == 100, "unclaimed slots are not drained", b.n_drained);
    bench_close(&b, "in order with unclaimed slots");
  }
}

// ---- reading ------------------------------------------------------------------------------

static enum status done(struct bench *b, struct slot *s) {
  enum status st;
  while ((st = ring_done(&b->ring, s)) == AGAIN) {}
  return st;
}

// Takes jobs in order; some are released unseen, before they are done.
static void read_all(struct bench *b, uint64_t n, bool detach) {
  uint64_t next = 0, taken = 0;
  while (taken < n) {
    while (next < n && (!ring_peek(&b->ring) || ring_has_free(&b->ring))) {
      if (submit(b, next, random_us(1))) return check(false, "a job is taken", next);
      next++;
    }
    struct slot *s = ring_peek(&b->ring);
    const struct job *j = s ? s->job : NULL;
    if (!s) return check(false, "there is an oldest slot", taken);
    if (!detach || random_below(2)) {
      check(done(b, s) == OK, "it gets done", taken);
      check(j->number == taken && j->result == 3 * taken, "jobs come in order", taken);
    }
    ring_release(&b->ring);
    taken++;
  }
  check(!ring_peek(&b->ring), "nothing is left", n);
  check(wait_all(b) == OK, "all are done", n);
  for (size_t i = 0; i < b->ring.n_slots; i++)
    check(b->ring.slots[i].state == SLOT_FREE, "every slot is free again", i);
}

static void test_reading(void) {
  for (unsigned n_threads = 1; n_threads <= 8; n_threads++) {
    for (int detach = 0; detach < 2; detach++) {
      struct bench b;
      allow_threads(n_threads == 5 ? 1 : 1000);
      check(bench_open(&b, n_threads, reading) == OK, "a ring opens", n_threads);
      check(!ring_peek(&b.ring), "nothing yet", 0);
      read_all(&b, 200, detach);
      bench_close(&b, "reading");
    }
  }
  allow_threads(1000);
}

// Slots held back and submitted later, as numbers that wait for their destination are.
static void test_held(void) {
  for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
    struct bench b;
    bench_open(&b, n_threads, reading);
    struct slot *held[8];
    const size_t n = b.ring.n_slots;
    for (size_t i = 0; i < n; i++) {
      check(claim(&b, &held[i]) == OK, "a slot to hold", i);
      *(struct job *) held[i]->job = (struct job){i, 0, 0};
    }
    struct slot *none;
    check(ring_claim(&b.ring, &none) == AGAIN, "all are held", n);
    check(wait_all(&b) == OK, "held slots are not waited for", n);
    for (size_t i = n; i-- > 0;) check(ring_submit(&b.ring, held[i], HEAVY) == OK, "later", i);
    for (size_t i = 0; i < n; i++) {
      check(ring_peek(&b.ring) == held[i] && done(&b, held[i]) == OK, "done in order", i);
      ring_release(&b.ring);
    }
    bench_close(&b, "held slots");
  }
}

static void test_failed_reading(void) {
  for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
    struct bench b;
    bench_open(&b, n_threads, reading);
    b.fail_work = 1;
    for (uint64_t i = 0; i < 4 && submit(&b, i, 0) == OK; i++) {}
    struct slot *s = ring_peek(&b.ring);
    enum status st = done(&b, s);
    if (st == OK) {
      ring_release(&b.ring);
      st = done(&b, ring_peek(&b.ring));
    }
    check(st == ERR_CODEC && b.ring.err.block == 1, "the reader learns of it", st);
    ring_release(&b.ring);
    check(wait_all(&b) == ERR_CODEC, "and again", n_threads);
    bench_close(&b, "a failed read");
  }
}

// ---- opening and closing ------------------------------------------------------------------

static void test_close_any_time(void) {
  for (int round = 0; round < 200; round++) {
    struct bench b;
    bench_open(&b, 1 + random_below(4), round % 3 == 0 ? reading : saving);
    const uint64_t n = random_below((uint32_t) b.ring.n_slots + 1);
    for (uint64_t i = 0; i < n; i++) {
      struct slot *s;
      if (ring_claim(&b.ring, &s)) break;
      *(struct job *) s->job = (struct job){i, random_us(1), 0};
      if (round % 7 == 0 && i + 1 == n) break;  // still held
      ring_submit(&b.ring, s, HEAVY);
    }
    if (round % 2) sleep_us((long) random_below(300));
    bench_close(&b, "closed at any time");
  }
}

static void test_open_close(void) {
  for (int round = 0; round < 1000; round++) {
    struct bench b;
    check(bench_open(&b, 3, saving) == OK, "opens", (uint64_t) round);
    for (uint64_t i = 0; i < 4; i++) check(submit(&b, i, 0) == OK, "a job", i);
    if (round % 2) check(wait_all(&b) == OK && b.n_drained == 4, "done", b.n_drained);
    bench_close(&b, "a thousand times");
  }
  struct ring zero = {0};
  ring_close(&zero);
  ring_close(&zero);
  check(zero.slots == NULL, "a zeroed ring may be closed", 0);
}

// The new thread has every signal blocked and the producer's mask is as it was.
static enum status look_at_mask(void *ctx, unsigned thread, void *job, struct error *e) {
  (void) job;
  (void) e;
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  if (thread && !sigismember(&now, SIGINT)) ((struct bench *) ctx)->wrong_thread = true;
  sleep_us(1000);
  return OK;
}

static void test_signals(void) {
  struct bench b;
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  bench_open(&b, 4, (struct ring_ops){look_at_mask, NULL, false});
  for (uint64_t i = 0; i < 10; i++) check(submit(&b, i, 0) == OK, "a job", i);
  check(wait_all(&b) == OK, "done", 0);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int i = 1; i < 32; i++)
    check(sigismember(&before, i) == sigismember(&after, i), "the mask is restored", (uint64_t) i);
  bench_close(&b, "signals");
}

int main(void) {
  test_order(saving);
  test_order(saving_by_producer);
  test_few_threads_for_little();
  test_failing_starts();
  test_failures();
  test_again();
  test_unclaim();
  test_reading();
  test_held();
  test_failed_reading();
  test_close_any_time();
  test_open_close();
  test_signals();
  return checks_end();
}
