// Tests of frames.c: frames there and back, those that others make, and input that is none.
// link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
#include "frames.h"

#include <lz4frame.h>
#include <zstd.h>

#include "check.h"
#include "memory.h"

enum content { ZEROS, TEXT, NOISE };

struct bytes {
  unsigned char *p;
  size_t n;
};

static struct bytes content_of(enum content kind, size_t n) {
  static const unsigned char text[] = "riffle of bytes ";
  struct bytes b = {make(n), n};
  for (size_t i = 0; i < n; i++) {
    const uint32_t random = random_u32();
    b.p[i] = kind == ZEROS ? 0 : kind == TEXT ? text[random % 16] : (unsigned char) random;
  }
  return b;
}

static struct bytes take(struct sink *sink) {
  memory_fail(0, false);  // the test's own memory is there
  struct bytes b = {make(sink->memory.len), sink->memory.len};
  sink_move(sink, b.p);
  return b;
}

// ---- the functions, in one call each ------------------------------------------------------

static enum status pack(struct bytes in, enum codec codec, int level, unsigned n_threads,
                        struct bytes *out) {
  struct sink sink;
  struct packer p;
  sink_memory(&sink);
  enum status st = packer_open(&p, &sink, codec, level, n_threads, in.p, in.n);
  while (st == OK && (st = packer_run(&p)) == AGAIN) st = OK;
  const enum status noted = p.err.code;
  check(st == noted, "the error says what the status says", noted);
  packer_close(&p);
  packer_close(&p);
  *out = st ? (struct bytes){0} : take(&sink);
  sink_close(&sink);
  return st;
}

static struct bytes packed(struct bytes in, enum codec codec, int level) {
  struct bytes out;
  check(pack(in, codec, level, 1, &out) == OK, "compresses", in.n);
  return out;
}

static enum status unpack(const struct frames *f, unsigned n_threads, struct bytes *out) {
  struct unpacker u;
  *out = (struct bytes){malloc((size_t) f->content + 1), (size_t) f->content};
  if (!out->p) return ERR_NOMEM;
  enum status st = unpacker_open(&u, f, n_threads, out->p);
  while (st == OK && (st = unpacker_run(&u)) == AGAIN) st = OK;
  unpacker_close(&u);
  unpacker_close(&u);
  return st;
}

static enum status unstream(const struct frames *f, uint64_t max, struct bytes *out) {
  struct sink sink;
  struct unstream s;
  sink_memory(&sink);
  enum status st = unstream_open(&s, f, &sink, max);
  while (st == OK && (st = unstream_run(&s)) == AGAIN) st = OK;
  if (st == OK)
    while ((st = unstream_run(&s)) == AGAIN) {}
  unstream_close(&s);
  unstream_close(&s);
  *out = st ? (struct bytes){0} : take(&sink);
  sink_close(&sink);
  return st;
}

// As qs_decompress() does it. The result is exactly as long as its memory, for ASan.
static enum status decode(struct bytes in, unsigned n_threads, struct bytes *out) {
  struct frames f;
  struct error e = {0};
  *out = (struct bytes){0};
  enum status st = frames_scan(&f, in.p, in.n, &e);
  check(st == e.code, "the error says what the status says", st);
  if (st == OK) st = frames_fit(&f) ? unpack(&f, n_threads, out) : unstream(&f, UINT64_MAX, out);
  frames_close(&f);
  return st;
}

static bool same(struct bytes a, struct bytes b) { return a.n == b.n && same_bytes(a.p, b.p, a.n); }

static struct bytes joined(struct bytes a, struct bytes b) {
  struct bytes both = {make(a.n + b.n), a.n + b.n};
  if (a.n) memcpy(both.p, a.p, a.n);
  if (b.n) memcpy(both.p + a.n, b.p, b.n);
  return both;
}

// ---- there and back -----------------------------------------------------------------------

