#include "filter_integers.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "bitpack.h"
#include "codes.h"
#include "filter_dictionary.h"
#include "filter_layout.h"
#include "le.h"
#include "repeats.h"

static const uint32_t NA = 0x80000000;

enum { RANGE_HEAD = 4, DELTA_HEAD = 8 };

// A large dictionary takes time: codes of more bits than this are worth it.
enum { WIDE = 20 };

size_t integers_bound(size_t n) {
  const size_t coded = DELTA_HEAD + codes_bound(n, sizeof(uint32_t));
  const size_t dictionary = dictionary_bound(n, sizeof(uint32_t));
  return coded > dictionary ? coded : dictionary;
}

size_t integers_scratch(size_t n) { return dictionary_scratch(n); }

static inline uint32_t get(const unsigned char *in, size_t i) {
  uint32_t v;
  memcpy(&v, in + 4 * i, sizeof v);
  return v;
}

static inline void put(unsigned char *out, size_t i, uint32_t v) {
  memcpy(out + 4 * i, &v, sizeof v);
}

// ---- what there is

// Four lanes of the smallest and the largest so far.
typedef int32_t four __attribute__((vector_size(16)));
typedef uint32_t four_unsigned __attribute__((vector_size(16)));

struct lanes {
  four lo, hi;
};

struct span {
  int32_t lo, hi;
};

static const struct lanes NO_LANES = {{INT_MAX, INT_MAX, INT_MAX, INT_MAX},
                                      {INT_MIN, INT_MIN, INT_MIN, INT_MIN}};

static inline four get_four(const unsigned char *in, size_t i) {
  four v;
  memcpy(&v, in + 4 * i, sizeof v);
  return v;
}

static inline four choose(four mask, four a, four b) { return (a & mask) | (b & ~mask); }
static inline void lanes_lower(struct lanes *l, four v) { l->lo = choose(v < l->lo, v, l->lo); }
static inline void lanes_raise(struct lanes *l, four v) { l->hi = choose(v > l->hi, v, l->hi); }

// Copies `from`, but `new` where `in` is `old`.
static void replace(const unsigned char *in, const unsigned char *from, size_t n, uint32_t old,
                    uint32_t new, unsigned char *out) {
  const four olds = (four) (four_unsigned){old, old, old, old};
  const four news = (four) (four_unsigned){new, new, new, new};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const four v = choose(get_four(in, i) == olds, news, get_four(from, i));
    memcpy(out + 4 * i, &v, sizeof v);
  }
  for (; i < n; i++) put(out, i, get(in, i) == old ? new : get(from, i));
}

static inline void span_add(struct span *s, uint32_t bits) {
  const int32_t v = (int32_t) bits;
  if (v < s->lo) s->lo = v;
  if (v > s->hi) s->hi = v;
}

static struct span span_of(const struct lanes *l) {
  struct span s = {INT_MAX, INT_MIN};
  for (int j = 0; j < 4; j++) {
    if (l->lo[j] < s.lo) s.lo = l->lo[j];
    if (l->hi[j] > s.hi) s.hi = l->hi[j];
  }
  return s;
}

static uint32_t span_width(struct span s) { return (uint32_t) s.hi - (uint32_t) s.lo; }

// The span of all but NA. Less one, NA is the highest value, not the lowest: so it is the lower
// end less one that is kept, and the upper end as it is.
static struct span value_span(const unsigned char *in, size_t n, bool *na) {
  const four_unsigned one = {1, 1, 1, 1};
  const four lowest = NO_LANES.hi;
  struct lanes less = NO_LANES, plain = NO_LANES;
  four is_na = {0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const four v = get_four(in, i);
    lanes_lower(&less, (four) ((four_unsigned) v - one));
    lanes_raise(&plain, v);
    is_na |= v == lowest;
  }
  struct span s = {span_of(&less).lo, span_of(&plain).hi};
  *na = (is_na[0] | is_na[1] | is_na[2] | is_na[3]) != 0;
  for (; i < n; i++) {
    const int32_t v = (int32_t) get(in, i), v_less = (int32_t) (get(in, i) - 1);
    if (v_less < s.lo) s.lo = v_less;
    if (v > s.hi) s.hi = v;
    *na |= v == INT_MIN;
  }
  s.lo = (int32_t) ((uint32_t) s.lo + 1);
  return s;
}

// ---- values and differences, with a code of its own for NA

// The values as codes; if there is NA, in `copy`.
static struct codes range_codes(const unsigned char *in, size_t n, struct span s, bool na,
                                uint32_t *copy) {
  const uint32_t base = (uint32_t) s.lo - na;
  if (na) replace(in, in, n, NA, base, (unsigned char *) copy);
  return (struct codes){na ? (const void *) copy : in, sizeof *copy, n, base,
                        (uint64_t) span_width(s) + na};
}

static void encode_range(const struct codes *c, uint32_t cost, bool na, unsigned char *out,
                         struct packed *result) {
  le_store32(out, (uint32_t) c->bias);
  codes_encode(c, cost, out + RANGE_HEAD, result);
  result->filter = na ? FILTER_RANGE_NA : FILTER_RANGE;
  result->len += RANGE_HEAD;
}

// Differences of neighbours, all but the first.
static struct span differences(const unsigned char *in, size_t n, uint32_t *delta) {
  struct lanes l = NO_LANES;
  size_t i = 1;
  for (; i + 4 <= n; i += 4) {
    const four d = (four) ((four_unsigned) get_four(in, i) - (four_unsigned) get_four(in, i - 1));
    lanes_lower(&l, d);
    lanes_raise(&l, d);
    memcpy(delta + i, &d, sizeof d);
  }
  struct span s = span_of(&l);
  for (; i < n; i++) span_add(&s, delta[i] = get(in, i) - get(in, i - 1));
  return s;
}

