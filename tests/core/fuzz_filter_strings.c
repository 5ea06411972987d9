// libFuzzer: strings_decode() on any bytes. The input starts with filter, parameter, u16 count and
// u16 raw_len; the rest is the packed block.
#include "check.h"
#include "filter_strings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 6) return 0;
  size_t count = (data[2] | (size_t) data[3] << 8) & 0xFFF;
  size_t raw_len = data[4] | (size_t) data[5] << 8;
  unsigned char *in = make_copy(data + 6, size - 6);
  struct string_item *items = make(count * sizeof *items);
  uint32_t *codes = make(count * sizeof *codes);
  void *scratch = make(strings_decode_scratch(count, raw_len));
  struct string_array a;
  enum status st = strings_decode(data[0] & 3, data[1], in, size - 6, count, raw_len, items, codes,
                                  scratch, &a);
  if (st == OK) {
    if (strings_stream_len(&a) != raw_len) abort();
    unsigned char *stream = make(raw_len);
    strings_to_stream(&a, stream);
    free(stream);
  }
  free(in);
  free(items);
  free(codes);
  free(scratch);
  return 0;
}
