#include "filter_doubles.h"

#include <float.h>

#include "bitpack.h"
#include "codes.h"
#include "double_fit.h"
#include "double_split.h"
#include "filter_dictionary.h"
#include "filter_layout.h"
#include "le.h"
#include "planes.h"
#include "repeats.h"
#include "sample.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// What is written as a product or quotient must come out the same everywhere.
#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "riffle needs doubles without excess precision (on 32-bit x86: CFLAGS = -msse2 -mfpmath=sse)"
#endif

enum { HEAD = 24, DELTA_HEAD = 32, MAX_SPECIALS = 7, PATCH = 12, GROUP = 32, PAIRS = 64 };

// More bits a double than this are not worth a filter: what byte planes take is 56 or so.
enum { WIDEST = 60 };

// In 256ths of a bit, what the codec must promise for all of a double.
enum { GAIN_WANTED = 64 * 10 };

// A block as integers. What is none has its place in `except`, and the last integer before it in m.
struct integers {
  int64_t *m;
  uint32_t *except;
  size_t n_except;
  size_t first;                     // the first integer's place
  int64_t head;                     // and what it is
  int64_t lo, hi;                   // of the integers
  uint64_t specials[MAX_SPECIALS];  // the exceptions that get a code of their own
  unsigned n_specials;
  size_t n_patches;  // and those that do not
};

size_t doubles_bound(size_t n) {
  const size_t coded = DELTA_HEAD + 8 * MAX_SPECIALS + PATCH * (n / 16 + GROUP) + codes_bound(n, 8);
  const size_t dictionary = dictionary_bound(n, 8), split = split_bound(n);
  const size_t most = coded > dictionary ? coded : dictionary;
  return most > split ? most : split;
}

size_t doubles_scratch(size_t n) {
  const size_t integers = n * (sizeof(int64_t) + sizeof(uint32_t));
  const size_t dictionary = dictionary_scratch(n);
  return integers > dictionary ? integers : dictionary;
}

// ---- doubles to integers

static void extend(struct integers *b, int64_t m) {
  if (m < b->lo) b->lo = m;
  if (m > b->hi) b->hi = m;
}

// Doubles go in pairs.
typedef double two __attribute__((vector_size(16)));
typedef uint64_t two_bits __attribute__((vector_size(16)));

static inline two both(double x) { return (two){x, x}; }
static inline two_bits both_bits(uint64_t x) { return (two_bits){x, x}; }

#ifdef __SSE2__
static inline two lower(two a, two b) { return _mm_min_pd(a, b); }
static inline two higher(two a, two b) { return _mm_max_pd(a, b); }
#else
static inline two choose(two_bits mask, two a, two b) {
  return (two) (((two_bits) a & mask) | ((two_bits) b & ~mask));
}

static inline two lower(two a, two b) { return choose((two_bits) (a < b), a, b); }
static inline two higher(two a, two b) { return choose((two_bits) (a > b), a, b); }
#endif

// A group at place i that is all integers; if not, false and nothing that counts.
static inline __attribute__((always_inline)) bool scale_group(const unsigned char *in, size_t i,
                                                              enum fit_op op, const struct fit *f,
                                                              struct integers *b) {
  const two factor = both(f->factor), inverse = both(f->inverse), magic = both(FIT_MAGIC);
  two lo = both(FIT_LIMIT), hi = both(-FIT_LIMIT);
  two_bits wrong = {0}, far = {0};
  for (size_t j = i; j < i + GROUP; j += 2) {
    two value;
    memcpy(&value, in + 8 * j, sizeof value);
    const two sum = value * inverse + magic, whole = sum - magic;
    const two_bits m = (two_bits) sum - both_bits(FIT_MAGIC_BITS);
    memcpy(b->m + j, &m, sizeof m);
    far |= (two_bits) sum ^ both_bits(FIT_MAGIC_BITS);
    wrong |= (two_bits) (op == FIT_DIVIDE ? whole / factor : whole * factor) ^ (two_bits) value;
    lo = lower(whole, lo);
    hi = higher(whole, hi);
  }
  if ((wrong[0] | wrong[1] | (far[0] | far[1]) >> 52) != 0) return false;
  extend(b, (int64_t) lo[0]), extend(b, (int64_t) lo[1]);
  extend(b, (int64_t) hi[0]), extend(b, (int64_t) hi[1]);
  return true;
}

