// filter_structure.c - see filter_structure.h.
//
// Layout, filter 1; integers are little-endian, for a `column` see column.h:
//   u32 skip | u32 number of flags words, length words, integers, doubles, characters
//   column of i32: flags words | column of i32: length words | column of i32: integers
//   column of f64: doubles | the characters
//
// To decode: copy `skip` bytes from the characters. Then, while four bytes or more are missing, take
// a flags word; its low byte is a type of R's stream:
//   10, 13          a length word n, then n integers
//   14, 15          a length word n, then n or 2 n doubles
//   7, 8, 9, 24     a length word n, then n characters
//   16, 19, 20      a length word
//   any other       nothing more
// A length word is only there if four bytes are still missing after the flags word; of n elements as
// many are there as fit whole into the bytes still missing, none if n is negative. What is missing in
// the end, less than four bytes, are characters.
#include "filter_structure.h"

#include <stdbool.h>
#include <string.h>

#include "column.h"
#include "le.h"

enum {
  STRUCTURE_COLUMNS = 1,  // the filter's id
  HEAD = 24,
  LEAST_LEN = 256,        // fewer bytes are not worth it
  MOST_SKIP = 256,        // an item begins within so many bytes, or the guess is given up
  TRIAL_WORDS = 48,       // so many flags words must make sense in a row
  LEAST_WORDS = 8
};

enum part { NOTHING, LENGTH_ONLY, INTEGERS, DOUBLES, PAIRS, CHARACTERS };

static enum part part_of(uint32_t flags) {
  switch (flags & 0xFF) {
    case 10:
    case 13: return INTEGERS;
    case 14: return DOUBLES;
    case 15: return PAIRS;
    case 7:
    case 8:
    case 9:
    case 24: return CHARACTERS;
    case 16:
    case 19:
    case 20: return LENGTH_ONLY;
    default: return NOTHING;
  }
}

// Whether R could have written it where flags are due.
static bool makes_sense(uint32_t flags) {
  const uint32_t type = flags & 0xFF;
  if (type == 255) return flags >> 8 && flags >> 8 < 1 << 23;
  if (type >= 238) return flags < 1 << 20;
  return type >= 1 && type <= 25 && flags < 1 << 22;
}

static inline uint32_t word_at(const unsigned char *p) {
  uint32_t w;
  memcpy(&w, p, 4);
  return w;
}

// Bytes of the elements that follow a length word, of which `left` can be there.
static inline size_t payload_len(enum part part, uint32_t n, size_t left) {
  static const size_t sizes[] = {0, 0, 4, 8, 16, 1};
  const size_t size = sizes[part];
  if (size == 0 || n > INT32_MAX) return 0;
  const size_t step = part == PAIRS ? 8 : size;  // a pair may be cut in two
  const size_t want = size * n, room = left / step * step;
  return want < room ? want : room;
}

// ---- encode -------------------------------------------------------------------------------

// How many flags words in a row make sense if the first is at `at`; to the end of the bytes, fewer
// do.
static int sense_from(const unsigned char *in, size_t len, size_t at) {
  int n = 0;
  while (n < TRIAL_WORDS && len - at >= 4) {
    const uint32_t flags = word_at(in + at);
    if (!makes_sense(flags)) return n;
    at += 4;
    n++;
    const enum part part = part_of(flags);
    if (part == NOTHING) continue;
    if (len - at < 4) break;
    const uint32_t count = word_at(in + at);
    at += 4;
    at += payload_len(part, count, len - at);
  }
  return n >= LEAST_WORDS ? TRIAL_WORDS : n;
}

// Where the first item begins, or MOST_SKIP: a block may start in the middle of one.
static size_t find_start(const unsigned char *in, size_t len) {
  for (size_t skip = 0; skip < MOST_SKIP; skip++)
    if (sense_from(in, len, skip) == TRIAL_WORDS) return skip;
  return MOST_SKIP;
}

// The columns while they are taken apart or put together again.
struct columns {
  uint32_t *flags, *lengths, *integers;
  unsigned char *doubles, *characters;
  size_t n_flags, n_lengths, n_integers, n_doubles, n_characters;
  void *numbers;  // scratch for the filters
};

// Most payloads are one number or a few characters: a copy of a fixed length is no call.
static inline void copy_short(void *to, const void *from, size_t n) {
  if (n == 4)
    memcpy(to, from, 4);
  else if (n == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, n);
}

