// pages.h - fresh memory, made present in one go rather than page by page.
#ifndef RIFFLE_PAGES_H
#define RIFFLE_PAGES_H

#include <stddef.h>

// The n bytes at p are about to be written. Where the system can, their pages are made present
// at once, which costs about half of what as many page faults do; else nothing happens.
void pages_populate(void *p, size_t n);

#endif