// The same; special are the least and the largest of turned bits.
static bool bits_group(const unsigned char *in, size_t i, unsigned shift, struct integers *b) {
  uint64_t lo = UINT64_MAX, hi = 0, any = 0;
  for (size_t j = i; j < i + GROUP; j++) {
    const uint64_t turned = turn_left(double_bits(load_double(in + 8 * j)));
    b->m[j] = (int64_t) (turned >> shift);
    any |= turned;
    lo = turned < lo ? turned : lo;
    hi = turned > hi ? turned : hi;
  }
  if (is_special(turn_right(lo)) || is_special(turn_right(hi)) || any >> shift << shift != any)
    return false;
  extend(b, (int64_t) (lo >> shift));
  extend(b, (int64_t) (hi >> shift));
  return true;
}

static bool whole_group(const unsigned char *in, size_t i, const struct fit *f,
                        struct integers *b) {
  switch (f->op) {
  case FIT_MULTIPLY: return scale_group(in, i, FIT_MULTIPLY, f, b);
  case FIT_DIVIDE: return scale_group(in, i, FIT_DIVIDE, f, b);
  default: return bits_group(in, i, f->shift, b);
  }
}

// Places from..to one by one. Returns how many exceptions are no specials.
static inline __attribute__((always_inline)) size_t
each_by(const unsigned char *in, const struct fit *f, size_t from, size_t to, struct integers *b) {
  size_t odd = 0;
  int64_t last = from ? b->m[from - 1] : b->head;
  for (size_t i = from; i < to; i++) {
    const uint64_t bits = double_bits(load_double(in + 8 * i));
    int64_t m;
    if (fit_integer(f, bits, &m)) {
      extend(b, last = m);
    } else {
      b->except[b->n_except++] = (uint32_t) i;
      odd += !is_special(bits);
    }
    b->m[i] = last;
  }
  return odd;
}

static size_t each(const unsigned char *in, const struct fit *f, size_t from, size_t to,
                   struct integers *b) {
  const double factor = f->factor, inverse = f->inverse;
  switch (f->op) {
  case FIT_MULTIPLY:
    return each_by(in, &(struct fit){FIT_MULTIPLY, 0, factor, inverse, 0, 0}, from, to, b);
  case FIT_DIVIDE:
    return each_by(in, &(struct fit){FIT_DIVIDE, 0, factor, inverse, 0, 0}, from, to, b);
  default: return each_by(in, &(struct fit){.op = FIT_BITS, .shift = f->shift}, from, to, b);
  }
}

// All of them; false if too many are no integers of this fit.
static bool to_integers(const unsigned char *in, size_t n, const struct fit *f,
                        struct integers *b) {
  size_t odd = 0, i = 0;
  b->n_except = 0;
  b->lo = INT64_MAX, b->hi = INT64_MIN;
  for (b->first = 0; b->first < n; b->first++)
    if (fit_integer(f, double_bits(load_double(in + 8 * b->first)), &b->head)) break;
  if (b->first == n) return false;
  for (; i + GROUP <= n && odd <= n / 16; i += GROUP)
    if (!whole_group(in, i, f, b)) odd += each(in, f, i, i + GROUP, b);
  if (odd <= n / 16) odd += each(in, f, i, n, b);
  return odd <= n / 16;
}

// ---- exceptions

static unsigned find_special(const struct integers *b, uint64_t bits) {
  unsigned s = 0;
  while (s < b->n_specials && b->specials[s] != bits) s++;
  return s;
}

