// filter_numbers: bits come back whatever the numbers, the filter is the one meant, and packed
// bytes that lie are refused within their bounds. Buffers are exact, so that ASan sees any excess.
// one thread
#include "filter_numbers.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitpack.h"
#include "codes.h"
#include "filter_layout.h"

static int passed, failed;

static void check(bool ok, const char *what, size_t n) {
  ok ? passed++ : failed++;
  if (!ok) printf("FAILED: %s, n %zu\n", what, n);
}

static uint64_t state = 1;

static uint64_t next_random(void) {
  state = state * 6364136223846793005 + 1442695040888963407;
  uint64_t v = state;
  v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9;
  return v ^ v >> 31;
}

static uint32_t below(uint32_t n) { return (uint32_t) ((next_random() >> 32) * n >> 32); }
static double unit(void) { return (double) (next_random() >> 11) * 0x1p-53; }

static void *make(size_t n) {
  void *p = malloc(n ? n : 1);
  if (!p) abort();
  memset(p, 0xA5, n);
  return p;
}

static double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

#define NA_REAL from_bits(0x7FF00000000007A2)

// ---- one block there and back

// Packs n elements from an odd address; *out is the packed bytes, exactly, or the input's copy.
static struct packed pack(enum number_type type, const void *values, size_t n,
                          unsigned char **out) {
  const size_t raw_len = n * number_size(type), bound = numbers_bound(type, n);
  unsigned char *in = make(raw_len + 1), *room = make(bound);
  void *scratch = make(numbers_scratch(type, n));
  struct packed p;
  memcpy(in + 1, values, raw_len);
  numbers_encode(type, in + 1, n, room, scratch, &p);
  check(p.len <= bound && (p.filter != FILTER_NONE || p.len == 0), "bound holds", n);
  check(p.tail <= p.len && (p.tail == 0 || p.hint == PACKED_COMPRESS), "tail is in place", n);
  *out = make(p.len);
  memcpy(*out, room, p.len);
  free(in);
  free(room);
  free(scratch);
  return p;
}

static enum status unpack(struct packed p, enum number_type type, const unsigned char *in, size_t n,
                          unsigned char *out) {
  void *scratch = make(numbers_scratch(type, n));
  const enum status st = numbers_decode(p.filter, p.param, type, in, p.len, n, out, scratch);
  free(scratch);
  return st;
}

// Lengths that disagree are refused, and any other change stays within bounds.
static void mutate(struct packed p, enum number_type type, const unsigned char *packed, size_t n) {
  unsigned char *out = make(n * number_size(type));
  for (int i = 0; i < 20; i++) {
    struct packed q = p;
    q.len = i < 3 && p.len > (size_t) i ? p.len - 1 - (size_t) i : p.len + (i == 3);
    unsigned char *in = make(q.len);
    memcpy(in, packed, q.len < p.len ? q.len : p.len);
    if (i > 3 && q.len) in[i % 2 ? below((uint32_t) q.len) : below(40) % q.len] ^= 1 << below(8);
    if (i > 15) q.param = (uint8_t) next_random();
    if (i > 17) q.filter = (uint8_t) below(12);
    const enum status st = unpack(q, type, in, n, out);
    if (q.len != p.len) check(st == ERR_CORRUPT, "another length is refused", n);
    free(in);
  }
  free(out);
}

// Of a block of which some elements are wanted these are right, whatever becomes of the others.
static void check_part(struct packed p, enum number_type type, const unsigned char *packed, size_t n,
                        const void *values) {
  const size_t size = number_size(type);
  unsigned char *out = make(n * size);
  void *scratch = make(numbers_scratch(type, n));
  for (int i = 0; i < 4; i++) {
    const size_t end = i == 1 ? n : below((uint32_t) n + 1), first = i ? below((uint32_t) end + 1) : end;
    memset(out, 0x5a, n * size);
    check(numbers_decode_part(p.filter, p.param, type, packed, p.len, n, (struct window){first, end},
                              out, scratch) == OK &&
              memcmp(out + first * size, (const char *) values + first * size, (end - first) * size) == 0,
          "those of the window", first);
  }
  free(out);
  free(scratch);
}

