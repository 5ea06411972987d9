#include "codes.h"

#include <string.h>

#include "bitpack.h"
#include "entropy.h"
#include "groups.h"
#include "le.h"
#include "planes.h"
#include "sample.h"

enum { CODING_GROUPS = 0x60, CODING_PLANES = 0x80, GROUPS_HEAD = 4 };

// Of the codec's gain: what it must promise, in 256ths of the bits it would read.
enum { GAIN_WANTED = 10 };

enum { SAMPLE = 2048, WINDOW = 2048, SMALL = 512 };

// Of a few codes not all are looked at: there the look takes longer than what it wins.
static size_t look_at(size_t n, size_t most) {
  const size_t few = n / 4 > SMALL ? n / 4 : SMALL;
  const size_t look = few < most ? few : most;
  return n < look ? n : look;
}

static inline uint64_t get_code(const struct codes *c, size_t i) {
  const unsigned char *p = (const unsigned char *) c->values + i * c->size;
  uint64_t wide;
  uint32_t narrow;
  if (c->size == 8) return memcpy(&wide, p, 8), wide - c->bias;
  return memcpy(&narrow, p, 4), (uint32_t) (narrow - (uint32_t) c->bias);
}

uint64_t codes_dense_bits(size_t n, uint64_t max) {
  const unsigned k = groups_best(max + 1);
  if (k == 1) return (uint64_t) n * bit_width(max);
  return (uint64_t) groups_count(n, k) * bit_width(groups_states((uint32_t) max + 1, k) - 1);
}

// ---- what a codec would make of them

// What a change costs where the codec skips what stays the same, in 256ths of a bit.
enum { CHANGE = 22 * 256 };

struct plane_counts {
  uint32_t bytes[8][256];
  uint32_t changes[8];  // from one code to the next
};

static size_t count_planes(const struct codes *c, unsigned planes, size_t look,
                           struct plane_counts *counts) {
  const size_t most = planes > 4 ? look / 2 : look, n = c->n < most ? c->n : most;
  const uint64_t step = ((uint64_t) c->n << 16) / n;
  for (uint64_t i = 0, at = 0; i < n; i++, at += step) {
    const size_t place = (size_t) (at >> 16);
    uint64_t code = get_code(c, place), change = code ^ get_code(c, place ? place - 1 : 0);
    for (unsigned b = 0; b < planes; b++, code >>= 8, change >>= 8) {
      counts->bytes[b][code & 255]++;
      counts->changes[b] += (change & 255) != 0;
    }
  }
  return n;
}

// Entropy coding ends at a bit a byte; from there on it is repeats, which do about half as well.
static uint32_t plane_cost(uint32_t entropy, uint32_t changes) {
  const uint32_t coded = entropy >= 256 ? entropy : entropy > 128 ? 256 : 2 * entropy;
  return changes < coded ? changes : coded;
}

// Bits a code, in 256ths, that the codec would leave of byte planes without a look at repeats; at
// most `look` of the codes are counted.
static uint32_t sampled_entropy(const struct codes *c, unsigned planes, size_t look) {
  struct plane_counts counts;
  memset(counts.bytes, 0, planes * sizeof *counts.bytes);
  memset(counts.changes, 0, sizeof counts.changes);
  const uint32_t n = (uint32_t) count_planes(c, planes, look, &counts);
  uint32_t sum = 0;
  for (unsigned b = 0; b < planes; b++) {
    sum += plane_cost(entropy_256(counts.bytes[b], n),
                      (uint32_t) ((uint64_t) counts.changes[b] * CHANGE / n));
  }
  return sum;
}

