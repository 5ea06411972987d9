// The floor under calc_size(): R's own traversal of an object, with callbacks that only count.
#include <Rinternals.h>

static void count_char(R_outpstream_t stream, int c) {
  (void)c;
  *(double *)stream->data += 1;
}

static void count_bytes(R_outpstream_t stream, void *bytes, int n) {
  (void)bytes;
  *(double *)stream->data += n;
}

SEXP empty_serialize(SEXP object) {
  double total = 0;
  struct R_outpstream_st stream;
  R_InitOutPStream(&stream, (R_pstream_data_t)&total, R_pstream_binary_format, 3, count_char,
                   count_bytes, NULL, R_NilValue);
  R_Serialize(object, &stream);
  return ScalarReal(total);
}
