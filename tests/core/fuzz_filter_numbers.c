// libFuzzer: numbers_decode() on any bytes, and numbers_encode() on the same bytes as elements.
// The input starts with filter, parameter, type and u16 count; the rest is the packed block.
#include "filter_numbers.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *make(size_t n) {
  void *p = malloc(n ? n : 1);
  if (!p) abort();
  return p;
}

static void decode_any(const uint8_t *data, size_t size) {
  const enum number_type type = data[2] % 3;
  const size_t count = (data[3] | (size_t) data[4] << 8) & 0x1FFF, len = size - HEAD;
  unsigned char *in = make(len), *out = make(count * number_size(type));
  void *scratch = make(numbers_scratch(type, count));
  memcpy(in, data + HEAD, len);
  const struct window w = {data[2] * count / 600, data[2] * count / 255};
  numbers_decode_part(data[0], data[1], type, in, len, count, w, out, scratch);
  numbers_decode(data[0], data[1], type, in, len, count, out, scratch);
  free(in);
  free(out);
  free(scratch);
}

static void round_trip(const uint8_t *data, size_t size) {
  const enum number_type type = data[2] % 3;
  const size_t count = (size - HEAD) / number_size(type), raw_len = count * number_size(type);
  unsigned char *in = make(raw_len), *back = make(raw_len);
  unsigned char *out = make(numbers_bound(type, count));
  void *scratch = make(numbers_scratch(type, count));
  struct packed p;
  memcpy(in, data + HEAD, raw_len);
  numbers_encode(type, in, count, out, scratch, &p);
  if (p.filter != FILTER_NONE) {
    unsigned char *exact = make(p.len);
    memcpy(exact, out, p.len);
    if (numbers_decode(p.filter, p.param, type, exact, p.len, count, back, scratch)) abort();
    if (memcmp(in, back, raw_len) != 0) abort();
    free(exact);
  }
  free(in);
  free(back);
  free(out);
  free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < HEAD) return 0;
  decode_any(data, size);
  round_trip(data, size);
  return 0;
}