static struct packed round_trip(enum number_type type, const void *values, size_t n) {
  const size_t raw_len = n * number_size(type);
  unsigned char *packed, *again, *back = make(raw_len + 1);
  const struct packed p = pack(type, values, n, &packed), q = pack(type, values, n, &again);
  check(p.filter == q.filter && p.param == q.param && p.len == q.len &&
            memcmp(packed, again, p.len) == 0,
        "same input, same output", n);
  if (p.filter != FILTER_NONE) {
    check(unpack(p, type, packed, n, back + 1) == OK, "it decodes", n);
    check(memcmp(back + 1, values, raw_len) == 0, "bits come back", n);
    check_part(p, type, packed, n, values);
    mutate(p, type, packed, n);
  }
  free(packed);
  free(again);
  free(back);
  return p;
}

// ---- numbers of every kind

enum { MOST = 65536 + 9 };
static int32_t ints[MOST];
static double reals[MOST];

typedef int32_t make_int(size_t i);
typedef double make_real(size_t i);

static struct packed try_ints(make_int *f, size_t n) {
  for (size_t i = 0; i < n; i++) ints[i] = f(i);
  return round_trip(NUMBER_I32, ints, n);
}

static struct packed try_reals(make_real *f, size_t n) {
  for (size_t i = 0; i < n; i++) reals[i] = f(i);
  return round_trip(NUMBER_F64, reals, n);
}

static uint32_t width;  // of what the next two make

static int32_t int_of_width(size_t i) {
  (void) i;
  return (int32_t) (next_random() >> 32 >> (32 - width)) - 5;
}

static double real_of_width(size_t i) {
  (void) i;
  return (double) (next_random() >> (64 - width)) - 5;
}

static int32_t id(size_t i) { return (int32_t) i + 1; }
static int32_t one_of_10(size_t i) { return (void) i, 1 + (int32_t) below(10); }
static int32_t one_of_100(size_t i) { return (void) i, 1 + (int32_t) below(100); }
static int32_t logical(size_t i) { return i % 7 == 3 ? INT_MIN : (int32_t) below(2); }
static int32_t three_levels(size_t i) {
  return (void) i, (const int32_t[]){INT_MIN, 0, 1}[below(3)];
}
static int32_t any_int(size_t i) { return (void) i, (int32_t) next_random(); }
static int32_t extreme(size_t i) {
  return (void) i, (const int32_t[]){INT_MIN, INT_MAX, INT_MIN + 1, 0, -1}[below(5)];
}
static int32_t not_na_extreme(size_t i) {
  return i % 2 ? INT_MAX : INT_MIN + 1 + (int32_t) below(9);
}
static int32_t wide_steps(size_t i) { return (int32_t) (i * 2147483647u + below(3)); }
static int32_t id_with_na(size_t i) { return i < 3 || below(20) == 0 ? INT_MIN : (int32_t) i * 3; }
static int32_t repeated(size_t i) { return 1 + (int32_t) (i / 50 % 1000); }
static int32_t triple(size_t i) { return (const int32_t[]){3, 7, 1}[i % 3]; }
static int32_t far_apart(size_t i) { return (void) i, (int32_t) below(20) * 100000007; }
static int32_t skewed(size_t i) { return (void) i, below(10) ? 0 : (int32_t) below(300); }
static int32_t constant(size_t i) { return (void) i, 42; }
static int32_t all_na(size_t i) { return (void) i, INT_MIN; }
static int32_t last_na(size_t i) { return i % 300 == 299 ? INT_MIN : 7; }
// A walk of small steps; numbers that come again; few values of great span, most of them alike.
static int32_t walk(size_t i) {
  static int32_t at;
  return at = i ? at + (int32_t) below(7) - 3 + (below(100) ? 0 : (int32_t) below(4000) - 2000) : 0;
}
static int32_t walk_with_na(size_t i) { return i % 50 == 7 ? INT_MIN : walk(i); }
static int32_t looked_up(size_t i) { return (void) i, (int32_t) (below(3000) * 2654435761u); }
static int32_t few_of_span(size_t i) {
  return (void) i, (int32_t) ((below(4) ? below(6) : below(200)) * 5);
}
static int32_t periodic(size_t i) { return (int32_t) ((uint32_t) (i % 1000) * 2654435761u >> 12); }