static void round_trip(enum codec codec, int level, enum content kind, size_t n) {
  struct bytes in = content_of(kind, n), one, three, back;
  check(pack(in, codec, level, 1, &one) == OK, "compresses", n);
  check(pack(in, codec, level, 3, &three) == OK && same(one, three), "threads do not matter", n);
  struct frames f;
  struct error e = {0};
  check(frames_scan(&f, one.p, one.n, &e) == OK, "is frames", n);
  const size_t len = pack_frame_len(codec, level);
  check(f.n == (n ? (n + len - 1) / len : 1), "as many frames as there should be", f.n);
  check(f.known && f.content == n, "they tell their size", f.content);
  check(unpack(&f, 3, &back) == OK && same(in, back), "side by side", n);
  free(back.p);
  check(unpack(&f, 1, &back) == OK && same(in, back), "one thread", n);
  free(back.p);
  check(unstream(&f, n, &back) == OK && same(in, back), "piece by piece", n);
  free(back.p);
  if (n > 0) check(unstream(&f, n - 1, &back) == ERR_LIMIT, "more than is allowed", n);
  frames_close(&f);
  check(decode(one, 2, &back) == OK && same(in, back), "there and back", n);
  free(back.p);
  free(in.p);
  free(one.p);
  free(three.p);
}

static void test_round_trips(void) {
  static const size_t sizes[] = {
      0, 1, 2, 100, 65536, (1 << 20) + 1, (1 << 22) - 1, 1 << 22, (1 << 22) + 1, 13000000};
  for (enum codec codec = CODEC_LZ4; codec <= CODEC_ZSTD; codec++)
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
      for (enum content kind = ZEROS; kind <= NOISE; kind++)
        if (!UNDER_TSAN || sizes[i] > 1 << 20) round_trip(codec, 1, kind, sizes[i]);
  if (UNDER_TSAN) return;
  static const int levels[] = {-5, 2, 3, 9, 10, 12, 19, 22};
  for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
    round_trip(CODEC_ZSTD, levels[i], TEXT, 70000);
    if (levels[i] > 0 && levels[i] < 13) round_trip(CODEC_LZ4, levels[i], TEXT, 70000);
  }
  round_trip(CODEC_ZSTD, 10, ZEROS, 13000000);
}

// ---- frames that others make --------------------------------------------------------------

static struct bytes zstd_of_unknown_size(struct bytes in) {
  ZSTD_CCtx *c = ZSTD_createCCtx();
  struct bytes out = {make(ZSTD_compressBound(in.n) + 100), 0};
  ZSTD_outBuffer o = {out.p, ZSTD_compressBound(in.n) + 100, 0};
  const size_t half = in.n / 2;
  ZSTD_inBuffer first = {in.p, half, 0}, rest = {in.p, in.n, half};
  ZSTD_compressStream2(c, &o, &first, ZSTD_e_flush);
  check(ZSTD_compressStream2(c, &o, &rest, ZSTD_e_end) == 0, "made", in.n);
  ZSTD_freeCCtx(c);
  out.n = o.pos;
  return out;
}

static struct bytes lz4_of_unknown_size(struct bytes in, bool block_checksums) {
  LZ4F_preferences_t prefs = {
      .frameInfo = {.blockSizeID = LZ4F_max64KB,
                    .blockChecksumFlag = block_checksums ? LZ4F_blockChecksumEnabled : 0,
                    .blockMode = block_checksums ? LZ4F_blockIndependent : LZ4F_blockLinked}};
  struct bytes out = {make(LZ4F_compressFrameBound(in.n, &prefs)), 0};
  out.n = LZ4F_compressFrame(out.p, LZ4F_compressFrameBound(in.n, &prefs), in.p, in.n, &prefs);
  check(!LZ4F_isError(out.n), "made", in.n);
  return out;
}

static struct bytes skippable(unsigned kind, uint32_t n) {
  struct bytes b = {make(8 + n), 8 + n};
  const uint32_t head[2] = {0x184D2A50 + kind, n};
  memset(b.p, 0xAA, b.n);
  memcpy(b.p, head, 8);
  return b;
}

static void decodes_to(struct bytes in, struct bytes expected, const char *what) {
  struct bytes back;
  for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
    check(decode(in, n_threads, &back) == OK && same(expected, back), what, in.n);
    free(back.p);
  }
}

