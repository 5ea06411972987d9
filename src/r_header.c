#include "r_header.h"

#include <R.h>
#include <Rinternals.h>
#include <string.h>

static void take_bytes(R_outpstream_t stream, void *p, int n) {
  struct header *h = stream->data;
  const size_t len = (size_t) n;
  if (len > HEADER_MAX - h->len) Rf_error("internal error: the header is too long");
  memcpy(h->bytes + h->len, p, len);
  h->len += len;
}

static void take_char(R_outpstream_t stream, int c) {
  (void) stream;
  (void) c;
  Rf_error("internal error: the binary format wrote a character");
}

void header_get(struct header *h) {
  struct R_outpstream_st out;
  h->len = 0;
  R_InitOutPStream(&out, (R_pstream_data_t) h, R_pstream_binary_format, 3, take_char, take_bytes,
                   NULL, R_NilValue);
  R_Serialize(R_NilValue, &out);
  h->len -= 4;  // NULL itself
}
