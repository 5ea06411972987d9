// double_fit.h - which integers doubles are in disguise, guessed from a sample.
#ifndef RIFFLE_DOUBLE_FIT_H
#define RIFFLE_DOUBLE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// How an integer m becomes a double. The values are those of the format.
enum fit_op {
  FIT_MULTIPLY = 0,  // m * factor, |m| below 2^51
  FIT_DIVIDE = 1,    // m / factor, the same
  FIT_BITS = 2       // the double whose bits, turned left by one, are m << shift
};

struct fit {
  uint8_t op, shift;
  double factor;
  double inverse;   // doubles times this are near the integers
  unsigned width;   // bits that the sample's integers need
  unsigned misses;  // of FIT_SAMPLE, how many are none
};

enum { FIT_SAMPLE = 128, MAX_FITS = 5 };

// FIT_MAGIC + m is a double for every |m| below 2^51, its bits FIT_MAGIC_BITS + m, the upper 12 of
// them those of FIT_MAGIC. Adding and subtracting it rounds a double to an integer.
#define FIT_MAGIC 0x1.8p52
#define FIT_MAGIC_BITS UINT64_C(0x4338000000000000)
#define FIT_LIMIT 0x1p51

static inline double bits_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint64_t double_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double load_double(const unsigned char *p) {
  double x;
  memcpy(&x, p, sizeof x);
  return x;
}

static inline uint64_t turn_left(uint64_t v) { return v << 1 | v >> 63; }
static inline uint64_t turn_right(uint64_t v) { return v >> 1 | v << 63; }

// NaN, NA, infinite, 0 or -0: what a code of its own may stand for.
static inline bool is_special(uint64_t bits) {
  return (bits << 1) - 1 >= UINT64_C(0xFFE0000000000000) - 1;
}

static inline double fit_value(enum fit_op op, double whole, double factor) {
  return op == FIT_DIVIDE ? whole / factor : whole * factor;
}

// Whether a double of these bits is an integer of this fit, which is then *m. No branch on the
// double, as exceptions come at random. NaN is never one: it would pass through the arithmetic.
static inline bool fit_integer(const struct fit *f, uint64_t bits, int64_t *m) {
  if (f->op == FIT_BITS) {
    const uint64_t turned = turn_left(bits);
    *m = (int64_t) (turned >> f->shift);
    return (is_special(bits) | ((uint64_t) *m << f->shift ^ turned)) == 0;
  }
  const double sum = bits_double(bits) * f->inverse + FIT_MAGIC, whole = sum - FIT_MAGIC;
  *m = (int64_t) (double_bits(sum) - FIT_MAGIC_BITS);
  const uint64_t wrong = double_bits(fit_value((enum fit_op) f->op, whole, f->factor)) ^ bits;
  return ((double_bits(sum) ^ FIT_MAGIC_BITS) >> 52 | wrong) == 0;
}

// Fills in those that look worth trying for these n doubles, the best first; returns their number.
size_t fit_doubles(const unsigned char *in, size_t n, struct fit fits[MAX_FITS]);

#endif