// Gives codes to the first kinds of special; counts the exceptions that are left.
static void sort_exceptions(const unsigned char *in, struct integers *b) {
  b->n_specials = 0;
  b->n_patches = 0;
  for (size_t j = 0; j < b->n_except; j++) {
    const uint64_t bits = double_bits(load_double(in + 8 * (size_t) b->except[j]));
    const unsigned s = find_special(b, bits);
    if (s < b->n_specials) continue;
    if (is_special(bits) && s < MAX_SPECIALS)
      b->specials[b->n_specials++] = bits;
    else
      b->n_patches++;
  }
  if (b->n_patches && b->n_specials == 0) b->specials[b->n_specials++] = 0;
}

// Exceptions become base + the code of their special; those without become base and are patched.
// Writes specials and patches to `out`, returns their length.
static size_t put_exceptions(const unsigned char *in, struct integers *b, int64_t base,
                             unsigned char *out) {
  unsigned char *places = out + 8 * b->n_specials, *values = places + 4 * b->n_patches;
  for (unsigned s = 0; s < b->n_specials; s++) le_store64(out + 8 * s, b->specials[s]);
  for (size_t j = 0; j < b->n_except; j++) {
    const uint32_t i = b->except[j];
    const uint64_t bits = double_bits(load_double(in + 8 * (size_t) i));
    const unsigned s = find_special(b, bits);
    const bool patched = s == b->n_specials;
    b->m[i] = (int64_t) ((uint64_t) base + (patched ? 0 : s));
    if (!patched) continue;
    le_store32(places, i);
    le_store64(values, bits);
    places += 4, values += 8;
  }
  return 8 * b->n_specials + PATCH * b->n_patches;
}

// ---- writing

// The largest code, once specials have theirs.
static uint64_t code_max(const struct integers *b) {
  return (uint64_t) b->hi - (uint64_t) b->lo + b->n_specials;
}

// The span of differences after the first integer.
static void delta_span(const struct integers *b, size_t n, int64_t *lo, int64_t *hi) {
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (size_t i = b->first + 1; i < n; i++) {
    const int64_t d = b->m[i] - b->m[i - 1];
    least = d < least ? d : least;
    most = d > most ? d : most;
  }
  *lo = least;
  *hi = most;
}

// What the integers' codes are and cost, in 256ths of a bit.
struct plan {
  struct codes codes;
  uint32_t cost;
  bool delta;
  int64_t start;
};

static struct codes codes_of(const struct integers *b, size_t n) {
  return (struct codes){b->m, sizeof *b->m, n, (uint64_t) b->lo - b->n_specials, code_max(b)};
}

// Replaces integers that cost `best` by differences if these cost less.
static void to_deltas(struct integers *b, size_t n, uint32_t best, struct delta_cost cost,
                      struct plan *p) {
  int64_t lo, hi;
  if (b->first + 1 >= n) return;
  delta_span(b, n, &lo, &hi);
  struct codes codes = p->codes;
  codes.bias = (uint64_t) lo - b->n_specials;
  codes.max = (uint64_t) hi - (uint64_t) lo + b->n_specials;
  if (codes_best(&codes, cost.codec) >= best) return;
  for (size_t i = n; --i > b->first;) b->m[i] -= b->m[i - 1];
  codes_center(&codes, cost);
  *p =
      (struct plan){codes, cost.codec, true, (int64_t) ((uint64_t) b->m[b->first] - (uint64_t) lo)};
  b->m[b->first] = lo;
}

// Are there more exceptions than a sample may overlook? They are no codes yet.
static bool many_exceptions(const struct integers *b, size_t n) { return b->n_except > n / 64; }

static struct plan make_plan(struct integers *b, size_t n) {
  struct plan p = {.codes = codes_of(b, n), .cost = UINT32_MAX};
  struct delta_cost delta = codes_delta_cost(&p.codes, UINT64_MAX);
  const bool near = delta.codec != UINT32_MAX;
  if (many_exceptions(b, n))
    delta.codec = UINT32_MAX;
  else
    p.cost = codes_cost_beside(&p.codes, delta);
  if (near) to_deltas(b, n, codes_best(&p.codes, p.cost), delta, &p);
  return p;
}

