#define _DEFAULT_SOURCE  // madvise()
#include "pages.h"

#include <stdint.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

enum { MIN_LEN = 1 << 22, HUGE_PAGE = 1 << 21 };

void pages_expect(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
  if (n < MIN_LEN) return;
  const uintptr_t begin = ((uintptr_t) p + HUGE_PAGE - 1) & ~(uintptr_t) (HUGE_PAGE - 1);
  const uintptr_t end = ((uintptr_t) p + n) & ~(uintptr_t) (HUGE_PAGE - 1);
  if (end > begin) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
#else
  (void) p;
  (void) n;
#endif
}