// 256ths of a window's codes that continue something seen in it: `len` codes, enough for about 24
// bits, as they were before. Chance alone gives none.
static uint32_t sampled_repeats(const struct codes *c, uint32_t entropy) {
  const uint32_t factor = 0x9E3779B1;
  uint32_t seen[4096] = {0};
  const size_t len = entropy < 256 ? 24 : 24 * 256 / entropy + 3;
  const size_t n = look_at(c->n, WINDOW), from = (c->n - n) / 2;
  if (n < 4 * len) return 0;
  uint32_t hash = 0, oldest = 1, hits = 0;
  for (size_t i = 0; i < len; i++) oldest *= factor;
  for (size_t i = 0; i < n; i++) {
    hash = hash * factor + (uint32_t) get_code(c, from + i) + 1;
    if (i >= len) hash -= oldest * ((uint32_t) get_code(c, from + i - len) + 1);
    if (i + 1 < len) continue;
    uint32_t *slot = &seen[(hash * factor) >> 20];
    hits += *slot == hash;
    *slot = hash;
  }
  return (uint32_t) (hits * 256 / n);
}

uint32_t codes_cost(const struct codes *c) {
  if (c->max == 0) return 0;
  const uint32_t entropy = sampled_entropy(c, (bit_width(c->max) + 7) / 8, look_at(c->n, SAMPLE));
  return entropy - entropy / 256 * sampled_repeats(c, entropy);
}

// Is what a code costs with the codec clearly less than without?
static bool codec_pays(uint32_t cost, uint32_t dense) {
  return cost < dense - dense * GAIN_WANTED / 256;
}

static uint32_t dense_cost(const struct codes *c) {
  return c->n ? (uint32_t) (codes_dense_bits(c->n, c->max) * 256 / c->n) : 0;
}

uint32_t codes_best(const struct codes *c, uint32_t cost) {
  const uint32_t dense = dense_cost(c);
  return codec_pays(cost, dense) ? cost : dense;
}

// ---- differences

enum { PAIRS = 128, RUNS = 8, RUN = 256, FEW = 63, MIDDLE = 128, FEWEST = 16 };

static unsigned distance_width(uint64_t a, uint64_t b) { return bit_width(a < b ? b - a : a - b); }

// Are neighbours nearer to each other than to elements elsewhere, by half a bit? The difference of
// two strangers takes half a bit more than either, which is then won back.
static bool neighbours_near(const struct codes *c, uint64_t skip) {
  unsigned near = 0, far = 0;
  for (size_t j = 0; j < PAIRS; j++) {
    const size_t i = sample_place(j, PAIRS, c->n - 1);
    const size_t k = sample_place((j + 47) % PAIRS, PAIRS, c->n);
    const uint64_t a = get_code(c, i), b = get_code(c, i + 1), other = get_code(c, k);
    if (a == skip || b == skip || other == skip) continue;
    near += distance_width(a, b), far += distance_width(a, other);
  }
  return near + PAIRS / 2 < far;
}

// The differences within a run. Returns their number; *far is raised to the largest's width.
static size_t run_differences(const struct codes *c, uint64_t skip, size_t from, size_t to,
                              uint64_t *differences, unsigned *far) {
  size_t k = 0;
  uint64_t last = get_code(c, from);
  for (size_t i = from + 1; i < to; i++) {
    const uint64_t code = get_code(c, i);
    if (code == skip) continue;
    const unsigned width = distance_width(code, last);
    differences[k++] = code - last;
    last = code;
    *far = width > *far ? width : *far;
  }
  return k;
}

// The same of runs from all over.
static size_t sample_differences(const struct codes *c, uint64_t skip, uint64_t *differences,
                                 unsigned *far) {
  *far = 0;
  if (c->n <= RUNS * RUN) return run_differences(c, skip, 0, c->n, differences, far);
  size_t k = 0;
  for (size_t r = 0; r < RUNS; r++) {
    const size_t from = sample_place(r, RUNS, c->n - RUN);
    k += run_differences(c, skip, from, from + RUN, differences + k, far);
  }
  return k;
}

// About the median, as a signed number: that of a few.
static int64_t middle_of(const uint64_t *differences, size_t n) {
  int64_t sorted[FEW];
  const size_t few = n < FEW ? n : FEW;
  for (size_t j = 0; j < few; j++) {
    const int64_t d = (int64_t) differences[sample_place(j, few, n)];
    size_t i = j;
    for (; i > 0 && sorted[i - 1] > d; i--) sorted[i] = sorted[i - 1];
    sorted[i] = d;
  }
  return sorted[few / 2];
}