static void put_integers(const unsigned char *in, const struct fit *f, struct integers *b,
                         const struct plan *p, unsigned char *out, struct packed *result) {
  out[0] = f->op;
  out[1] = f->shift;
  le_store16(out + 2, (uint16_t) b->n_specials);
  le_store32(out + 4, (uint32_t) b->n_patches);
  le_store64(out + 8, double_bits(f->factor));
  le_store64(out + 16, p->codes.bias);
  if (p->delta) le_store64(out + 24, (uint64_t) p->start);
  size_t head = p->delta ? DELTA_HEAD : HEAD;
  head += put_exceptions(in, b, (int64_t) p->codes.bias, out + head);
  const bool again = many_exceptions(b, p->codes.n);
  codes_encode(&p->codes, again ? codes_cost(&p->codes) : p->cost, out + head, result);
  result->filter = p->delta ? FILTER_SCALED_DELTA : FILTER_SCALED;
  result->len += head;
}

// As whole doubles, in planes or, if a codec would make nothing of them, as they are.
static void shuffle(const unsigned char *in, size_t n, uint32_t cost, unsigned char *out,
                    struct packed *result) {
  if (cost >= 64 * 256 - GAIN_WANTED) {
    result->hint = PACKED_DENSE;
    return;
  }
  planes_split(in, n, 8, 8, 0, out, n);
  *result = (struct packed){.filter = FILTER_SHUFFLE, .hint = PACKED_COMPRESS, .len = 8 * n};
}

// What 256ths of a bit a double takes without being an integer.
struct costs {
  uint32_t shuffled, split;
  bool known;
};

static void costs_know(struct costs *c, const unsigned char *in, size_t n) {
  const struct codes raw = {in, 8, n, 0, UINT64_MAX};
  if (!c->known) *c = (struct costs){codes_cost(&raw), split_cost(in, n), true};
}

// Do a few pairs of neighbours suggest differences clearly narrower than the integers?
static bool neighbours_near(const unsigned char *in, size_t n, const struct fit *f) {
  unsigned width = 0;
  for (size_t j = 0; j < PAIRS; j++) {
    const size_t i = sample_place(j, PAIRS, n - 1);
    int64_t a, b;
    if (!fit_integer(f, double_bits(load_double(in + 8 * i)), &a)) continue;
    if (!fit_integer(f, double_bits(load_double(in + 8 * i + 8)), &b)) continue;
    const unsigned w = bit_width(a < b ? (uint64_t) b - (uint64_t) a : (uint64_t) a - (uint64_t) b);
    width = w > width ? w : width;
  }
  return width + 4 < f->width;
}

static bool encode_fit(const unsigned char *in, size_t n, const struct fit *f, struct costs *costs,
                       unsigned char *out, void *scratch, struct packed *result) {
  struct integers b = {.m = scratch, .except = (uint32_t *) ((int64_t *) scratch + n)};
  if ((uint64_t) f->width * 256 > costs->split && !neighbours_near(in, n, f)) return false;
  if (!to_integers(in, n, f, &b) || bit_width((uint64_t) b.hi - (uint64_t) b.lo) > WIDEST)
    return false;
  sort_exceptions(in, &b);
  if (b.n_patches > n / 16) return false;
  const struct plan plan = make_plan(&b, n);
  const uint64_t cost =
      codes_best(&plan.codes, plan.cost) + (uint64_t) b.n_patches * PATCH * 8 * 256 / n;
  if (cost >= WIDEST * 256) return false;
  const bool wide = codes_dense_bits(n, plan.codes.max) > (uint64_t) n * 32;
  if (wide) costs_know(costs, in, n);
  if (wide && (costs->shuffled < cost + (plan.delta ? 0 : cost / 8) || costs->split < cost))
    return false;
  put_integers(in, f, &b, &plan, out, result);
  return true;
}

