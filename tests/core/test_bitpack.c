// bitpack and planes: every width and length against a bit-by-bit reading, in exact buffers at
// odd addresses.
// one thread
#include "bitpack.h"
#include "planes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what, unsigned width, size_t n) {
  ok ? passed++ : failed++;
  if (!ok) printf("FAILED: %s, width %u, n %zu\n", what, width, n);
}

static uint64_t state = 1;

static uint64_t next_random(void) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return state ^ state >> 29;
}

// n bytes that end where the allocation does; `start` is what to free.
struct exact {
  unsigned char *start, *p;
};

static struct exact exact_new(size_t n) {
  struct exact e = {malloc(n + 1), NULL};
  if (!e.start) abort();
  e.p = e.start + 1;
  memset(e.start, 0xA5, n + 1);
  return e;
}

static uint64_t get(const struct exact *e, size_t i, size_t size) {
  uint64_t wide;
  uint32_t narrow;
  if (size == 8) return memcpy(&wide, e->p + 8 * i, 8), wide;
  return memcpy(&narrow, e->p + 4 * i, 4), narrow;
}

static void put(struct exact *e, size_t i, size_t size, uint64_t v) {
  const uint32_t narrow = (uint32_t) v;
  memcpy(e->p + i * size, size == 8 ? (void *) &v : (void *) &narrow, size);
}

static uint64_t low_bits(unsigned n) { return n ? UINT64_MAX >> (64 - n) : 0; }

static uint64_t read_field(const unsigned char *p, size_t i, unsigned width) {
  uint64_t v = 0;
  for (unsigned b = 0; b < width; b++) {
    const size_t bit = i * width + b;
    v |= (uint64_t) (p[bit / 8] >> bit % 8 & 1) << b;
  }
  return v;
}

static struct exact random_values(size_t n, size_t size, unsigned width, uint64_t bias) {
  struct exact e = exact_new(n * size);
  for (size_t i = 0; i < n; i++) put(&e, i, size, bias + (next_random() & low_bits(width)));
  return e;
}

static void test_fields(size_t size, unsigned width, size_t n, uint64_t bias) {
  struct exact values = random_values(n, size, width, bias), back = exact_new(n * size);
  struct exact packed = exact_new(bitpack_len(n, width));
  if (size == 4) {
    bitpack32(values.p, n, width, (uint32_t) bias, packed.p);
    bitunpack32(packed.p, n, width, (uint32_t) bias, back.p);
  } else {
    bitpack64(values.p, n, width, bias, packed.p);
    bitunpack64(packed.p, n, width, bias, back.p);
  }
  bool fields = true;
  for (size_t i = 0; i < n; i++)
    fields &= read_field(packed.p, i, width) == ((get(&values, i, size) - bias) & low_bits(width));
  check(fields, "fields", width, n);
  check(memcmp(values.p, back.p, n * size) == 0, "values come back", width, n);
  if (n * width % 8 != 0)
    check(packed.p[bitpack_len(n, width) - 1] >> n * width % 8 == 0, "unused bits are 0", width, n);
  free(values.start);
  free(back.start);
  free(packed.start);
}

static void test_planes(size_t size, unsigned planes, size_t n, uint64_t bias) {
  struct exact values = random_values(n, size, 8 * planes, bias), back = exact_new(n * size);
  struct exact split = exact_new(n * planes);
  planes_split(values.p, n, size, planes, bias, split.p, n);
  planes_join(split.p, n, planes, n, size, bias, back.p);
  bool bytes = true;
  for (size_t i = 0; i < n; i++)
    for (unsigned b = 0; b < planes; b++)
      bytes &= split.p[b * n + i] == ((get(&values, i, size) - bias) >> 8 * b & 255);
  check(bytes, "planes", planes, n);
  check(memcmp(values.p, back.p, n * size) == 0, "numbers come back", planes, n);
  free(values.start);
  free(back.start);
  free(split.start);
}

int main(void) {
  static const size_t large[] = {1023, 65535, 65536, 65537};
  for (size_t size = 4; size <= 8; size += 4) {
    for (unsigned width = 0; width <= 8 * size; width++) {
      for (size_t n = 0; n <= 300; n++) test_fields(size, width, n, next_random());
      for (size_t j = 0; j < sizeof large / sizeof *large; j++)
        test_fields(size, width, large[j], next_random());
    }
    for (unsigned planes = 1; planes <= size; planes++)
      for (size_t n = 0; n <= 100; n++) test_planes(size, planes, n, next_random());
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
