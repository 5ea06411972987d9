// filter_layout.h - what the filters for numbers share: their ids. Layouts: filter_numbers.c.
#ifndef RIFFLE_FILTER_LAYOUT_H
#define RIFFLE_FILTER_LAYOUT_H

#include "filter_numbers.h"

// The values are those of the block header.
enum number_filter {
  FILTER_CONSTANT = 1,
  FILTER_RANGE = 2,
  FILTER_RANGE_NA = 3,
  FILTER_DELTA = 4,
  FILTER_DELTA_NA = 5,
  FILTER_DICTIONARY = 6,
  FILTER_SHUFFLE = 7,
  FILTER_SCALED = 8,
  FILTER_SCALED_DELTA = 9,
  FILTER_SPLIT = 10
};

#endif
