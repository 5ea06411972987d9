#include "string_layout.h"

#include "le.h"
#include "string_chars.h"

enum {
  SAMPLE_MIN = 1024,    // fewer characters are not worth a look
  CODEC_BLOCK = 131072  // what a codec models with one table of symbols
};

// Choosing a layout: a run of items is laid out in each way that is worth a thought and what a
// codec would make of it is estimated: matches by a greedy search, the rest by its entropy.
// Integers only, so that every machine chooses alike.

// 256 * log2(x), within 0.09 * 256.
static uint32_t log2_256(uint32_t x) {
  uint32_t whole = 31 - (uint32_t) __builtin_clz(x);
  uint32_t fraction = (uint32_t) (((uint64_t) x << 8 >> whole) & 0xFF);
  return whole << 8 | fraction;
}

// Bits that an entropy code takes for these counts, with its table; clears them.
static uint64_t entropy_bits(uint32_t counts[256]) {
  uint32_t total = 0;
  uint64_t sum = 0;
  for (int i = 0; i < 256; i++) {
    if (counts[i] == 0) continue;
    total += counts[i];
    sum += (uint64_t) counts[i] * log2_256(counts[i]);
    counts[i] = 0;
  }
  return total ? ((uint64_t) total * log2_256(total) - sum) >> 8 : 0;
}

// `segment` bytes share a table of symbols.
static uint64_t packed_bits(const unsigned char *in, size_t len, size_t segment) {
  enum { HASH_BITS = 11, MIN_MATCH = 5, MATCH_BITS = 12 };
  uint16_t seen[1 << HASH_BITS] = {0};  // position of such bytes + 1
  uint32_t counts[256] = {0};
  uint64_t bits = 0;
  size_t next = segment;
  for (size_t i = 0; i < len;) {
    size_t match = 0;
    if (i + 8 <= len) {
      uint16_t *slot = &seen[(le_load64(in + i) << 24) * 0x9E3779B97F4A7C15u >> (64 - HASH_BITS)];
      if (*slot) {
        size_t distance = i + 1 - *slot;
        match = same_bytes(in + i - distance, in + i, len - i);
        if (match >= MIN_MATCH) bits += MATCH_BITS + (log2_256((uint32_t) distance) >> 8);
      }
      *slot = (uint16_t) (i + 1);
    }
    if (match < MIN_MATCH) {
      counts[in[i]]++;
      match = 1;
    }
    i += match;
    if (i < next) continue;
    bits += entropy_bits(counts);
    next = i + segment;
  }
  return bits + entropy_bits(counts);
}

struct sample {
  const struct string_item *items;
  size_t n;
  size_t len;      // characters
  size_t longest;
  size_t prefix;   // characters that all start with
};

// Items in a row from the middle, or all if they are few. NA and "" have no say in the prefix.
static struct sample sample_take(const struct string_item *items, size_t n, size_t total) {
  struct sample s = {items + (total > LAYOUT_SAMPLE_LEN ? n / 2 : 0), 0, 0, 0, MAX_WIDTH};
  const struct string_item *first = NULL;
  for (const struct string_item *item = s.items; item < items + n; item++) {
    size_t len = char_count(item->len);
    if (s.len + len > LAYOUT_SAMPLE_LEN) break;
    s.n++;
    s.len += len;
    if (len > s.longest) s.longest = len;
    if (len == 0) continue;
    if (!first) first = item;
    s.prefix = shared_front(first, item, s.prefix);
  }
  return s;
}

static uint64_t width_bits(const struct sample *s, size_t width, size_t segment,
                           unsigned char *scratch) {
  chars_put(s->items, s->n, width, scratch);
  return packed_bits(scratch, s->len, segment);
}

// Front coding, or UINT64_MAX where neighbours share less than a byte more than all do.
static uint64_t front_bits(const struct sample *s, size_t segment, unsigned char *scratch) {
  if (s->n > s->len) return UINT64_MAX;
  size_t shared = fronts_find(s->items, s->n, scratch);
  if (shared < s->n * (s->prefix + 1)) return UINT64_MAX;
  uint64_t bits = packed_bits(scratch, s->n, segment);
  unsigned char *backs = scratch + s->n;
  backs_put(s->items, s->n, scratch, backs);
  return bits + packed_bits(backs, s->len - shared, segment);
}

// The parameter that promises the least. A codec finds more matches in the whole than in the
// sample, which makes text look worse than it is: the layout by position must win clearly. Front
// coding is slow to undo, which must be worth some bits of every item.
size_t layout_choose(const struct string_item *items, size_t n, size_t total,
                            unsigned char *scratch) {
  if (total < SAMPLE_MIN) return 0;
  struct sample s = sample_take(items, n, total);
  if (s.len < SAMPLE_MIN) return 0;
  size_t segment = (size_t) ((uint64_t) CODEC_BLOCK * s.len / total);
  size_t longest = s.longest < MAX_WIDTH ? s.longest : MAX_WIDTH;
  size_t layouts[4] = {0, s.prefix, longest, FRONT_CODED};
  uint64_t bits[4] = {width_bits(&s, 0, segment, scratch), UINT64_MAX,
                      width_bits(&s, longest, segment, scratch),
                      front_bits(&s, segment, scratch)};
  if (s.prefix) bits[1] = width_bits(&s, s.prefix, segment, scratch);
  if (longest > s.prefix) bits[2] += bits[2] / 8;
  if (bits[3] < UINT64_MAX) bits[3] += 3 * s.n;
  int best = 0;
  for (int i = 1; i < 4; i++) best = bits[i] < bits[best] ? i : best;
  return layouts[best];
}