static make_int *const int_makers[] = {
    id,        one_of_10,      one_of_100, logical,    three_levels, any_int,
    extreme,   not_na_extreme, wide_steps, id_with_na, repeated,     triple,
    far_apart, skewed,         constant,   all_na,     last_na,      periodic,
    walk,      walk_with_na,   looked_up,  few_of_span};

static double from_runif(size_t i) { return (void) i, (double) below(UINT32_MAX) * 0x1p-32; }
static double price(size_t i) { return (void) i, below(1000000) / 100.0; }
static double price_with_odd(size_t i) {
  return below(100) ? price(i) : below(2) ? unit() : NA_REAL;
}
static double one_of_20(size_t i) { return (void) i, below(20) * 3.14159; }
static double log_normal(size_t i) {
  return (void) i, exp(8 + unit() + unit() + unit() + unit() - unit() - unit());
}
static double normal(size_t i) {
  return (void) i, unit() + unit() + unit() - unit() - unit() - unit();
}
static double date(size_t i) { return (void) i, 18262 + below(2001); }
static double date_with_na(size_t i) { return i < 5 || below(10) == 0 ? NA_REAL : date(i); }
static double second(size_t i) { return 1.6e9 + 60.0 * (double) i; }
static double second_with_na(size_t i) { return i < 40 || below(10) == 0 ? NA_REAL : second(i); }
static double stamp(size_t i) { return round((1.6e9 + (double) i * 30 + unit()) * 1e3) / 1e3; }
static double day(size_t i) { return 86400 * date(i); }
static double step(size_t i) { return (double) i * 0.01; }
static double single(size_t i) { return (void) i, (float) (1 + 999 * unit()); }
static double any_bits(size_t i) { return (void) i, from_bits(next_random()); }
static double special(size_t i) {
  return (void) i, (const double[]){0.0,
                                    -0.0,
                                    INFINITY,
                                    -INFINITY,
                                    NA_REAL,
                                    from_bits(0x7FF8000000000000),
                                    from_bits(0xFFF0000000000123),
                                    5e-324,
                                    1.5}[below(9)];
}
static double whole_and_special(size_t i) { return below(10) ? (double) below(1000) : special(i); }
static double many_nans(size_t i) {
  return below(10) ? (double) i : from_bits(0x7FF8000000000000 + below(50));
}
static double real_constant(size_t i) { return (void) i, -0.0; }
static double subnormal(size_t i) { return (void) i, from_bits(below(100000)); }
static double integer64(size_t i) { return from_bits(1000000000000 + i * 77 + below(50)); }
static double huge(size_t i) { return (void) i, (unit() - 0.5) * 1e300; }
static double near_limit(size_t i) { return (i % 2 ? -1 : 1) * (0x1p51 - 3 + below(7)); }
static double beyond_limit(size_t i) { return (i % 2 ? -1 : 1) * (0x1p52 + below(1000)); }
static double late_surprise(size_t i) { return i < 60000 ? (double) below(100) : unit(); }
static double outliers(size_t i) {
  return below(500) == 0 ? any_bits(i) : below(300) == 0 ? special(i) : 1 + unit();
}
// Values of a size of its own for each seed.
static double hashed(uint64_t seed) {
  const uint64_t v = (seed + 1) * 0xBF58476D1CE4E5B9;
  return ldexp((double) ((v ^ v >> 31) >> 11), -50 - (int) (seed % 3));
}
static double one_of_3000(size_t i) { return (void) i, hashed(below(3000)); }
static double one_of_20000(size_t i) { return (void) i, hashed(below(20000)); }
static double period_5000(size_t i) { return hashed(i % 5000); }
static double rows_of_4(size_t i) {
  static uint32_t row;
  if (i % 4 == 0) row = below(3000);
  return hashed(row * 4 + i % 4);
}
static double each_3(size_t i) { return hashed(i / 3); }
static double normal_or_na(size_t i) { return below(10) ? normal(i) : NA_REAL; }
static double zero_or_normal(size_t i) { return below(20) ? 0.0 : normal(i); }
static double centi_walk(size_t i) { return walk(i) / 100.0; }
static double mostly_alike(size_t i) {
  return (void) i, below(30) ? 500 + below(12) : 5 * below(200);
}
static double many_tops(size_t i) {
  return from_bits((uint64_t) (i % 2 << 11 | below(200)) << 52 | next_random() >> 12);
}
static double zero_or_odd(size_t i) { return (void) i, below(30) ? 0.0 : unit(); }

