// pages.h - fresh memory that is about to be filled.
#ifndef RIFFLE_PAGES_H
#define RIFFLE_PAGES_H

#include <stddef.h>

// Asks the system for huge pages under n bytes that nobody has touched yet. A hint.
void pages_expect(void *p, size_t n);

#endif