static void test_foreign(size_t n) {
  struct bytes text = content_of(TEXT, n), nothing = {make(0), 0};
  struct bytes all = nothing, content = nothing;
  struct bytes parts[] = {zstd_of_unknown_size(text),
                          skippable(0, 5),
                          lz4_of_unknown_size(text, false),
                          packed(text, CODEC_ZSTD, 1),
                          lz4_of_unknown_size(text, true),
                          packed(text, CODEC_LZ4, 1),
                          skippable(15, 0)};
  for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
    const bool holds = parts[i].p[1] != 0x2A;
    decodes_to(parts[i], holds ? text : nothing, "alone");
    const struct bytes more = joined(all, parts[i]);
    if (holds) {
      const struct bytes content_more = joined(content, text);
      if (content.p != nothing.p) free(content.p);
      content = content_more;
    }
    if (all.p != nothing.p) free(all.p);
    all = more;
    decodes_to(all, content, "in sequence");
    free(parts[i].p);
  }
  free(all.p);
  free(content.p);
  free(text.p);
  free(nothing.p);
}

// ---- input that is none -------------------------------------------------------------------

static bool is_bad_input(enum status st) {
  return st == ERR_CORRUPT || st == ERR_TRUNCATED || st == ERR_FORMAT;
}

static enum status outcome(struct bytes in, struct bytes expected) {
  struct bytes exact = {make_copy(in.p, in.n), in.n}, back;
  const enum status st = decode(exact, 1, &back);
  if (st == OK) check(same(back, expected), "an error or the same bytes", in.n);
  free(back.p);
  free(exact.p);
  return st;
}

static void test_damaged(struct bytes z, struct bytes text, const char *what) {
  for (size_t n = 0; n < z.n; n++) {
    const enum status st = outcome((struct bytes){z.p, n}, text);
    check(st == ERR_TRUNCATED, what, n);
  }
  size_t n_bad = 0;
  for (size_t i = 0; i < z.n; i++)
    for (int bit = 0; bit < 8; bit++) {
      z.p[i] ^= (unsigned char) (1 << bit);
      const enum status st = outcome(z, text);
      check(st == OK || is_bad_input(st), what, st);
      n_bad += st != OK;
      z.p[i] ^= (unsigned char) (1 << bit);
    }
  // what may differ without harm: the window's size, bits that nobody looks at
  check(n_bad >= 8 * z.n - 64, what, 8 * z.n - n_bad);
  struct bytes tail = {(unsigned char *) "tail", 4}, more = joined(z, tail);
  check(outcome(more, text) == ERR_CORRUPT, "something else behind", 0);
  more.n -= 3;
  check(outcome(more, text) == ERR_CORRUPT, "one byte behind", 0);
  free(more.p);
}

static void test_all_damaged(void) {
  struct bytes text = content_of(TEXT, 400);
  struct bytes z = packed(text, CODEC_ZSTD, 1), l = packed(text, CODEC_LZ4, 1);
  test_damaged(z, text, "zstd");
  test_damaged(l, text, "lz4");
  free(z.p);
  free(l.p);
  free(text.p);
}

static void test_unknown(void) {
  struct bytes nothing = {0};
  check(outcome(nothing, nothing) == ERR_TRUNCATED, "nothing", 0);
  check(outcome((struct bytes){(unsigned char *) "hello, world", 12}, nothing) == ERR_FORMAT,
        "text", 0);
  check(outcome((struct bytes){(unsigned char *) "h", 1}, nothing) == ERR_FORMAT, "a letter", 0);
  check(outcome((struct bytes){(unsigned char *) "\x28\xB5\x2F", 3}, nothing) == ERR_TRUNCATED,
        "cut", 0);
  check(outcome((struct bytes){(unsigned char *) "\x02\x21\x4C\x18....", 8}, nothing) == ERR_FORMAT,
        "legacy", 0);
  for (int i = 0; i < 3000; i++) {
    struct bytes noise = content_of(NOISE, random_below(200));
    const uint32_t magic = i % 3 == 0 ? 0xFD2FB528 : i % 3 == 1 ? 0x184D2204 : 0x184D2A53;
    if (noise.n >= 4) memcpy(noise.p, &magic, 4);
    struct bytes exact = {make_copy(noise.p, noise.n), noise.n}, back;
    const enum status st = decode(exact, 1, &back);
    check(st == OK || is_bad_input(st), "noise", st);
    free(back.p);
    free(exact.p);
    free(noise.p);
  }
}

// ---- claims -------------------------------------------------------------------------------