static make_real *const real_makers[] = {from_runif,
                                         price,
                                         price_with_odd,
                                         one_of_20,
                                         log_normal,
                                         normal,
                                         date,
                                         date_with_na,
                                         second,
                                         second_with_na,
                                         stamp,
                                         day,
                                         step,
                                         single,
                                         any_bits,
                                         special,
                                         whole_and_special,
                                         many_nans,
                                         real_constant,
                                         subnormal,
                                         integer64,
                                         huge,
                                         near_limit,
                                         beyond_limit,
                                         late_surprise,
                                         zero_or_odd,
                                         outliers,
                                         one_of_3000,
                                         one_of_20000,
                                         period_5000,
                                         rows_of_4,
                                         each_3,
                                         normal_or_na,
                                         zero_or_normal,
                                         centi_walk,
                                         mostly_alike,
                                         many_tops};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void test_lengths(void) {
  static const size_t large[] = {1000, 1024, 1025, 4099, 65535, 65536, MOST};
  for (size_t m = 0; m < COUNT(int_makers); m++) {
    for (size_t n = 0; n <= 300; n++) try_ints(int_makers[m], n);
    for (size_t j = 0; j < COUNT(large); j++) try_ints(int_makers[m], large[j]);
  }
  for (size_t m = 0; m < COUNT(real_makers); m++) {
    for (size_t n = 0; n <= 300; n++) try_reals(real_makers[m], n);
    for (size_t j = 0; j < COUNT(large); j++) try_reals(real_makers[m], large[j]);
  }
}

static void test_widths(void) {
  for (width = 1; width <= 32; width++) {
    try_ints(int_of_width, 999);
    try_ints(int_of_width, 5000);
  }
  for (width = 1; width <= 64; width++) {
    try_reals(real_of_width, 999);
    try_reals(real_of_width, 5000);
  }
}

static void test_bytes(void) {
  unsigned char bytes[100], *out;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char) i;
  const struct packed p = pack(NUMBER_U8, bytes, sizeof bytes, &out);
  check(p.filter == FILTER_NONE && p.len == 0, "bytes are left alone", sizeof bytes);
  free(out);
}

// ---- the choice

static void expect(const char *what, struct packed p, int filter, enum packed_hint hint,
                   double most_bits) {
  const bool ok = p.filter == filter && p.hint == hint && 8.0 * (double) p.len / 65536 <= most_bits;
  if (!ok)
    printf("%s: filter %d, param 0x%02x, hint %d, %.3f bits\n", what, p.filter, p.param, p.hint,
           8.0 * (double) p.len / 65536);
  check(ok, what, 65536);
}

