// sniff.h - what a file that is not ours may be, told from its first bytes.
#ifndef RIFFLE_SNIFF_H
#define RIFFLE_SNIFF_H

#include <stddef.h>

// A phrase that completes "it is ...", never NULL: "a qs2 file, not a riffle file; ...".
const char *sniff(const unsigned char *p, size_t n);

#endif