struct delta_cost codes_delta_cost(const struct codes *c, uint64_t skip) {
  uint64_t differences[RUNS * RUN];
  struct delta_cost cost = {UINT32_MAX, 0};
  unsigned far;
  if (c->n < 2 || c->max < FEWEST || !neighbours_near(c, skip)) return cost;
  const size_t n = sample_differences(c, skip, differences, &far);
  if (n == 0) return cost;
  cost.middle = middle_of(differences, n);
  const struct codes codes = {differences, 8, n, (uint64_t) cost.middle - MIDDLE, UINT64_MAX};
  cost.codec = sampled_entropy(&codes, far < 56 ? far / 8 + 1 : 8, look_at(c->n, SAMPLE));
  return cost;
}

uint32_t codes_cost_beside(const struct codes *c, struct delta_cost delta) {
  const uint32_t dense = dense_cost(c);
  return delta.codec < dense / 4 ? dense : codes_cost(c);
}

void codes_center(struct codes *c, struct delta_cost delta) {
  const uint64_t code = ((uint64_t) delta.middle - c->bias) & (UINT64_MAX >> (64 - 8 * c->size));
  const uint64_t down = (MIDDLE - code) & 255;
  if (c->max < 256 || code <= MIDDLE || code > c->max) return;
  if (!codec_pays(delta.codec, dense_cost(c))) return;
  if ((bit_width(c->max + down) + 7) / 8 > (bit_width(c->max) + 7) / 8) return;
  c->bias -= down, c->max += down;
}

// ---- writing

static size_t put_fields(const struct codes *c, unsigned width, unsigned char *out) {
  if (c->size == 4)
    bitpack32(c->values, c->n, width, (uint32_t) c->bias, out);
  else
    bitpack64(c->values, c->n, width, c->bias, out);
  return bitpack_len(c->n, width);
}

// Codes in a piece: whole groups in whole bytes.
static size_t groups_step(unsigned k) { return CODES_STEP / (8 * k) * (8 * k); }

static size_t put_groups(const struct codes *c, unsigned k, unsigned char *out) {
  const uint32_t r = (uint32_t) c->max + 1;
  const unsigned width = bit_width(groups_states(r, k) - 1);
  const unsigned char *from = c->values;
  uint32_t groups[CODES_STEP / 2];
  unsigned char *to = out + GROUPS_HEAD;
  le_store32(out, r);
  for (size_t i = 0, n; i < c->n; i += n) {
    n = c->n - i < groups_step(k) ? c->n - i : groups_step(k);
    groups_join(from + i * c->size, n, c->size, c->bias, k, r, groups);
    bitpack32(groups, groups_count(n, k), width, 0, to);
    to += bitpack_len(groups_count(n, k), width);
  }
  return (size_t) (to - out);
}

static void encode_dense(const struct codes *c, unsigned char *out, struct packed *result) {
  const unsigned k = groups_best(c->max + 1), width = bit_width(c->max);
  result->hint = PACKED_DENSE;
  result->param = (uint8_t) (k > 1 ? CODING_GROUPS + k : width);
  result->len = k > 1 ? put_groups(c, k, out) : put_fields(c, width, out);
}

// Whole bytes, or fields that divide one: the codec sees every code at the same place.
static void encode_for_codec(const struct codes *c, unsigned char *out, struct packed *result) {
  const unsigned width = bit_width(c->max), planes = (width + 7) / 8;
  result->hint = PACKED_COMPRESS;
  if (width <= 4) {
    result->param = (uint8_t) (width == 3 ? 4 : width);
    result->len = put_fields(c, result->param, out);
    return;
  }
  result->param = (uint8_t) (CODING_PLANES + planes);
  result->len = planes * c->n;
  planes_split(c->values, c->n, c->size, planes, c->bias, out, c->n);
}