// Few values, each a code; `split` is what else a double would take.
static bool encode_few(const unsigned char *in, size_t n, const struct fit *best, uint32_t split,
                       unsigned char *out, void *scratch, struct packed *result) {
  const unsigned kinds = dictionary_kinds(in, n, 8), width = best ? best->width : WIDEST;
  struct dictionary_limits limits = {0, width * 240, split};
  if (dictionary_narrower(kinds, width))
    limits.values = DICTIONARY_SMALL;
  else if (best && (width > 8 || best->misses) && dictionary_of_bytes(kinds) &&
           !neighbours_near(in, n, best))
    limits = dictionary_bytes(n);
  return dictionary_encode(in, n, 8, &limits, out, scratch, result);
}

// Doubles that are no integers of any kind.
static void encode_whole(const unsigned char *in, size_t n, const struct costs *costs,
                         unsigned char *out, void *scratch, struct packed *result) {
  if (costs->split < costs->shuffled + GAIN_WANTED && split_encode(in, n, out, scratch, result))
    return;
  shuffle(in, n, costs->shuffled, out, result);
}

// Repeats of doubles that are wide as integers too.
static bool encode_repeats(const unsigned char *in, size_t n, const struct costs *costs,
                           unsigned char *out, void *scratch, struct packed *result) {
  const uint32_t cost = costs->split < costs->shuffled ? costs->split : costs->shuffled;
  switch (repeats_of(in, n, 8)) {
  case REPEATS_FEW: return false;
  case REPEATS_IN_RUNS:
  case REPEATS_IN_ROW: return true;
  case REPEATS_LONG: shuffle(in, n, 0, out, result); return true;
  case REPEATS_LOOSE: break;
  }
  const struct dictionary_limits limits = {DICTIONARY_LARGE, UINT32_MAX, cost - cost / 16};
  return dictionary_encode(in, n, 8, &limits, out, scratch, result);
}

void doubles_encode(const unsigned char *in, size_t n, unsigned char *out, void *scratch,
                    struct packed *result) {
  struct fit fits[MAX_FITS];
  const size_t n_fits = fit_doubles(in, n, fits);
  const unsigned width = n_fits ? fits[0].width : WIDEST;
  struct costs costs = {UINT32_MAX, UINT32_MAX, false};
  if (width > 32) costs_know(&costs, in, n);
  if (encode_few(in, n, n_fits ? fits : NULL, costs.split, out, scratch, result)) return;
  if (width > 32 && encode_repeats(in, n, &costs, out, scratch, result)) return;
  for (size_t i = 0; i < n_fits; i++)
    if (encode_fit(in, n, &fits[i], &costs, out, scratch, result)) return;
  costs_know(&costs, in, n);
  encode_whole(in, n, &costs, out, scratch, result);
}

// ---- decoding

struct scaled {
  struct fit fit;
  uint64_t base, last;
  const unsigned char *specials, *places, *values, *codes;
  size_t n_specials, n_patches, n_codes;
};

static enum status open_scaled(struct scaled *s, bool delta, const unsigned char *in, size_t len,
                               size_t n) {
  const size_t head = delta ? DELTA_HEAD : HEAD;
  if (len < head) return ERR_CORRUPT;
  if (in[0] > FIT_BITS) return ERR_VERSION;
  *s = (struct scaled){.fit = {.op = in[0], .shift = in[1]}, .specials = in + head};
  s->n_specials = le_load16(in + 2);
  s->n_patches = le_load32(in + 4);
  s->fit.factor = bits_double(le_load64(in + 8));
  s->base = le_load64(in + 16);
  if (delta) s->last = le_load64(in + 24);
  if (s->fit.shift > 63 || s->n_specials > MAX_SPECIALS || s->n_patches > n) return ERR_CORRUPT;
  const uint64_t exceptions = 8 * s->n_specials + (uint64_t) PATCH * s->n_patches;
  if (len - head < exceptions) return ERR_CORRUPT;
  s->places = s->specials + 8 * s->n_specials;
  s->values = s->places + 4 * s->n_patches;
  s->codes = s->values + 8 * s->n_patches;
  s->n_codes = len - head - (size_t) exceptions;
  return OK;
}

