// groups.h - k codes below r <-> one number below r^k, for bases that waste much of a bit.
//
// Of n codes in n_groups = groups_count(n, k) groups, code i is digit i / n_groups of group
// i % n_groups, digit 0 the most significant; digits past the last code are 0. So neighbours are
// in different groups and are joined and split side by side.
#ifndef RIFFLE_GROUPS_H
#define RIFFLE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

enum { GROUPS_MAX_K = 31, GROUPS_MAX_R = 1 << 15 };

static inline size_t groups_count(size_t n, unsigned k) { return (n + k - 1) / k; }

// r^k, or 0 if it is more than the 2^31 that a group may hold.
uint32_t groups_states(uint32_t r, unsigned k);

// The k that spends fewest bits on a code below r, or 1 if none spares 2 % of a code's own field.
unsigned groups_best(uint64_t r);

// Elements are of `size` 4 or 8, in host order and maybe unaligned; a code is element - bias.
void groups_join(const void *in, size_t n, size_t size, uint64_t bias, unsigned k, uint32_t r,
                 uint32_t *groups);
void groups_split(const uint32_t *groups, size_t n, size_t size, uint64_t bias, unsigned k,
                  uint32_t r, void *out);

#endif