// The same of all but NA, whose places get any difference that there is. No branch on NA.
static struct span differences_na(const unsigned char *in, size_t n, size_t first,
                                  uint32_t *delta) {
  struct span s = {INT_MAX, INT_MIN};
  size_t i = first + 1;
  while (i < n && get(in, i) == NA) i++;
  uint32_t last = get(in, first), d = i < n ? get(in, i) - last : 0;
  for (; i < n; i++) {
    const uint32_t v = get(in, i);
    d = v == NA ? d : v - last;
    last = v == NA ? last : v;
    span_add(&s, delta[i] = d);
  }
  return s;
}

// Differences if they are cheaper than `best`, in 256ths of a bit; the first is set to the least of
// them.
static bool encode_delta(const unsigned char *in, size_t n, bool na, uint32_t best,
                         struct delta_cost cost, unsigned char *out, uint32_t *delta,
                         struct packed *result) {
  size_t first = 0;
  while (get(in, first) == NA) first++;
  const struct span s = na ? differences_na(in, n, first, delta) : differences(in, n, delta);
  const uint32_t least = (uint32_t) s.lo;
  struct codes codes = {delta, sizeof *delta, n, least - na, (uint64_t) span_width(s) + na};
  if (s.lo > s.hi || codes.max > UINT32_MAX || codes_best(&codes, cost.codec) >= best) return false;
  delta[first] = least;
  codes_center(&codes, cost);
  if (na)
    replace(in, (unsigned char *) delta, n, NA, (uint32_t) codes.bias, (unsigned char *) delta);
  le_store32(out, get(in, first) - least);
  le_store32(out + 4, (uint32_t) codes.bias);
  codes_encode(&codes, cost.codec, out + DELTA_HEAD, result);
  result->filter = na ? FILTER_DELTA_NA : FILTER_DELTA;
  result->len += DELTA_HEAD;
  return true;
}

static bool encode_dictionary(const unsigned char *in, size_t n, unsigned width, uint32_t best,
                              unsigned char *out, void *scratch, struct packed *result) {
  const unsigned kinds = dictionary_kinds(in, n, 4);
  struct dictionary_limits limits = {0, width * 240, best};
  if (dictionary_narrower(kinds, width))
    limits.values = DICTIONARY_SMALL;
  else if (width > 8 && dictionary_of_bytes(kinds))
    limits = dictionary_bytes(n);
  else if (width > WIDE && repeats_of(in, n, 4) == REPEATS_LOOSE)
    limits.values = DICTIONARY_LARGE;
  return dictionary_encode(in, n, 4, &limits, out, scratch, result);
}

void integers_encode(const unsigned char *in, size_t n, unsigned char *out, void *scratch,
                     struct packed *result) {
  bool na;
  const struct span s = value_span(in, n, &na);
  const struct codes codes = range_codes(in, n, s, na, scratch);
  const struct delta_cost delta = codes_delta_cost(&codes, na ? 0 : UINT64_MAX);
  const uint32_t cost = codes_cost_beside(&codes, delta), best = codes_best(&codes, cost);
  if (delta.codec != UINT32_MAX && encode_delta(in, n, na, best, delta, out, scratch, result))
    return;
  if (encode_dictionary(in, n, bit_width(codes.max), best, out, scratch, result)) return;
  const struct codes again = range_codes(in, n, s, na, scratch);
  encode_range(&again, cost, na, out, result);
  if (result->param == 32 && result->hint == PACKED_DENSE)
    *result = (struct packed){.filter = FILTER_NONE, .hint = PACKED_DENSE};
}

// ---- decoding

static uint32_t add_up(unsigned char *out, size_t n, uint32_t last) {
  for (size_t i = 0; i < n; i++) put(out, i, last += get(out, i));
  return last;
}

static uint32_t add_up_na(unsigned char *out, size_t n, uint32_t base, uint32_t last) {
  for (size_t i = 0; i < n; i++) {
    const uint32_t d = get(out, i);
    last += d == base ? 0 : d;
    put(out, i, d == base ? NA : last);
  }
  return last;
}

enum status integers_decode(uint8_t filter, uint8_t coding, const unsigned char *in, size_t len,
                            size_t n, struct window w, unsigned char *out) {
  const bool delta = filter == FILTER_DELTA || filter == FILTER_DELTA_NA;
  const size_t head = delta ? DELTA_HEAD : RANGE_HEAD;
  if (len < head) return ERR_CORRUPT;
  const uint32_t base = le_load32(in + head - 4);
  uint32_t last = le_load32(in);
  struct code_reader r;
  enum status st = codes_open(&r, coding, in + head, len - head, n, sizeof(uint32_t));
  if (st == OK) out += 4 * codes_narrow(&r, delta ? 0 : w.first, w.end);
  for (size_t taken; st == OK; out += 4 * taken) {
    st = codes_next32(&r, base, out, &taken);
    if (st != OK || taken == 0) break;
    if (filter == FILTER_RANGE_NA) replace(out, out, taken, base, NA, out);
    if (filter == FILTER_DELTA) last = add_up(out, taken, last);
    if (filter == FILTER_DELTA_NA) last = add_up_na(out, taken, base, last);
  }
  return st;
}