// Which integers of a piece are codes of specials, a code being integer - base.
struct found {
  uint16_t places[CODES_STEP];
  uint16_t codes[CODES_STEP];
  size_t n;
};

static void find_specials(const struct scaled *s, const uint64_t *m, size_t n, struct found *f) {
  f->n = 0;
  if (s->n_specials == 0) return;
  for (size_t i = 0; i < n; i++) {
    const uint64_t code = m[i] - s->base;
    f->places[f->n] = (uint16_t) i;
    f->codes[f->n] = (uint16_t) code;
    f->n += code < s->n_specials;
  }
}

static void put_specials(const struct scaled *s, const struct found *f, unsigned char *out) {
  for (size_t j = 0; j < f->n; j++) {
    const uint64_t bits = le_load64(s->specials + 8 * (size_t) f->codes[j]);
    memcpy(out + 8 * (size_t) f->places[j], &bits, sizeof bits);
  }
}

// Differences to integers; a special makes none.
static void add_up(struct scaled *s, const struct found *f, uint64_t *m, size_t n) {
  uint64_t last = s->last;
  for (size_t j = 0; j < f->n; j++) m[f->places[j]] = 0;
  for (size_t i = 0; i < n; i++) m[i] = last += m[i];
  s->last = last;
}

static inline __attribute__((always_inline)) void
unscale(enum fit_op op, double factor, const uint64_t *m, size_t n, unsigned char *out) {
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    two_bits whole;
    memcpy(&whole, m + i, sizeof whole);
    const two near = (two) (whole + both_bits(FIT_MAGIC_BITS)) - both(FIT_MAGIC);
    const two value = op == FIT_DIVIDE ? near / both(factor) : near * both(factor);
    memcpy(out + 8 * i, &value, sizeof value);
  }
  for (; i < n; i++) {
    const double value = fit_value(op, bits_double(m[i] + FIT_MAGIC_BITS) - FIT_MAGIC, factor);
    memcpy(out + 8 * i, &value, sizeof value);
  }
}

static void turn_back(unsigned shift, const uint64_t *m, size_t n, unsigned char *out) {
  for (size_t i = 0; i < n; i++) {
    const uint64_t bits = turn_right(m[i] << shift);
    memcpy(out + 8 * i, &bits, sizeof bits);
  }
}

static void from_integers(const struct fit *f, const uint64_t *m, size_t n, unsigned char *out) {
  switch (f->op) {
  case FIT_MULTIPLY: unscale(FIT_MULTIPLY, f->factor, m, n, out); break;
  case FIT_DIVIDE: unscale(FIT_DIVIDE, f->factor, m, n, out); break;
  default: turn_back(f->shift, m, n, out);
  }
}

static enum status put_patches(const struct scaled *s, size_t n, unsigned char *out) {
  for (size_t j = 0; j < s->n_patches; j++) {
    const uint32_t i = le_load32(s->places + 4 * j);
    const uint64_t bits = le_load64(s->values + 8 * j);
    if (i >= n) return ERR_CORRUPT;
    memcpy(out + 8 * (size_t) i, &bits, sizeof bits);
  }
  return OK;
}

enum status doubles_decode(bool delta, uint8_t coding, const unsigned char *in, size_t len,
                           size_t n, struct window w, unsigned char *out) {
  struct scaled s;
  struct code_reader r;
  enum status st = open_scaled(&s, delta, in, len, n);
  if (st == OK) st = codes_open(&r, coding, s.codes, s.n_codes, n, 8);
  uint64_t m[CODES_STEP];
  struct found special;
  unsigned char *to = out;
  if (st == OK) to += 8 * codes_narrow(&r, delta ? 0 : w.first, w.end);
  for (size_t taken; st == OK; to += 8 * taken) {
    st = codes_next64(&r, s.base, m, &taken);
    if (st != OK || taken == 0) break;
    find_specials(&s, m, taken, &special);
    if (delta) add_up(&s, &special, m, taken);
    from_integers(&s.fit, m, taken, to);
    put_specials(&s, &special, to);
  }
  return st == OK ? put_patches(&s, n, out) : st;
}