static inline void put_payload(struct columns *c, enum part part, const unsigned char *in,
                               size_t n) {
  switch (part) {
    case INTEGERS:
      copy_short(c->integers + c->n_integers, in, n);
      c->n_integers += n / 4;
      break;
    case DOUBLES:
    case PAIRS:
      copy_short(c->doubles + 8 * c->n_doubles, in, n);
      c->n_doubles += n / 8;
      break;
    default:
      copy_short(c->characters + c->n_characters, in, n);
      c->n_characters += n;
  }
}

static void count_payload(struct columns *c, enum part part, size_t n) {
  if (part == INTEGERS)
    c->n_integers += n / 4;
  else if (part == CHARACTERS)
    c->n_characters += n;
  else
    c->n_doubles += n / 8;
}

// How long the columns are. False: too much of it makes no sense.
static bool count_columns(const unsigned char *in, size_t len, size_t skip, struct columns *c) {
  size_t at = skip, senseless = 0;
  *c = (struct columns){.n_characters = skip};
  while (len - at >= 4) {
    const uint32_t flags = word_at(in + at);
    at += 4;
    c->n_flags++;
    senseless += !makes_sense(flags);
    const enum part part = part_of(flags);
    if (part == NOTHING || len - at < 4) continue;
    const size_t n = payload_len(part, word_at(in + at), len - at - 4);
    c->n_lengths++;
    count_payload(c, part, n);
    at += 4 + n;
  }
  c->n_characters += len - at;
  return senseless <= c->n_flags / 16;
}

// Takes the bytes apart, into columns that are long enough; counts them anew.
static void split(const unsigned char *in, size_t len, size_t skip, struct columns *c) {
  size_t at = skip;
  c->n_flags = c->n_lengths = c->n_integers = c->n_doubles = c->n_characters = 0;
  put_payload(c, CHARACTERS, in, skip);
  while (len - at >= 4) {
    const uint32_t flags = word_at(in + at);
    at += 4;
    c->flags[c->n_flags++] = flags;
    const enum part part = part_of(flags);
    if (part == NOTHING || len - at < 4) continue;
    const uint32_t count = word_at(in + at);
    at += 4;
    c->lengths[c->n_lengths++] = count;
    const size_t n = payload_len(part, count, len - at);
    if (n) put_payload(c, part, in + at, n);
    at += n;
  }
  put_payload(c, CHARACTERS, in + at, len - at);
}

static size_t align16(size_t n) { return (n + 15) & ~(size_t) 15; }

static size_t numbers_room(size_t raw_len) {
  const size_t a = numbers_scratch(NUMBER_I32, raw_len / 4);
  const size_t b = numbers_scratch(NUMBER_F64, raw_len / 8);
  return align16(a > b ? a : b);
}

// The columns, one behind the other, as long as their counts say; doubles first, for alignment.
static void place_columns(struct columns *c, void *scratch, size_t raw_len) {
  unsigned char *p = scratch;
  c->doubles = p;
  c->flags = (uint32_t *) (p += 8 * c->n_doubles);
  c->lengths = c->flags + c->n_flags;
  c->integers = c->lengths + c->n_lengths;
  c->characters = (unsigned char *) (c->integers + c->n_integers);
  c->numbers = (unsigned char *) scratch + align16(raw_len);
}

size_t structure_scratch(size_t raw_len) { return align16(raw_len) + numbers_room(raw_len); }

// A column's own bound is at most twice its bytes and a little.
size_t structure_bound(size_t raw_len) {
  const size_t a = column_bound(NUMBER_I32, 0), b = column_bound(NUMBER_F64, 0);
  return HEAD + 3 * a + b + 2 * raw_len;
}

void structure_encode(const unsigned char *in, size_t len, unsigned char *out, void *scratch,
                      struct packed *result) {
  *result = (struct packed){.filter = FILTER_NONE, .hint = PACKED_COMPRESS};
  if (len < LEAST_LEN) return;
  const size_t skip = find_start(in, len);
  struct columns c;
  if (skip == MOST_SKIP || !count_columns(in, len, skip, &c)) return;
  place_columns(&c, scratch, len);
  split(in, len, skip, &c);
  size_t dense = 0;
  unsigned char *at = out + HEAD;
  const size_t head[] = {skip,         c.n_flags,   c.n_lengths,
                         c.n_integers, c.n_doubles, c.n_characters};
  for (size_t i = 0; i < 6; i++) le_store32(out + 4 * i, (uint32_t) head[i]);
  at += column_put(NUMBER_I32, c.flags, c.n_flags, at, c.numbers, &dense);
  at += column_put(NUMBER_I32, c.lengths, c.n_lengths, at, c.numbers, &dense);
  at += column_put(NUMBER_I32, c.integers, c.n_integers, at, c.numbers, &dense);
  at += column_put(NUMBER_F64, c.doubles, c.n_doubles, at, c.numbers, &dense);
  memcpy(at, c.characters, c.n_characters);
  at += c.n_characters;
  result->filter = STRUCTURE_COLUMNS;
  result->len = (size_t) (at - out);
  if (dense >= result->len - result->len / 16) result->hint = PACKED_DENSE;
}

