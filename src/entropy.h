// entropy.h - what an entropy coder would make of bytes, from their histogram.
#ifndef RIFFLE_ENTROPY_H
#define RIFFLE_ENTROPY_H

#include <stdint.h>

// Order-0 entropy of a byte, in 256ths of a bit, from the counts of a sample of n; the same on
// every machine. A sample of few shows less than there is: about half a bit a kind is added.
uint32_t entropy_256(const uint32_t counts[256], uint32_t n);

#endif