// A frame with one block of a byte that is repeated, which says that it holds `content` bytes.
static struct bytes repeat_frame(uint64_t content, uint32_t repeats) {
  struct bytes b = {make(17), 17};
  const uint32_t magic = 0xFD2FB528, block = 1 | 1 << 1 | repeats << 3;
  memcpy(b.p, &magic, 4);
  b.p[4] = 0xE0;  // eight bytes of content size, a single segment
  memcpy(b.p + 5, &content, 8);
  memcpy(b.p + 13, &block, 3);
  b.p[16] = 'x';
  return b;
}

static void test_claims(void) {
  struct frames f;
  struct error e = {0};
  struct bytes good = repeat_frame(1000, 1000), back;
  check(decode(good, 1, &back) == OK && back.n == 1000 && back.p[999] == 'x', "one byte repeated",
        0);
  free(back.p);
  free(good.p);
  struct bytes bad = repeat_frame((uint64_t) 1 << 60, 1000);
  memory_count();
  check(decode(bad, 1, &back) == ERR_CORRUPT, "a claim that cannot be", 0);
  check(memory.peak < 1 << 20, "costs nothing", (uint64_t) memory.peak);
  free(bad.p);
  // 1000 frames of 128 KiB: true, but not to be believed beforehand
  struct bytes many = {make(17000), 17000};
  for (size_t i = 0; i < 1000; i++) {
    struct bytes one = repeat_frame(1 << 17, 1 << 17);
    memcpy(many.p + 17 * i, one.p, 17);
    free(one.p);
  }
  check(frames_scan(&f, many.p, many.n, &e) == OK && f.content == 1000ull << 17, "a bomb",
        f.content);
  check(!frames_fit(&f), "is decoded piece by piece", 0);
  memory_count();
  check(unstream(&f, 1 << 20, &back) == ERR_LIMIT, "up to the limit", 0);
  check(memory.peak < 16 << 20, "in little memory", (uint64_t) memory.peak);
  check(unstream(&f, UINT64_MAX, &back) == OK && back.n == 1000u << 17, "or wholly", back.n);
  free(back.p);
  frames_close(&f);
  free(many.p);
}

// A window of 2 GiB: none of so short an input.
static void test_window(void) {
  struct bytes text = content_of(TEXT, 500), z = zstd_of_unknown_size(text), back;
  check(!(z.p[4] & 0x20), "there is a window", z.p[4]);
  z.p[5] = 21 << 3;
  memory_count();
  check(decode(z, 1, &back) == ERR_CORRUPT, "a window too large", 0);
  free(z.p);
  free(text.p);
}

// ---- memory that runs out -----------------------------------------------------------------

static void test_memory(void) {
  struct bytes text = content_of(TEXT, 5000000), out, back;
  for (enum codec codec = CODEC_LZ4; codec <= CODEC_ZSTD; codec++) {
    enum status st = ERR_NOMEM;
    for (long nth = 1; st == ERR_NOMEM && nth < 200; nth++) {
      memory_fail(nth, true);
      st = pack(text, codec, 1, 2, &out);
      memory_fail(0, false);
      check(st == ERR_NOMEM || st == OK, "memory runs out while compressing", (uint64_t) nth);
      if (nth < 3) check(st == ERR_NOMEM, "it was asked for", (uint64_t) nth);
    }
    check(st == OK, "there is enough in the end", st);
    for (int way = 0; way < 2; way++) {
      st = ERR_NOMEM;
      for (long nth = 1; st == ERR_NOMEM && nth < 200; nth++) {
        struct frames f;
        struct error e = {0};
        back = (struct bytes){0};
        memory_fail(nth, true);
        st = frames_scan(&f, out.p, out.n, &e);
        if (st == OK) st = way ? unpack(&f, 2, &back) : unstream(&f, UINT64_MAX, &back);
        memory_fail(0, false);
        check(st == ERR_NOMEM || st == OK, "memory runs out while decompressing", (uint64_t) nth);
        frames_close(&f);
        if (st == OK) check(same(back, text), "there and back", 0);
        free(back.p);
      }
      check(st == OK, "there is enough in the end", st);
    }
    free(out.p);
  }
  free(text.p);
}

int main(void) {
  test_round_trips();
  test_foreign(0);
  test_foreign(3000);
  test_foreign(300000);
  test_claims();
  test_window();
  test_memory();
  if (UNDER_TSAN) return checks_end();
  test_all_damaged();
  test_unknown();
  return checks_end();
}
