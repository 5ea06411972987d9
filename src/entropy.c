#include "entropy.h"

#include "bitpack.h"

// log2(x) in 256ths, the same on every machine.
static uint32_t log2_256(uint32_t x) {
  const unsigned whole = bit_width(x) - 1;
  const uint32_t f = (uint32_t) (((uint64_t) x << 8 >> whole) & 255);
  return whole * 256 + f + (f * (256 - f) * 88 >> 16);
}

uint32_t entropy_256(const uint32_t counts[256], uint32_t n) {
  uint64_t sum = 0;
  const uint32_t log_n = log2_256(n);
  uint32_t kinds = 0;
  for (int i = 0; i < 256; i++) {
    if (counts[i] == 0) continue;
    kinds++;
    sum += (uint64_t) counts[i] * (log_n - log2_256(counts[i]));
  }
  return (uint32_t) ((sum + (kinds - 1) * 185) / n);
}
