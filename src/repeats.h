// repeats.h - whether a block's numbers come again, and how: by a sample of their bits.
#ifndef RIFFLE_REPEATS_H
#define RIFFLE_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum repeats {
  REPEATS_FEW,      // nothing to gain
  REPEATS_IN_RUNS,  // one after the other, a few times
  REPEATS_IN_ROW,   // with what followed before: a codec finds that in whole numbers
  REPEATS_LONG,     // so long that it finds it in byte planes as well
  REPEATS_LOOSE     // in any order: there may be few enough for a dictionary
};

// Numbers of `size` 4 or 8. Of doubles, those that is_special() tells do not count.
enum repeats repeats_of(const unsigned char *in, size_t n, size_t size);

#endif
