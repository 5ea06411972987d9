// check.h - what the test programs of the core half share: counted checks, random numbers, memory.
#ifndef RIFFLE_TESTS_CHECK_H
#define RIFFLE_TESTS_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Under TSan everything takes 30 times as long: what has to do with threads is enough there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN true
#endif
#elif defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN false
#endif

static unsigned long checks_passed, checks_failed;

// `detail` tells one check in a loop from the others.
static inline void check(bool ok, const char *what, uint64_t detail) {
  if (ok) {
    checks_passed++;
    return;
  }
  if (++checks_failed <= 50) printf("FAILED: %s (%llu)\n", what, (unsigned long long) detail);
}

// The closing line that run.sh reads, and the program's status.
static inline int checks_end(void) {
  printf("%lu passed, %lu failed\n", checks_passed, checks_failed);
  return checks_failed != 0;
}

static uint64_t random_state = 1;

static inline uint32_t random_u32(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t) (random_state >> 32);
}

static inline uint32_t random_below(uint32_t n) { return random_u32() % n; }

// malloc() that never fails, so that exactly-sized memory is one call.
static inline void *make(size_t n) {
  void *p = malloc(n ? n : 1);
  if (!p) abort();
  return p;
}

static inline void *make_copy(const void *from, size_t n) {
  void *p = make(n);
  if (n) memcpy(p, from, n);
  return p;
}

static inline bool same_bytes(const void *a, const void *b, size_t n) {
  return n == 0 || memcmp(a, b, n) == 0;
}

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static inline void sleep_us(long us) {
  struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}

#endif