void codes_encode(const struct codes *c, uint32_t cost, unsigned char *out, struct packed *result) {
  if (codec_pays(cost, dense_cost(c)))
    encode_for_codec(c, out, result);
  else
    encode_dense(c, out, result);
}

// ---- reading

static enum status open_groups(struct code_reader *r, unsigned k, const unsigned char *in,
                               size_t len) {
  if (len < GROUPS_HEAD) return ERR_CORRUPT;
  r->r = le_load32(in);
  if (r->r < 2 || r->r > GROUPS_MAX_R) return ERR_CORRUPT;
  const uint32_t states = groups_states(r->r, k);
  if (states == 0) return ERR_CORRUPT;
  r->in = in + GROUPS_HEAD;
  r->k = k;
  r->width = bit_width(states - 1);
  r->step = groups_step(k);
  r->max = r->r - 1;
  return len - GROUPS_HEAD == bitpack_len(groups_count(r->n, k), r->width) ? OK : ERR_CORRUPT;
}

enum status codes_open(struct code_reader *r, uint8_t coding, const unsigned char *in, size_t len,
                       size_t n, size_t size) {
  *r = (struct code_reader){.in = in, .n = n, .stride = n, .k = 1, .step = CODES_STEP};
  if (coding > CODING_PLANES + 8) return ERR_VERSION;
  if (coding > CODING_PLANES) {
    r->planes = coding - CODING_PLANES;
    r->max = UINT64_MAX >> (64 - 8 * r->planes);
    return r->planes <= size && len / r->planes == n && len % r->planes == 0 ? OK : ERR_CORRUPT;
  }
  if (coding > CODING_GROUPS + 1 && coding < CODING_PLANES)
    return open_groups(r, coding - CODING_GROUPS, in, len);
  if (coding > 64) return ERR_VERSION;
  r->width = coding;
  r->max = coding ? UINT64_MAX >> (64 - coding) : 0;
  return coding <= 8 * size && len == bitpack_len(n, coding) ? OK : ERR_CORRUPT;
}

size_t codes_narrow(struct code_reader *r, size_t first, size_t end) {
  const size_t before = first / r->step, pieces = end / r->step + (end % r->step != 0);
  if (r->n > pieces * r->step) r->n = pieces * r->step;
  const size_t passed = before * r->step < r->n ? before * r->step : r->n;
  if (passed < before * r->step) return 0;
  r->in += r->planes ? passed : before * bitpack_len(groups_count(r->step, r->k), r->width);
  r->n -= passed;
  return passed;
}

static enum status next_groups(struct code_reader *r, size_t n, uint64_t bias, void *out,
                               size_t size) {
  uint32_t groups[CODES_STEP / 2];
  const size_t n_groups = groups_count(n, r->k);
  const uint32_t states = groups_states(r->r, r->k);
  bitunpack32(r->in, n_groups, r->width, 0, groups);
  bool wrong = false;
  for (size_t i = 0; i < n_groups; i++) wrong |= groups[i] >= states;
  if (wrong) return ERR_CORRUPT;
  groups_split(groups, n, size, bias, r->k, r->r, out);
  return OK;
}

static enum status next(struct code_reader *r, uint64_t bias, void *out, size_t size, size_t *n) {
  *n = r->n < r->step ? r->n : r->step;
  if (r->planes)
    planes_join(r->in, r->stride, r->planes, *n, size, bias, out);
  else if (r->k > 1 && next_groups(r, *n, bias, out, size))
    return ERR_CORRUPT;
  else if (r->k == 1 && size == 4)
    bitunpack32(r->in, *n, r->width, (uint32_t) bias, out);
  else if (r->k == 1)
    bitunpack64(r->in, *n, r->width, bias, out);
  r->in += r->planes ? *n : bitpack_len(groups_count(*n, r->k), r->width);
  r->n -= *n;
  return OK;
}

enum status codes_next32(struct code_reader *r, uint32_t bias, void *out, size_t *n) {
  return next(r, bias, out, 4, n);
}

enum status codes_next64(struct code_reader *r, uint64_t bias, void *out, size_t *n) {
  return next(r, bias, out, 8, n);
}
