// Tests of strings.c: a batch holds what was added, in order, each distinct string once.
// one thread
#include "strings.h"

#include "check.h"

// What a batch should hold, kept beside it.
struct model {
  struct string_item items[BATCH_MAX_STRINGS];
  size_t n;
};

static struct string_item item_of(uint32_t i) {
  static char chars[1 << 16];
  return (struct string_item){chars + i % sizeof(chars), (int32_t) (i % 50) - 1, i << 8 | 9};
}

static void add(struct string_batch *b, struct string_table *t, struct model *m, uintptr_t key,
                uint32_t which) {
  const struct string_item item = item_of(which);
  const int64_t code = string_batch_find(b, t, key);
  if (code >= 0)
    string_batch_repeat(b, (uint32_t) code);
  else
    check(string_batch_add(b, t, key, item), "there is memory", which);
  m->items[m->n++] = item;
}

static void check_batch(const struct string_batch *b, const struct model *m, const char *what) {
  const struct string_array a = string_batch_array(b);
  size_t stream_len = 0;
  bool same = a.n == m->n;
  for (size_t i = 0; same && i < a.n; i++) {
    const size_t code = a.codes ? a.codes[i] : i;
    same = code < a.n_items && memcmp(&a.items[code], &m->items[i], sizeof(*a.items)) == 0;
    stream_len += 8 + (m->items[i].len > 0 ? (size_t) m->items[i].len : 0);
  }
  check(same, what, m->n);
  check(!same || stream_len == b->stream_len, "the stream's length is counted", stream_len);
  check(!same || strings_stream_len(&a) == b->stream_len, "as filter_strings counts it",
        stream_len);
  check(a.codes || a.n_items == a.n, "without codes one item a string", a.n);
}

static struct model model;

static void one_batch(struct string_batch *b, struct string_table *t, size_t n, uint32_t distinct) {
  model.n = 0;
  check(string_batch_start(b, t), "a batch starts", n);
  for (size_t i = 0; i < n && !string_batch_is_full(b); i++) {
    const uint32_t which = distinct < n ? random_below(distinct) : (uint32_t) i;
    add(b, t, &model, 64 * (uintptr_t) which + 8, which);
  }
  check_batch(b, &model, "a batch holds what was added");
  if (distinct >= n) check(b->plain == (n > 1024), "codes go when they do not pay", n);
  if (distinct < 400) check(!b->plain, "codes stay while they pay", n);
}

static void test_batches(void) {
  struct string_table t = {0};
  struct string_batch b = {0};
  static const size_t counts[] = {0,   1,    2,    255,  256,  257,  511,  512,
                                  513, 1023, 1024, 1025, 1026, 5000, 20000};
  for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
    if (counts[i] > 1) one_batch(&b, &t, counts[i], UINT32_MAX);
    one_batch(&b, &t, counts[i], 1);
    one_batch(&b, &t, counts[i], (uint32_t) counts[i] / 64 + 1);
    one_batch(&b, &t, counts[i], (uint32_t) counts[i] / 8 + 1);
  }
  string_batch_close(&b);
  string_batch_close(&b);
  string_table_close(&t);
  string_table_close(&t);
}

// Repeats first and distinct strings later: the change to a plain batch comes in its middle.
static void test_change(void) {
  struct string_table t = {0};
  struct string_batch b = {0};
  for (size_t repeats = 0; repeats < 3000; repeats += 250) {
    model.n = 0;
    string_batch_start(&b, &t);
    for (size_t i = 0; i < repeats; i++) add(&b, &t, &model, 16, 3);
    for (uint32_t i = 0; i < 9000; i++) add(&b, &t, &model, 64 * (uintptr_t) i + 8, i);
    for (uint32_t i = 0; i < 100; i++) add(&b, &t, &model, 64 * (uintptr_t) i + 8, i);
    check(b.plain, "it became plain", repeats);
    check_batch(&b, &model, "a batch that became plain");
  }
  string_batch_close(&b);
  string_table_close(&t);
}

static void test_full(void) {
  struct string_table t = {0};
  struct string_batch b = {0};
  string_batch_start(&b, &t);
  const struct string_item empty = {NULL, -1, 9};
  string_batch_add(&b, &t, 8, empty);
  while (!string_batch_is_full(&b)) string_batch_repeat(&b, 0);
  check(b.n == BATCH_MAX_STRINGS && b.stream_len <= BATCH_MAX_STREAM, "full by number", b.n);

  static char chars[BATCH_MAX_CHARS];
  string_batch_start(&b, &t);
  const struct string_item longest = {chars, BATCH_MAX_CHARS, 0x40009};
  string_batch_add(&b, &t, 8, longest);
  while (!string_batch_is_full(&b)) string_batch_repeat(&b, 0);
  check(b.stream_len <= BATCH_MAX_STREAM && b.stream_len > BATCH_MAX_STREAM / 2, "full by length",
        b.stream_len);
  string_batch_close(&b);
  string_table_close(&t);
}

// Keys that all fall on one place, and the number of batches wrapping around.
static void test_table(void) {
  struct string_table t = {0};
  struct string_batch b = {0};
  model.n = 0;
  string_batch_start(&b, &t);
  for (uint32_t i = 0; i < 500; i++) add(&b, &t, &model, (uintptr_t) i << 48 | 8, i);
  for (uint32_t i = 0; i < 500; i++) add(&b, &t, &model, (uintptr_t) i << 48 | 8, i);
  check_batch(&b, &model, "keys that collide");
  check(b.n_items == 500, "each once", b.n_items);
  for (uint32_t n = 0; n < 4; n++) {
    if (n == 1) t.batch = UINT32_MAX - 1;
    model.n = 0;
    string_batch_start(&b, &t);
    check(t.batch != 0 && string_batch_find(&b, &t, 8) < 0, "a new batch knows no key", t.batch);
    for (uint32_t i = 0; i < 1000; i++) add(&b, &t, &model, 64 * (uintptr_t) i / 2 + 8, i / 2);
    check_batch(&b, &model, "batch after batch");
  }
  string_batch_close(&b);
  string_table_close(&t);
}

int main(void) {
  test_batches();
  test_change();
  test_full();
  test_table();
  return checks_end();
}
