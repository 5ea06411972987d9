#include "double_fit.h"

#include <limits.h>

#include "bitpack.h"
#include "sample.h"

// A double takes 64 bits, or about 56 as byte planes after a codec.
enum { WIDEST = 60, MISS_BITS = 96, DIGITS = 15 };

static const double power10[DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// The sample: doubles in the order of the block, specials apart.
struct sample {
  uint64_t bits[FIT_SAMPLE];
  unsigned n;
  bool zeros;
};

static void take_sample(const unsigned char *in, size_t n, struct sample *s) {
  s->n = 0;
  s->zeros = false;
  for (size_t j = 0; j < FIT_SAMPLE; j++) {
    const size_t i = sample_place(j, FIT_SAMPLE, n);
    const uint64_t bits = double_bits(load_double(in + 8 * i));
    s->zeros |= bits == 0;
    if (!is_special(bits)) s->bits[s->n++] = bits;
  }
}

// Completes width and misses; false if that many bits are no gain.
static bool measure(struct fit *f, const struct sample *s) {
  int64_t lo = s->zeros ? 0 : INT64_MAX, hi = s->zeros ? 0 : INT64_MIN;
  f->misses = 0;
  for (unsigned i = 0; i < s->n; i++) {
    int64_t m;
    if (!fit_integer(f, s->bits[i], &m)) {
      f->misses++;
      continue;
    }
    if (m < lo) lo = m;
    if (m > hi) hi = m;
  }
  f->width = lo <= hi ? bit_width((uint64_t) hi - (uint64_t) lo) : 0;
  return f->width + f->misses * MISS_BITS / FIT_SAMPLE < WIDEST && f->misses <= s->n / 8;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

// Multiples of a power of two, or of something larger if all are.
static bool fit_binary(const struct sample *s, struct fit *f) {
  int lowest = INT_MAX;
  for (unsigned i = 0; i < s->n; i++) {
    const int exponent = (int) (s->bits[i] >> 52 & 0x7FF);
    const uint64_t mantissa = (s->bits[i] & (UINT64_MAX >> 12)) | (uint64_t) 1 << 52;
    const int last = exponent - 1075 + __builtin_ctzll(mantissa);
    if (exponent == 0) return false;
    if (last < lowest) lowest = last;
  }
  if (s->n == 0) lowest = 0;
  if (lowest < -1000 || lowest > 900) return false;
  f->op = FIT_MULTIPLY;
  f->factor = bits_double((uint64_t) (lowest + 1023) << 52);
  f->inverse = bits_double((uint64_t) (1023 - lowest) << 52);
  return measure(f, s);
}

// The same with a larger factor that all of the sample have in common.
static bool fit_multiple(const struct sample *s, const struct fit *binary, struct fit *f) {
  uint64_t divisor = 0;
  for (unsigned i = 0; i < s->n; i++) {
    int64_t m;
    if (!fit_integer(binary, s->bits[i], &m)) return false;
    divisor = common_divisor(m < 0 ? 0 - (uint64_t) m : (uint64_t) m, divisor);
  }
  if (s->n < 8 || divisor <= 1) return false;
  f->op = FIT_MULTIPLY;
  f->factor = (double) divisor * binary->factor;
  f->inverse = 1 / f->factor;
  return measure(f, s);
}

// The fewest decimals that give x, or DIGITS + 1.
static unsigned decimals(uint64_t bits, enum fit_op op) {
  for (unsigned e = 0; e <= DIGITS; e++) {
    const double factor = op == FIT_DIVIDE ? power10[e] : 1 / power10[e];
    const struct fit f = {.op = (uint8_t) op, .factor = factor, .inverse = power10[e]};
    int64_t m;
    if (fit_integer(&f, bits, &m)) return e;
    if (!(bits_double(bits & INT64_MAX) * power10[e] < FIT_LIMIT)) break;
  }
  return DIGITS + 1;
}

// As many decimals as pay: the few that need more are misses.
static bool fit_decimal(const struct sample *s, enum fit_op op, struct fit *f) {
  unsigned need[DIGITS + 2] = {0};
  for (unsigned i = 0; i < s->n; i++) {
    need[decimals(s->bits[i], op)]++;
    if (need[DIGITS + 1] > 4 + i / 4) return false;
  }
  bool found = false;
  for (unsigned e = 0; e <= DIGITS; e++) {
    struct fit g = {.op = (uint8_t) op,
                    .factor = op == FIT_DIVIDE ? power10[e] : 1 / power10[e],
                    .inverse = power10[e]};
    if (need[e] == 0 || !measure(&g, s)) continue;
    if (found && g.width + g.misses >= f->width + f->misses) continue;
    *f = g;
    found = true;
  }
  return found;
}

// Floating point as it is, for positive numbers of few exponents or of short mantissas. Zeros are
// far from all others.
static bool fit_bits(const struct sample *s, struct fit *f) {
  uint64_t any = 0;
  for (unsigned i = 0; i < s->n; i++) any |= turn_left(s->bits[i]);
  if (any == 0 || s->zeros) return false;
  f->op = FIT_BITS;
  f->shift = (uint8_t) __builtin_ctzll(any);
  return measure(f, s);
}

// Keeps the best first; of equals the one that came first.
static size_t add_fit(struct fit fits[MAX_FITS], size_t n, struct fit f) {
  size_t i = n;
  for (; i > 0 && f.width + f.misses < fits[i - 1].width + fits[i - 1].misses; i--)
    fits[i] = fits[i - 1];
  fits[i] = f;
  return n + 1;
}

size_t fit_doubles(const unsigned char *in, size_t n, struct fit fits[MAX_FITS]) {
  struct sample s;
  struct fit f = {0}, g = {0};
  size_t n_fits = 0;
  take_sample(in, n, &s);
  if (fit_binary(&s, &f)) {
    n_fits = add_fit(fits, n_fits, f);
    if (fit_multiple(&s, &f, &g)) n_fits = add_fit(fits, n_fits, g);
  }
  f = (struct fit){0};
  if (fit_decimal(&s, FIT_DIVIDE, &f)) n_fits = add_fit(fits, n_fits, f);
  if ((f.misses || n_fits == 0) && fit_decimal(&s, FIT_MULTIPLY, &g))
    n_fits = add_fit(fits, n_fits, g);
  f = (struct fit){0};
  if (fit_bits(&s, &f)) n_fits = add_fit(fits, n_fits, f);
  return n_fits;
}
