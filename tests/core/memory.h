// memory.h - malloc() that fails when told to, and counts. Include it in one test, and link with
// -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free; it sees the calls of the core and of
// the test, not those inside libraries.
#ifndef RIFFLE_TESTS_MEMORY_H
#define RIFFLE_TESTS_MEMORY_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
  atomic_long until;  // the call with this number fails; 0: none does
  atomic_long n_calls;
  atomic_bool all_after;  // and all after it
  atomic_long n_refused;
  atomic_long live, peak;  // bytes
} memory;

// The nth call from now on fails, and all after it if told so; 0: none.
static inline void memory_fail(long nth, bool all_after) {
  memory.until = nth;
  memory.all_after = all_after;
  memory.n_calls = memory.n_refused = 0;
}

static inline void memory_count(void) { memory.peak = memory.live = 0; }

static inline bool memory_refused(void) {
  const long n = atomic_fetch_add(&memory.n_calls, 1) + 1, until = memory.until;
  if (until == 0 || n < until || (n > until && !memory.all_after)) return false;
  memory.n_refused++;
  return true;
}

static inline void *memory_given(void *p) {
  if (!p) return p;
  const long live =
      atomic_fetch_add(&memory.live, (long) malloc_usable_size(p)) + (long) malloc_usable_size(p);
  long peak = memory.peak;
  while (live > peak && !atomic_compare_exchange_weak(&memory.peak, &peak, live)) {}
  return p;
}

static inline void memory_taken(void *p) {
  if (p) atomic_fetch_sub(&memory.live, (long) malloc_usable_size(p));
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) { return memory_refused() ? NULL : memory_given(__real_malloc(n)); }

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
  return memory_refused() ? NULL : memory_given(__real_calloc(n, size));
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n) {
  if (memory_refused()) return NULL;
  const size_t had = p ? malloc_usable_size(p) : 0;
  void *q = __real_realloc(p, n);
  if (q) atomic_fetch_sub(&memory.live, (long) had);
  return memory_given(q);
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p) {
  memory_taken(p);
  __real_free(p);
}

#endif
