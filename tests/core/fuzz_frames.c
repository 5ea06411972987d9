// libFuzzer: qs_decompress()'s part of the core on any bytes, both ways; what decodes both ways is
// the same. At most 16 MiB are decoded.
#include "check.h"
#include "frames.h"

enum { MOST = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *side_by_side(const struct frames *f, enum status *st) {
  unsigned char *out = make((size_t) f->content);
  struct unpacker u;
  *st = unpacker_open(&u, f, 1, out);
  while (*st == OK && (*st = unpacker_run(&u)) == AGAIN) *st = OK;
  unpacker_close(&u);
  return out;
}

static enum status piecewise(const struct frames *f, struct sink *sink) {
  struct unstream s;
  sink_memory(sink);
  enum status st = unstream_open(&s, f, sink, MOST);
  if (st == OK)
    while ((st = unstream_run(&s)) == AGAIN) {}
  unstream_close(&s);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned char *in = make_copy(data, size);
  struct frames f;
  struct error e = {0};
  if (frames_scan(&f, in, size, &e) == OK) {
    struct sink sink;
    const enum status st = piecewise(&f, &sink);
    if (frames_fit(&f) && f.content <= MOST) {
      enum status direct;
      unsigned char *out = side_by_side(&f, &direct);
      if (direct == OK && st == OK) {
        if (sink.memory.len != f.content) abort();
        unsigned char *other = make(sink.memory.len);
        sink_move(&sink, other);
        if (!same_bytes(out, other, (size_t) f.content)) abort();
        free(other);
      }
      free(out);
    }
    sink_close(&sink);
  }
  frames_close(&f);
  free(in);
  return 0;
}
