// sample.h - where to look in an array when not everywhere.
#ifndef RIFFLE_SAMPLE_H
#define RIFFLE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

// Distances that look random, so that no period agrees with them.
static inline uint32_t sample_mix(uint32_t j) {
  j = (j + 1) * 0x9E3779B1u;
  j = (j ^ j >> 15) * 0x85EBCA6Bu;
  return j ^ j >> 13;
}

// The place of sample j of `samples` among n elements: spread over all, in ascending order, but at
// no even distance, which would see one phase of whatever is regular.
static inline size_t sample_place(size_t j, size_t samples, size_t n) {
  const size_t from = (size_t) ((uint64_t) j * n / samples);
  const size_t room = (size_t) ((uint64_t) (j + 1) * n / samples) - from;
  return room ? from + (size_t) ((uint64_t) sample_mix((uint32_t) j) * room >> 32) : from;
}

#endif
