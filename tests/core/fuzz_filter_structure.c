// libFuzzer: structure_decode() on any bytes. The input starts with filter and u16 raw_len; the rest
// is the packed block. What it encodes must come back, too.
#include "check.h"
#include "filter_structure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const uint8_t *data, size_t size) {
  unsigned char *packed = make(structure_bound(size)), *out = make(size);
  void *scratch = make(structure_scratch(size));
  struct packed how;
  structure_encode(data, size, packed, scratch, &how);
  if (how.filter != FILTER_NONE &&
      (structure_decode(how.filter, how.param, packed, how.len, size, out, scratch) != OK ||
       !same_bytes(out, data, size)))
    abort();
  free(packed);
  free(out);
  free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  there_and_back(data, size);
  if (size < 3) return 0;
  const size_t raw_len = data[1] | (size_t) data[2] << 8;
  unsigned char *in = make_copy(data + 3, size - 3), *out = make(raw_len);
  void *scratch = make(structure_scratch(raw_len));
  structure_decode(1 + data[0] % 2, 0, in, size - 3, raw_len, out, scratch);
  free(in);
  free(out);
  free(scratch);
  return 0;
}