// ---- decode -------------------------------------------------------------------------------

static enum status get_columns(struct input *in, size_t raw_len, void *scratch, struct columns *c,
                               size_t *skip) {
  const unsigned char *head = input_take(in, HEAD);
  if (!head) return ERR_CORRUPT;
  *skip = le_load32(head);
  c->n_flags = le_load32(head + 4);
  c->n_lengths = le_load32(head + 8);
  c->n_integers = le_load32(head + 12);
  c->n_doubles = le_load32(head + 16);
  c->n_characters = le_load32(head + 20);
  const uint64_t words = (uint64_t) c->n_flags + c->n_lengths + c->n_integers;
  if (4 * words + 8 * (uint64_t) c->n_doubles + c->n_characters != raw_len) return ERR_CORRUPT;
  place_columns(c, scratch, raw_len);
  enum status st;
  if ((st = column_get(in, NUMBER_I32, c->n_flags, c->flags, c->numbers)) ||
      (st = column_get(in, NUMBER_I32, c->n_lengths, c->lengths, c->numbers)) ||
      (st = column_get(in, NUMBER_I32, c->n_integers, c->integers, c->numbers)) ||
      (st = column_get(in, NUMBER_F64, c->n_doubles, c->doubles, c->numbers)))
    return st;
  const unsigned char *characters = input_take(in, c->n_characters);
  if (!characters || in->left) return ERR_CORRUPT;
  memcpy(c->characters, characters, c->n_characters);
  return OK;
}

// Takes n bytes of a kind off the front of its column; false if they are not there.
static inline bool get_payload(struct columns *c, enum part part, size_t n, unsigned char *out) {
  switch (part) {
    case INTEGERS:
      if (n / 4 > c->n_integers) return false;
      copy_short(out, c->integers, n);
      c->integers += n / 4;
      c->n_integers -= n / 4;
      return true;
    case DOUBLES:
    case PAIRS:
      if (n / 8 > c->n_doubles) return false;
      copy_short(out, c->doubles, n);
      c->doubles += n;
      c->n_doubles -= n / 8;
      return true;
    default:
      if (n > c->n_characters) return false;
      copy_short(out, c->characters, n);
      c->characters += n;
      c->n_characters -= n;
      return true;
  }
}

static inline bool get_word(uint32_t **words, size_t *n, uint32_t *w, unsigned char *out) {
  if (*n == 0) return false;
  *w = *(*words)++;
  --*n;
  memcpy(out, w, 4);
  return true;
}

// Puts the columns together; the counts were checked to add up to raw_len.
static bool join(struct columns *c, size_t skip, unsigned char *out, size_t raw_len) {
  if (skip > raw_len || !get_payload(c, CHARACTERS, skip, out)) return false;
  size_t at = skip;
  while (raw_len - at >= 4) {
    uint32_t flags, count;
    if (!get_word(&c->flags, &c->n_flags, &flags, out + at)) return false;
    at += 4;
    const enum part part = part_of(flags);
    if (part == NOTHING || raw_len - at < 4) continue;
    if (!get_word(&c->lengths, &c->n_lengths, &count, out + at)) return false;
    at += 4;
    const size_t n = payload_len(part, count, raw_len - at);
    if (n && !get_payload(c, part, n, out + at)) return false;
    at += n;
  }
  return get_payload(c, CHARACTERS, raw_len - at, out + at);
}

enum status structure_decode(uint8_t filter, uint8_t param, const unsigned char *in, size_t len,
                             size_t raw_len, unsigned char *out, void *scratch) {
  if (filter != STRUCTURE_COLUMNS || param) return ERR_VERSION;
  struct input input = {in, len};
  struct columns c;
  size_t skip;
  const enum status st = get_columns(&input, raw_len, scratch, &c, &skip);
  if (st) return st;
  return join(&c, skip, out, raw_len) ? OK : ERR_CORRUPT;
}
