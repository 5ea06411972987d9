// libFuzzer: index_decode() on any bytes. What it takes must hold, and be the same when it is
// encoded and decoded again. The input starts with a byte that says how, and where the blocks end
// in the file (u64, below FILE_MOST) and in the stream (u64).
#include "indexes.h"
#include "seeds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  HEAD = 16,
  FILE_MOST = 1 << 26,
  SMALL = 1 << 10,  // the largest raw block, as `how` says
  LARGE = 1 << 20
};

static uint32_t max_raw_of(unsigned how) { return how & 1 ? SMALL : LARGE; }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *folder = seeds_folder(*argc, *argv);
  for (unsigned i = 0; folder && i < 40; i++) {
    struct sample s = sample_of(i % 8 * (i % 8), (int) (i % 7 * 5) - 1, i % 3, max_raw_of(i));
    struct buffer out = {0};
    struct error e = {0};
    size_t len;
    need(index_encode(&s.x, &out, &len, &e) == OK);
    struct bytes input = {make(HEAD + len), HEAD + len};
    store_u64(input.p, s.end_at);
    store_u64(input.p + 8, s.stream_len);
    memcpy(input.p + HEAD, out.p, len);
    seed_write(folder, i, (int) i, &input);
    bytes_free(&input);
    buffer_close(&out);
    index_close(&s.x);
  }
  return 0;
}

static enum status decode(struct sample *s, const unsigned char *p, size_t n, uint32_t max_raw) {
  static const struct index nothing;
  struct error e = {0};
  unsigned char *exact = make_copy(p, n);
  const enum status st = index_decode(&s->x, exact, n, s->end_at, s->stream_len, max_raw, &e);
  need(st == e.code && (st == OK || st == ERR_CORRUPT));
  need(st == OK || memcmp(&s->x, &nothing, sizeof(nothing)) == 0);
  need(st != OK || sample_holds(s, max_raw));
  free(exact);
  return st;
}

static void find_all(const struct index *x, uint64_t stream_len) {
  for (size_t i = 0; i < x->n_blocks; i++) {
    const struct index_block *b = index_block(x, i);
    if (b->raw_len) need(index_find(x, b->stream_at) == i);
  }
  if (stream_len) need(index_find(x, stream_len - 1) < x->n_blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 + HEAD) return 0;
  const uint32_t max_raw = max_raw_of(data[0]);
  struct sample s = {{0}, load_u64(data + 1) % FILE_MOST, load_u64(data + 9)}, again = s;
  if (decode(&s, data + 1 + HEAD, size - 1 - HEAD, max_raw)) return 0;
  find_all(&s.x, s.stream_len);
  struct buffer out = {0};
  struct error e = {0};
  size_t len;
  need(index_encode(&s.x, &out, &len, &e) == OK);
  need(decode(&again, out.p, len, max_raw) == OK && same_index(&s.x, &again.x));
  buffer_close(&out);
  index_close(&s.x);
  index_close(&again.x);
  return 0;
}