// Some are close calls: each is made on the same numbers whatever ran before.
#define EXPECT_INTS(f, filter, hint, bits) \
  (state = 1, expect(#f, try_ints(f, 65536), filter, hint, bits))
#define EXPECT_REALS(f, filter, hint, bits) \
  (state = 1, expect(#f, try_reals(f, 65536), filter, hint, bits))

static void test_choice(void) {
  EXPECT_INTS(constant, FILTER_CONSTANT, PACKED_DENSE, 0.01);
  EXPECT_INTS(all_na, FILTER_CONSTANT, PACKED_DENSE, 0.01);
  EXPECT_INTS(id, FILTER_DELTA, PACKED_DENSE, 0.01);
  EXPECT_INTS(id_with_na, FILTER_DELTA_NA, PACKED_COMPRESS, 8.01);
  EXPECT_INTS(one_of_10, FILTER_RANGE, PACKED_DENSE, 3.34);
  EXPECT_INTS(one_of_100, FILTER_RANGE, PACKED_DENSE, 6.67);
  EXPECT_INTS(three_levels, FILTER_RANGE_NA, PACKED_DENSE, 1.61);
  EXPECT_INTS(any_int, FILTER_NONE, PACKED_DENSE, 0);
  EXPECT_INTS(far_apart, FILTER_DICTIONARY, PACKED_DENSE, 4.4);
  EXPECT_INTS(repeated, FILTER_DELTA, PACKED_COMPRESS, 16.01);
  EXPECT_INTS(periodic, FILTER_RANGE, PACKED_COMPRESS, 24.01);
  EXPECT_INTS(skewed, FILTER_RANGE, PACKED_COMPRESS, 16.01);
  check(try_ints(triple, 65536).hint == PACKED_COMPRESS, "a period is left to the codec", 65536);
  EXPECT_REALS(real_constant, FILTER_CONSTANT, PACKED_DENSE, 0.01);
  EXPECT_REALS(from_runif, FILTER_SCALED, PACKED_DENSE, 32.01);
  EXPECT_REALS(price, FILTER_SCALED, PACKED_DENSE, 20.01);
  EXPECT_REALS(price_with_odd, FILTER_SCALED, PACKED_DENSE, 22);
  EXPECT_REALS(one_of_20, FILTER_DICTIONARY, PACKED_DENSE, 4.4);
  EXPECT_REALS(date, FILTER_SCALED, PACKED_DENSE, 11.01);
  EXPECT_REALS(date_with_na, FILTER_SCALED, PACKED_DENSE, 11.01);
  EXPECT_REALS(day, FILTER_SCALED, PACKED_DENSE, 11.01);
  EXPECT_REALS(second, FILTER_SCALED_DELTA, PACKED_DENSE, 0.01);
  EXPECT_REALS(second_with_na, FILTER_SCALED_DELTA, PACKED_COMPRESS, 8.01);
  EXPECT_REALS(stamp, FILTER_SCALED_DELTA, PACKED_DENSE, 11.01);
  EXPECT_REALS(step, FILTER_SCALED_DELTA, PACKED_DENSE, 0.01);
  EXPECT_INTS(walk, FILTER_DELTA, PACKED_COMPRESS, 16.01);
  EXPECT_INTS(walk_with_na, FILTER_DELTA_NA, PACKED_COMPRESS, 16.01);
  EXPECT_INTS(looked_up, FILTER_DICTIONARY, PACKED_DENSE, 13.7);
  EXPECT_INTS(few_of_span, FILTER_DICTIONARY, PACKED_COMPRESS, 8.2);
  EXPECT_REALS(centi_walk, FILTER_SCALED_DELTA, PACKED_COMPRESS, 16.01);
  EXPECT_REALS(mostly_alike, FILTER_DICTIONARY, PACKED_COMPRESS, 9);
  EXPECT_REALS(log_normal, FILTER_SPLIT, PACKED_COMPRESS, 60.1);
  EXPECT_REALS(normal, FILTER_SPLIT, PACKED_COMPRESS, 60.1);
  EXPECT_REALS(normal_or_na, FILTER_SPLIT, PACKED_COMPRESS, 53.5);
  EXPECT_REALS(zero_or_normal, FILTER_SPLIT, PACKED_COMPRESS, 11.5);
  EXPECT_REALS(one_of_3000, FILTER_DICTIONARY, PACKED_DENSE, 15.1);
  EXPECT_REALS(one_of_20000, FILTER_DICTIONARY, PACKED_DENSE, 34);
  EXPECT_REALS(period_5000, FILTER_SHUFFLE, PACKED_COMPRESS, 64);
  EXPECT_REALS(rows_of_4, FILTER_NONE, PACKED_COMPRESS, 0);
  EXPECT_REALS(each_3, FILTER_NONE, PACKED_COMPRESS, 0);
  EXPECT_REALS(any_bits, FILTER_NONE, PACKED_DENSE, 0);
}

// ---- codings

static void test_coding(const uint32_t *codes, size_t n, uint32_t max, uint64_t bias) {
  unsigned char *out = make(codes_bound(n, 4)), *back = make(4 * n);
  struct packed p;
  const struct codes c = {codes, 4, n, bias, max};
  codes_encode(&c, codes_cost(&c), out, &p);
  struct code_reader r;
  check(codes_open(&r, p.param, out, p.len, n, 4) == OK, "codes open", n);
  check(codes_open(&r, p.param, out, p.len + 1, n, 4) == ERR_CORRUPT, "a longer one does not", n);
  codes_open(&r, p.param, out, p.len, n, 4);
  size_t done = 0, taken = 1;
  while (taken && codes_next32(&r, (uint32_t) bias, back + 4 * done, &taken) == OK) done += taken;
  check(done == n && memcmp(back, codes, 4 * n) == 0, "codes come back", max);
  free(out);
  free(back);
}

// Every maximum that groups may serve.
static void test_groups(void) {
  uint32_t codes[1200];
  for (uint32_t max = 1; max < 40000; max += max < 600 ? 1 : max / 40) {
    for (size_t i = 0; i < COUNT(codes); i++) codes[i] = 17 + below(max + 1);
    codes[3] = 17 + max;
    test_coding(codes, COUNT(codes) - max % 40, max, 17);
  }
}

static void test_refusals(void) {
  const unsigned char in[64] = {0};
  unsigned char out[64];
  check(numbers_decode(77, 0, NUMBER_I32, in, 4, 16, out, NULL) == ERR_VERSION, "unknown filter",
        16);
  check(numbers_decode(FILTER_RANGE, 33, NUMBER_I32, in, 64, 16, out, NULL) == ERR_CORRUPT,
        "width over 32", 16);
  check(numbers_decode(FILTER_RANGE, 99, NUMBER_F64, in, 64, 8, out, NULL) == ERR_VERSION,
        "integers' filter for doubles", 8);
  check(numbers_decode(FILTER_SCALED, 0, NUMBER_I32, in, 64, 8, out, NULL) == ERR_VERSION,
        "doubles' filter for integers", 8);
  check(numbers_decode(FILTER_RANGE, 255, NUMBER_I32, in, 64, 16, out, NULL) == ERR_VERSION,
        "unknown coding", 16);
  const unsigned char dictionary[] = {0, 0, 1, 2, 3, 4, 0xFF, 0xFF};  // one value, codes 1
  check(numbers_decode(FILTER_DICTIONARY, 1, NUMBER_I32, dictionary, 8, 16, out, NULL) ==
            ERR_CORRUPT,
        "code past the dictionary", 16);
}

static enum status unsplit(const unsigned char *in, size_t len, uint8_t param) {
  unsigned char out[16 * 8];
  unsigned char *exact = make(len);
  memcpy(exact, in, len);
  const enum status st = numbers_decode(FILTER_SPLIT, param, NUMBER_F64, exact, len, 16, out, NULL);
  free(exact);
  return st;
}

// Sixteen doubles, of one top and one whole.
static void test_split_refusals(void) {
  enum { HEAD = 2 + 8 + 2, CODES = HEAD + 16 };
  unsigned char in[CODES + 16 * 52 / 8] = {1, 1};
  for (size_t i = HEAD; i < CODES; i++) in[i] = 255;
  check(unsplit(in, CODES, 52) == OK, "wholes alone", 16);
  check(unsplit(in, CODES + 1, 52) == ERR_CORRUPT, "a mantissa for none", 16);
  in[HEAD] = 0;
  check(unsplit(in, CODES, 52) == ERR_CORRUPT, "no mantissa for one", 16);
  check(unsplit(in, CODES + 7, 52) == OK, "one mantissa", 16);
  check(unsplit(in, CODES + 7, 48) == ERR_VERSION, "width under 49", 16);
  check(unsplit(in, CODES + 7, 53) == ERR_VERSION, "width over 52", 16);
  in[HEAD - 1] = 0x10;
  check(unsplit(in, CODES + 7, 52) == ERR_CORRUPT, "top past twelve bits", 16);
  check(unsplit(in, CODES + 7, 51) == OK, "top of thirteen bits", 16);
  in[HEAD + 1] = 1;
  check(unsplit(in, CODES + 7, 51) == ERR_CORRUPT, "code past the tops", 16);
  in[0] = 8;
  check(unsplit(in, sizeof in, 51) == ERR_CORRUPT, "wholes over 7", 16);
}

int main(void) {
  test_split_refusals();
  test_lengths();
  test_widths();
  test_bytes();
  test_choice();
  test_groups();
  test_refusals();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
