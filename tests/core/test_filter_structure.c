// Tests of filter_structure.c: any bytes come back, and columns that lie are found out.
// one thread
#include "check.h"
#include "filter_structure.h"

struct made {
  unsigned char *p;
  struct packed how;
};

// In buffers of the exact size, so that a step outside is seen.
static struct made encode(const unsigned char *in, size_t len) {
  unsigned char *out = malloc(structure_bound(len));
  void *scratch = malloc(structure_scratch(len) + 1);
  struct made m = {NULL, {0}};
  structure_encode(in, len, out, scratch, &m.how);
  if (m.how.filter != FILTER_NONE) {
    m.p = malloc(m.how.len);
    memcpy(m.p, out, m.how.len);
  }
  free(out);
  free(scratch);
  return m;
}

static enum status decode(const struct made *m, size_t packed_len, size_t raw_len,
                          unsigned char *out) {
  void *scratch = malloc(structure_scratch(raw_len) + 1);
  const enum status st =
      structure_decode(m->how.filter, m->how.param, m->p, packed_len, raw_len, out, scratch);
  free(scratch);
  return st;
}

static bool comes_back(const unsigned char *in, size_t len, bool expect_filter, const char *what) {
  struct made m = encode(in, len);
  check((m.how.filter != FILTER_NONE) == expect_filter, what, len);
  bool same = true;
  if (m.p) {
    unsigned char *out = malloc(len ? len : 1);
    same = decode(&m, m.how.len, len, out) == OK && memcmp(out, in, len) == 0;
    free(out);
  }
  free(m.p);
  return same;
}

struct stream {
  unsigned char *p;
  size_t len, cap;
};

static void add(struct stream *s, const void *p, size_t n) {
  if (s->len + n > s->cap) s->p = realloc(s->p, s->cap = 2 * (s->len + n));
  memcpy(s->p + s->len, p, n);
  s->len += n;
}

static void add_word(struct stream *s, uint32_t w) { add(s, &w, 4); }

// One item as R writes them: a scalar, a short vector, a string, a reference.
static void add_item(struct stream *s, uint32_t i) {
  const double d[4] = {i, i / 3.0, 1, 2};
  const uint32_t v[3] = {i, i * i, 7};
  switch (random_below(6)) {
    case 0: add_word(s, 13), add_word(s, 3), add(s, v, 12); break;
    case 1: add_word(s, 14), add_word(s, 2), add(s, d, 16); break;
    case 2: add_word(s, 15), add_word(s, 2), add(s, d, 32); break;
    case 3: add_word(s, 0x40009), add_word(s, i % 11), add(s, "hello world", i % 11); break;
    case 4: add_word(s, 9), add_word(s, UINT32_MAX); break;
    default: add_word(s, 0x1FF), add_word(s, 0x213), add_word(s, 2);
  }
}

static struct stream items(uint32_t n) {
  struct stream s = {0};
  for (uint32_t i = 0; i < n; i++) add_item(&s, i);
  return s;
}

static void test_round_trips(void) {
  for (uint32_t n = 0; n < 400; n++) {
    struct stream s = items(n);
    check(comes_back(s.p, s.len, s.len >= 256, "structure is told from other bytes"), "round trip", n);
    free(s.p);
  }
  struct stream s = items(20000);
  for (size_t cut = 0; cut < 100; cut++)
    check(comes_back(s.p + cut, s.len - 2 * cut, true, "cut anywhere"), "cut", cut);
  free(s.p);
}

static void test_other_bytes(void) {
  enum { LEN = 5000 };
  unsigned char *p = malloc(LEN);
  for (int round = 0; round < 200; round++) {
    for (size_t i = 0; i < LEN; i++) p[i] = (unsigned char) random_below(256);
    check(comes_back(p, LEN, false, "noise is left alone"), "noise", round);
  }
  memset(p, 'x', LEN);
  check(comes_back(p, LEN, false, "text is left alone"), "text", 0);
  free(p);
}

// Whatever a packed byte is changed to: an error or other bytes, and no step outside.
static void test_damage(void) {
  struct stream s = items(120);
  unsigned char *out = malloc(s.len);
  struct made m = encode(s.p, s.len);
  for (size_t i = 0; i < m.how.len; i++) {
    for (int bit = 0; bit < 8; bit++) {
      m.p[i] ^= (unsigned char) (1 << bit);
      const enum status st = decode(&m, m.how.len, s.len, out);
      check(st == OK || st == ERR_CORRUPT || st == ERR_VERSION, "a status", i);
      m.p[i] ^= (unsigned char) (1 << bit);
    }
  }
  for (size_t n = 0; n < m.how.len; n++) {
    struct made cut = {malloc(n ? n : 1), m.how};
    memcpy(cut.p, m.p, n);
    check(decode(&cut, n, s.len, out) == ERR_CORRUPT, "a cut block", n);
    free(cut.p);
  }
  check(decode(&m, m.how.len, s.len - 1, out) == ERR_CORRUPT, "another raw length", 0);
  m.how.filter = 2;
  check(decode(&m, m.how.len, s.len, out) == ERR_VERSION, "an unknown filter", 0);
  free(m.p);
  free(out);
  free(s.p);
}

int main(void) {
  test_round_trips();
  test_other_bytes();
  test_damage();
  return checks_end();
}
