// Tests of scan.c: the tree of small streams, every cut and every changed byte of them, deep ones.
// one thread
#include "scan.h"

#include <pthread.h>

#include "check.h"

enum { MAX_WORDS = 4096 };

// A stream is written as words; strings are of up to four characters.
struct stream {
  uint32_t words[MAX_WORDS];
  size_t n;
};

static void put(struct stream *s, uint32_t w) { s->words[s->n++] = w; }

static void put_chars(struct stream *s, const char *four) {
  uint32_t w;
  memcpy(&w, four, 4);
  put(s, 0x00040009);
  put(s, 4);
  put(s, w);
}

static void put_symbol(struct stream *s, const char *four) {
  put(s, 1);
  put_chars(s, four);
}

static void put_ints(struct stream *s, uint32_t flags, uint32_t n) {
  put(s, flags | 13);
  put(s, n);
  for (uint32_t i = 0; i < n; i++) put(s, i);
}

// list(aaaa = 1:2 (not compact), bbbb = <environment>, <the same>), the environment with `self`
static struct stream example(void) {
  struct stream s = {.n = 0};
  put(&s, 0x213);
  put(&s, 3);
  put_ints(&s, 0, 2);
  put(&s, 4), put(&s, 0), put(&s, 253);  // environment, unlocked, enclosed by global
  put(&s, 0x402), put_symbol(&s, "self"), put(&s, 0x1ff), put(&s, 254);
  put(&s, 254), put(&s, 254);  // no hash table, no attributes
  put(&s, 0x1ff);              // reference 1
  put(&s, 0x402), put(&s, 1), put(&s, 0x00040009), put(&s, 8);
  put(&s, 0), put(&s, 0);  // a name of eight characters, set below
  memcpy(&s.words[s.n - 2], "my_names", 8);
  put_ints(&s, 0, 1);
  put(&s, 254);
  return s;
}

// As example(), with names instead of `my_names`. The symbol has five characters: bytes, not words.
static size_t named_example(unsigned char *out) {
  const struct stream s = example();
  const size_t at = 4 * (s.n - 8);  // where `0x00040009, 8, my_names` begins
  memcpy(out, s.words, at);
  size_t n = at;
  const uint32_t chars[] = {0x00040009, 5};
  memcpy(out + n, chars, 8), n += 8;
  memcpy(out + n, "names", 5), n += 5;
  const uint32_t strings[] = {16, 3};
  memcpy(out + n, strings, 8), n += 8;
  static const char *names[] = {"aaaa", "bbbb", ""};
  for (int i = 0; i < 3; i++) {
    const uint32_t head[] = {0x00040009, (uint32_t) strlen(names[i])};
    memcpy(out + n, head, 8), n += 8;
    memcpy(out + n, names[i], strlen(names[i])), n += strlen(names[i]);
  }
  const uint32_t nil = 254;
  memcpy(out + n, &nil, 4);
  return n + 4;
}

static enum status run(const unsigned char *bytes, size_t n, unsigned depth, struct scan *s) {
  *s = (struct scan){0};
  return scan_run(s, bytes, n, depth);
}

static void test_tree(void) {
  const struct stream e = example();
  struct scan s;
  check(run((const unsigned char *) e.words, 4 * e.n, 2, &s) == OK, "a stream is scanned", 0);
  static const struct {
    uint32_t parent, len;
    uint8_t kind, type;
  } expected[] = {{SCAN_NO_NODE, 0, SCAN_ROOT, 19}, {0, 16, SCAN_ELEMENT, 13},
                  {0, 48, SCAN_ELEMENT, 4},         {2, 4, SCAN_ENCLOSURE, 253},
                  {2, 4, SCAN_BINDING, 255},        {0, 4, SCAN_ELEMENT, 255},
                  {0, 12, SCAN_ATTRIBUTE, 13}};
  const size_t n = sizeof(expected) / sizeof(*expected);
  check(s.n_nodes == n, "as many nodes as there are items", s.n_nodes);
  for (size_t i = 0; i < n && i < s.n_nodes; i++) {
    const struct scan_node *node = &s.nodes[i];
    check(node->parent == expected[i].parent, "a node's parent", i);
    check(node->kind == expected[i].kind && node->type == expected[i].type, "a node's kind", i);
    check(i == 0 ? node->len == 4 * e.n : node->len == expected[i].len, "a node's length", i);
  }
  check(s.nodes[4].target == 2 && s.nodes[5].target == 2, "what a reference refers to", 0);
  check(s.nodes[0].in.environments == 48, "bytes in environments", s.nodes[0].in.environments);
  scan_close(&s);
  scan_close(&s);
}

