#ifdef __linux__
#define _DEFAULT_SOURCE  // madvise()
#endif
#include "pages.h"

#ifdef __linux__
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// Since Linux 5.14; the C library's headers may be older. An older kernel says EINVAL, no harm done.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { LEAST = 1 << 16 };  // fewer bytes do not repay the call
#endif

// Huge pages would be fewer faults still, and were 2 times as fast on memory that the process had
// used before. But a virtual machine gives memory back to its host in pieces of that size, and then
// a huge page's first touch costs 0.4 to 2.6 ms per MB: 3 to 4 times as slow, in many real runs.
void pages_populate(void *p, size_t n) {
#ifdef __linux__
  if (n < LEAST) return;
  const uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
  const uintptr_t begin = ((uintptr_t) p + page - 1) & ~(page - 1);
  const uintptr_t end = ((uintptr_t) p + n) & ~(page - 1);
  if (end > begin) madvise((void *) begin, end - begin, MADV_POPULATE_WRITE);
#else
  (void) p;
  (void) n;
#endif
}
