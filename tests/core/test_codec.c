// Tests of codec.c: every codec and level there and back, and input that was tampered with.
// one thread
#include "codec.h"

#include "check.h"

enum content { ZEROS, TEXT, NOISE };

static unsigned char *content_of(enum content kind, size_t n) {
  unsigned char *p = make(n);
  for (size_t i = 0; i < n; i++)
    p[i] = (unsigned char) (kind == ZEROS  ? 0
                            : kind == TEXT ? 'a' + random_below(5)
                                           : random_u32());
  return p;
}

// Compresses into exactly the room the header promises is enough; NULL if it does not shrink.
static unsigned char *compressed(struct codec_state *s, enum codec c, int level, const void *in,
                                 size_t n, size_t *len) {
  struct error e = {0};
  unsigned char *out = make(n);
  check(codec_compress(s, c, level, in, n, out, len, &e) == OK && e.code == OK, "compresses", n);
  check(*len == 0 || *len < n, "shorter or nothing", *len);
  if (*len) {
    unsigned char *exact = make_copy(out, *len);
    free(out);
    return exact;
  }
  free(out);
  return NULL;
}

static enum status decompress(struct codec_state *s, enum codec c, const void *in, size_t n,
                              void *out, size_t out_len) {
  struct error e = {0};
  const enum status st = codec_decompress(s, c, in, n, out, out_len, &e);
  check(st == e.code, "the error says what the status says", st);
  return st;
}

static void round_trip(struct codec_state *s, enum codec c, int level, enum content kind,
                       size_t n) {
  unsigned char *in = content_of(kind, n), *back = make(n);
  size_t len;
  unsigned char *out = compressed(s, c, level, in, n, &len);
  if (kind == NOISE || n < 2 || c == CODEC_STORED) check(!out, "what cannot shrink is left", n);
  if (kind != NOISE && n >= 1000 && c != CODEC_STORED) check(out, "what can shrink does", n);
  if (out) {
    check(decompress(s, c, out, len, back, n) == OK && same_bytes(in, back, n), "round trip", n);
    size_t len2;
    unsigned char *again = compressed(s, c, level, in, n, &len2);
    check(again && len2 == len && same_bytes(out, again, len), "the same bytes again", n);
    free(again);
  }
  free(out);
  free(in);
  free(back);
}

static void test_round_trips(enum codec c) {
  static const size_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 1000, 65535, 65536, 1 << 19};
  static const int levels[] = {-5, 1, 2, 3, 9, 12, 19};
  struct codec_state s = {0};
  for (size_t l = 0; l < sizeof(levels) / sizeof(*levels); l++) {
    if (levels[l] < codec_level_min(c) || levels[l] > codec_level_max(c)) continue;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
      if (levels[l] > 9 && sizes[i] > 70000) continue;
      for (enum content kind = ZEROS; kind <= NOISE; kind++)
        round_trip(&s, c, levels[l], kind, sizes[i]);
    }
  }
  codec_close(&s);
  codec_close(&s);
}

static void test_levels(void) {
  check(codec_level_min(CODEC_LZ4) == 1 && codec_level_max(CODEC_LZ4) == 12, "lz4's levels", 0);
  check(codec_level_min(CODEC_ZSTD) < 0 && codec_level_max(CODEC_ZSTD) >= 22, "zstd's levels", 0);
  check(codec_level_min(CODEC_STORED) <= 1 && codec_level_max(CODEC_STORED) >= 22, "stored", 0);
}

// Whatever the bytes are: a known status, and nothing written past out_len (ASan looks).
static void test_tampered(enum codec c) {
  enum { N = 3000 };
  struct codec_state s = {0};
  unsigned char *in = content_of(TEXT, N), *back = make(N);
  size_t len;
  unsigned char *out = compressed(&s, c, 1, in, N, &len);
  check(decompress(&s, c, out, len, back, N - 1) == ERR_CORRUPT, "one byte too many", c);
  unsigned char *larger = make(N + 1);
  check(decompress(&s, c, out, len, larger, N + 1) == ERR_CORRUPT, "one byte too few", c);
  free(larger);
  for (size_t n = 0; n < len; n += n < 40 || n + 40 > len ? 1 : 17) {
    unsigned char *cut = make_copy(out, n);
    check(decompress(&s, c, cut, n, back, N) == ERR_CORRUPT, "cut", n);
    free(cut);
  }
  for (int round = 0; round < 2000; round++) {
    unsigned char *bad = make_copy(out, len);
    for (int k = 0; k < 3; k++) bad[random_below((uint32_t) len)] ^= (unsigned char) random_u32();
    const enum status st = decompress(&s, c, bad, len, back, N);
    check(st == OK || st == ERR_CORRUPT, "tampered", st);
    free(bad);
  }
  check(decompress(&s, c, out, len, back, N) == OK && same_bytes(in, back, N),
        "the state is good after failures", c);
  free(out);
  free(in);
  free(back);
  codec_close(&s);
}

static void test_lengths(void) {
  struct codec_state s = {0};
  unsigned char in[16] = {0}, out[16];
  for (enum codec c = CODEC_STORED; c <= CODEC_ZSTD; c++) {
    check(decompress(&s, c, in, 0, out, 16) == ERR_CORRUPT, "nothing gives nothing", c);
    check(decompress(&s, c, in, 16, out, 0) == ERR_CORRUPT, "something gives something", c);
  }
  check(decompress(&s, CODEC_STORED, NULL, 0, NULL, 0) == OK, "stored nothing", 0);
  for (unsigned c = 3; c < 256; c++)
    check(decompress(&s, (enum codec) c, in, 16, out, 16) == ERR_VERSION, "an unknown codec", c);
  check(decompress(&s, CODEC_LZ4, in, (size_t) 1 << 32, out, 16) == ERR_CORRUPT, "over 2 GiB", 0);
  codec_close(&s);
}

int main(void) {
  test_levels();
  test_round_trips(CODEC_STORED);
  test_round_trips(CODEC_LZ4);
  test_round_trips(CODEC_ZSTD);
  test_tampered(CODEC_LZ4);
  test_tampered(CODEC_ZSTD);
  test_lengths();
  return checks_end();
}