static void test_names(void) {
  unsigned char b[1024];
  const size_t n = named_example(b);
  struct scan s;
  check(run(b, n, 1, &s) == OK, "a list with names is scanned", 0);
  static const char *names[] = {"aaaa", "bbbb", ""};
  static const size_t nodes[] = {1, 2, 3};
  for (size_t i = 0; i < 3 && s.n_nodes == 5; i++) {
    uint32_t flags;
    size_t len;
    const char *p = scan_chars(&s, s.nodes[nodes[i]].name_at, &flags, &len);
    check(p && len == strlen(names[i]) && memcmp(p, names[i], len) == 0, "an element's name", i);
  }
  check(s.n_nodes == 5, "environments below the depth have no parts", s.n_nodes);
  scan_close(&s);
}

static void test_depth_does_not_matter(void) {
  const struct stream e = example();
  for (unsigned depth = 0; depth < 4; depth++) {
    struct scan s;
    check(run((const unsigned char *) e.words, 4 * e.n, depth, &s) == OK, "any depth", depth);
    check(s.nodes[0].len == 4 * e.n && s.nodes[0].in.environments == 48, "equal totals", depth);
    scan_close(&s);
  }
}

// In memory of just that size, so that ASan sees a byte read too many.
static void test_cut(void) {
  unsigned char b[1024];
  const size_t n = named_example(b);
  for (unsigned depth = 0; depth < 3; depth++) {
    for (size_t i = 0; i < n; i++) {
      unsigned char *exact = make_copy(b, i);
      struct scan s;
      check(run(exact, i, depth, &s) == ERR_CORRUPT, "a cut stream is corrupt", i);
      scan_close(&s);
      free(exact);
    }
    b[n] = 0;
    struct scan s;
    check(run(b, n + 1, depth, &s) == ERR_CORRUPT, "a stream that goes on is corrupt", depth);
    scan_close(&s);
  }
}

// Offsets that nodes give are read without a check, so they must lie in the stream.
static void read_names(const struct scan *s) {
  for (size_t i = 0; i < s->n_nodes; i++) {
    uint32_t flags;
    size_t len;
    volatile unsigned sum = 0;
    if (s->nodes[i].name_at) {
      const char *p = scan_chars(s, s->nodes[i].name_at, &flags, &len);
      for (size_t k = 0; p && k < len; k++) sum += (unsigned char) p[k];
    }
    if (!s->nodes[i].class_at) continue;
    uint64_t next, n = scan_strings(s, s->nodes[i].class_at, &next);
    for (; n; n--, next = scan_chars_end(s, next)) sum += s->base[next];
  }
}

static void test_damage(void) {
  unsigned char b[1024];
  const size_t n = named_example(b);
  for (unsigned turn = 0; turn < 200000; turn++) {
    unsigned char *exact = make_copy(b, n);
    for (unsigned k = random_below(4) + 1; k; k--)
      exact[random_below((uint32_t) n)] =
          (unsigned char) (random_below(2) ? random_u32() : random_below(26));
    struct scan s;
    const enum status st = run(exact, n, random_below(4), &s);
    if (st == OK) read_names(&s);
    if (st != OK && st != ERR_CORRUPT) check(false, "damage is corruption or another stream", turn);
    scan_close(&s);
    free(exact);
  }
  check(true, "damaged streams end", 0);
}

// Lists in lists take no stack.
static void test_deep_lists(void) {
  const size_t levels = 1000000;
  uint32_t *w = make(4 * (2 * levels + 1));
  for (size_t i = 0; i < levels; i++) w[2 * i] = 19, w[2 * i + 1] = 1;
  w[2 * levels] = 254;
  struct scan s;
  check(run((unsigned char *) w, 4 * (2 * levels + 1), 3, &s) == OK, "a million lists", 0);
  check(s.n_nodes == 4, "those of the first levels are listed", s.n_nodes);
  scan_close(&s);
  free(w);
}

// Environments in environments do, up to a limit.
static void *test_deep_environments(void *unused) {
  for (size_t n = 10000; n <= 1000000; n *= 100) {
    uint32_t *w = make(4 * (5 * n + 1));
    for (size_t i = 0; i < n; i++) w[2 * i] = 4, w[2 * i + 1] = 0;
    for (size_t i = 2 * n; i < 5 * n + 1; i++) w[i] = 254;
    w[2 * n] = 253;
    struct scan s;
    const enum status st = run((unsigned char *) w, 4 * (5 * n + 1), 3, &s);
    check(st == (n == 10000 ? OK : ERR_DEPTH), "a chain of environments", n);
    scan_close(&s);
    free(w);
  }
  return unused;
}

// ASan's frames are several times as large, so this takes a stack of its own.
static void with_large_stack(void *run(void *)) {
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 256 << 20);
  if (pthread_create(&thread, &attr, run, NULL)) abort();
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

int main(void) {
  test_tree();
  test_names();
  test_depth_does_not_matter();
  test_cut();
  test_damage();
  test_deep_lists();
  with_large_stack(test_deep_environments);
  return checks_end();
}
