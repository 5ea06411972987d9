// Tests of info.c: what is told of riffle, qs2 and RDS files, and that damage is never "valid".
// one thread
#include "info.h"

#include <zlib.h>
#include <zstd.h>

#include "files.h"
#include "filter_layout.h"

// ---- making files -------------------------------------------------------------------------

static const unsigned char stream_start[] = {'B', '\n', 3, 0, 0, 0, 1, 2, 4, 0, 0, 5, 3, 0};

static void put_start(unsigned char *p) { memcpy(p, stream_start, sizeof(stream_start)); }

static struct bytes stream_of(size_t n, unsigned spread) {
  struct bytes b = {make(n), n};
  for (size_t i = 0; i < n; i++) b.p[i] = (unsigned char) random_below(spread);
  put_start(b.p);
  return b;
}

static void append(struct bytes *b, const void *p, size_t n) {
  b->p = realloc(b->p, b->len + n + 1);
  if (!b->p) abort();
  memcpy(b->p + b->len, p, n);
  b->len += n;
}

// A block of `n` bytes of stream; shuffled as qs2 does.
static void append_qs2(struct bytes *file, const unsigned char *p, size_t n, bool shuffled) {
  unsigned char *from = make_copy(p, n), length[4];
  if (shuffled)
    for (size_t k = 0; k < n / 8 * 8; k++) from[k % 8 * (n / 8) + k / 8] = p[k];
  const size_t bound = ZSTD_compressBound(n);
  unsigned char *frame = make(bound);
  const size_t len = ZSTD_compress(frame, bound, from, n, 3);
  store_u32(length, (uint32_t) len | (uint32_t) shuffled << 31);
  append(file, length, 4);
  append(file, frame, len);
  free(from);
  free(frame);
}

static struct bytes qs2_of(const struct bytes *stream, bool shuffle, bool hashed) {
  struct bytes file = {0};
  const unsigned char header[24] = {0x0b, 0x0e, 0x0a, 0xc1, 1, 1, 2, shuffle};
  append(&file, header, sizeof(header));
  for (size_t at = 0; at < stream->len; at += 1 << 20) {
    const size_t left = stream->len - at;
    const size_t n = left < 1 << 20 ? left : 1 << 20;
    append_qs2(&file, stream->p + at, n, shuffle && at % (1 << 21) == 0);
  }
  if (hashed) store_u64(file.p + 16, XXH3_64bits(file.p + 24, file.len - 24));
  return file;
}

static void append_gzip(struct bytes *file, const unsigned char *p, size_t n) {
  z_stream z = {0};
  if (deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  const size_t bound = deflateBound(&z, n);
  unsigned char *out = make(bound);
  z.next_in = (unsigned char *) p;
  z.avail_in = (unsigned) n;
  z.next_out = out;
  z.avail_out = (unsigned) bound;
  check(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflated", n);
  append(file, out, bound - z.avail_out);
  deflateEnd(&z);
  free(out);
}

static void append_zstd(struct bytes *file, const unsigned char *p, size_t n, bool hashed) {
  ZSTD_CCtx *c = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, hashed);
  const size_t bound = ZSTD_compressBound(n);
  unsigned char *out = make(bound);
  append(file, out, ZSTD_compress2(c, out, bound, p, n));
  free(out);
  ZSTD_freeCCtx(c);
}

// ---- asking -------------------------------------------------------------------------------

static enum status ask(const struct bytes *file, size_t n, bool validate, struct info *i) {
  static struct source source;
  unsigned char *exact = make_copy(file->p, n);
  source_memory(&source, exact, n);
  enum status st = info_open(i, &source, validate);
  while (st == OK && (st = info_walk(i)) == AGAIN) st = OK;
  check(st == i->err.code && (st == OK) == !i->err.what, "the error says what the status says", st);
  check(st == OK || info_walk(i) == st, "a failed walk stays failed", st);
  source_close(&source);
  free(exact);
  return st;
}

static enum status status_of(const struct bytes *file, size_t n, bool validate) {
  struct info i;
  const enum status st = ask(file, n, validate, &i);
  info_close(&i);
  return st;
}

static void check_stream(const struct info *i, uint64_t detail) {
  check(i->stream.encoding == 'B' && !i->stream.big_endian && i->stream.version == 3 &&
            i->stream.r_version == 0x040201,
        "the stream's head is told", detail);
}

static void check_sums(const struct info *i, const struct bytes *file, size_t around) {
  uint64_t count = 0, stream = 0, stored = 0;
  for (size_t k = 0; k < i->n_groups; k++) {
    if (i->groups[k].kind != BLOCK_INDEX) count += i->groups[k].count;
    stream += i->groups[k].stream_len;
    stored += i->groups[k].stored_len;
  }
  check(count == i->n_blocks && stream == i->stream_len && stored + around == file->len,
        "the groups add up", i->n_groups);
}

// Cut anywhere, with any bit changed, or a byte longer, it is never valid.
static void check_damage(const struct bytes *file) {
  for (size_t n = 0; n < file->len; n++) {
    const enum status st = status_of(file, n, true);
    check(st == ERR_CORRUPT || st == ERR_TRUNCATED || (st == ERR_FORMAT && n < 8), "a cut file", n);
    status_of(file, n, false);
  }
  for (size_t k = 0; k < 8 * file->len; k++) {
    file->p[k / 8] ^= (unsigned char) (1 << k % 8);
    check(status_of(file, file->len, true) > AGAIN, "a flipped bit", k);
    status_of(file, file->len, false);
    file->p[k / 8] ^= (unsigned char) (1 << k % 8);
  }
  struct bytes longer = {make_copy(file->p, file->len), file->len};
  append(&longer, "", 1);
  check(status_of(&longer, longer.len, true) > AGAIN, "a byte more", 0);
  bytes_free(&longer);
}

// ---- riffle -------------------------------------------------------------------------------

static void test_riffle(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 500, 5);
  put_start(s.stream.p);
  script_numbers(&s, PART_LENT, NUMBER_I32, 300000, RAMP);
  script_numbers(&s, PART_LENT, NUMBER_F64, 300000, RANDOM_BITS);
  script_strings(&s, 40000, 40000, 12);
  script_bytes(&s, 3 << 20, 256);
  for (int codec = CODEC_STORED; codec <= CODEC_ZSTD; codec++) {
    const struct writer_opts opts = opts_of((enum codec) codec, 1, 1);
    struct bytes file = file_of(&s, &opts);
    for (int validate = 0; validate < 2; validate++) {
      struct info i;
      check(ask(&file, file.len, validate, &i) == OK, "a riffle file", (uint64_t) codec);
      check(i.format == INFO_RIFFLE && i.format_version == 1 && !i.plain, "its header", 0);
      check(i.check == (validate ? CHECK_VALID : CHECK_NOT_DONE), "its checksums", validate);
      check(i.stream_len == s.stream.len && i.n_blocks == block_count(&file), "its sums", 0);
      check_sums(&i, &file, FILE_HEADER_LEN + END_BLOCK_LEN);
      check_stream(&i, (uint64_t) codec);
      info_close(&i);
    }
    bytes_free(&file);
  }
  script_close(&s);
}

static struct bytes small_riffle(void) {
  struct script s;
  script_open(&s);
  script_bytes(&s, 60, 256);
  put_start(s.stream.p);
  script_strings(&s, 20, 20, 3);
  script_bytes(&s, 40, 256);
  const struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
  struct bytes file = file_of(&s, &opts);
  script_close(&s);
  return file;
}

static void test_riffle_damage(void) {
  struct bytes file = small_riffle();
  check(status_of(&file, file.len, true) == OK, "it is sound", 0);
  check_damage(&file);
  bytes_free(&file);
}

// Resealed, so that only what is unknown can be found wrong; or not, then that is corrupt.
static void test_unknown(void) {
  static const struct {
    size_t at;
    unsigned char value;
  } changes[] = {{8, 6}, {8, 0}, {9, 3}, {9, 0x83}, {10, 2}, {10, 255}};
  for (size_t k = 0; k < 2 * sizeof(changes) / sizeof(*changes); k++) {
    struct bytes file = small_riffle();
    unsigned char *block = file.p + block_at(&file, 0);
    block[changes[k / 2].at] = changes[k / 2].value;
    if (k % 2) reseal_block(block);
    for (int validate = 0; validate < 2; validate++)
      check(status_of(&file, file.len, validate) == (k % 2 ? ERR_VERSION : ERR_CORRUPT),
            "an unknown kind, codec or filter", k);
    bytes_free(&file);
  }
}

static void test_not_a_stream(void) {
  struct bytes file = small_riffle();
  unsigned char *block = file.p + block_at(&file, 0);
  block[BLOCK_HEADER_LEN] ^= 1;
  reseal_block(block);
  // The chain of hashes is another now, and would be found out first.
  const size_t n = block_count(&file);
  XXH3_state_t *chain = XXH3_createState();
  XXH3_64bits_reset(chain);
  for (size_t k = 0; k < n; k++) XXH3_64bits_update(chain, file.p + block_at(&file, k), 8);
  unsigned char *end = file.p + block_at(&file, n);
  store_u64(end + BLOCK_HEADER_LEN + 24, XXH3_64bits_digest(chain));
  reseal_block(end);
  XXH3_freeState(chain);
  check(status_of(&file, file.len, true) == ERR_CORRUPT, "sealed, but no stream", 0);
  bytes_free(&file);
}

// ---- qs2 ----------------------------------------------------------------------------------

static void test_qs2(void) {
  static const size_t sizes[] = {14, 100, 1 << 20, (1 << 20) + 1, 3500003};
  for (unsigned k = 0; k < 4 * sizeof(sizes) / sizeof(*sizes); k++) {
    struct bytes stream = stream_of(sizes[k / 4], 7);
    const bool shuffle = k & 1, hashed = k & 2;
    struct bytes file = qs2_of(&stream, shuffle, hashed);
    for (int validate = 0; validate < 2; validate++) {
      struct info i;
      const size_t n = (stream.len + (1 << 20) - 1) >> 20;
      check(ask(&file, file.len, validate, &i) == OK, "a qs2 file", k);
      check(i.format == INFO_QS2 && i.format_version == 1, "its header", k);
      check(i.check == (!hashed ? CHECK_NOT_STORED : validate ? CHECK_VALID : CHECK_NOT_DONE),
            "its checksum", k);
      check(i.stream_len == stream.len && i.n_blocks == n, "its sums", k);
      check(i.n_shuffled == (shuffle ? (n + 1) / 2 : 0), "its shuffled blocks", k);
      check_sums(&i, &file, 24);
      check_stream(&i, k);
      info_close(&i);
    }
    bytes_free(&stream);
    bytes_free(&file);
  }
}

static void test_qs2_damage(void) {
  struct bytes stream = stream_of(150, 256), file = qs2_of(&stream, true, true);
  check(status_of(&file, file.len, true) == OK, "it is sound", 0);
  check_damage(&file);
  bytes_free(&file);
  // Without a hash nothing is ever valid, and a cut one is found out all the same.
  file = qs2_of(&stream, false, false);
  for (size_t n = 8; n < file.len; n++)
    check(status_of(&file, n, true) == ERR_TRUNCATED, "a cut file without a hash", n);
  for (size_t k = 0; k < file.len; k++) {
    struct info i;
    file.p[k] ^= 0xff;
    check(ask(&file, file.len, true, &i) > AGAIN || i.check == CHECK_NOT_STORED, "never valid", k);
    info_close(&i);
    file.p[k] ^= 0xff;
  }
  bytes_free(&file);
  bytes_free(&stream);
}

// ---- RDS ----------------------------------------------------------------------------------

static void check_packed(const struct bytes *file, enum info_packing packing, size_t stream_len,
                         size_t n, enum info_check state) {
  for (int validate = 0; validate < 2; validate++) {
    struct info i;
    check(ask(file, file->len, validate, &i) == OK, "a packed RDS file", packing);
    check(i.format == INFO_RDS && i.packing == packing, "its packing", packing);
    check(i.stream_len == (validate ? stream_len : INFO_UNKNOWN), "its stream", i.stream_len);
    check(i.n_blocks == (validate ? n : INFO_UNKNOWN), "its members", i.n_blocks);
    check(i.check == (validate ? state : CHECK_NOT_DONE), "its checksums", i.check);
    check_stream(&i, packing);
    info_close(&i);
  }
}

static void test_packed(void) {
  // Around the pieces that are unpacked at once, and easy and hard to compress.
  static const size_t sizes[] = {14, 65535, 65536, 65537, 131072, 3000001};
  for (unsigned k = 0; k < 2 * sizeof(sizes) / sizeof(*sizes); k++) {
    struct bytes stream = stream_of(sizes[k / 2], k % 2 ? 256 : 2), gzip = {0}, zstd = {0};
    append_gzip(&gzip, stream.p, stream.len);
    check_packed(&gzip, PACKING_GZIP, stream.len, 1, CHECK_VALID);
    append_gzip(&gzip, stream.p, stream.len);
    append_gzip(&gzip, stream.p, 0);
    check_packed(&gzip, PACKING_GZIP, 2 * stream.len, 3, CHECK_VALID);
    append_zstd(&zstd, stream.p, stream.len, true);
    check_packed(&zstd, PACKING_ZSTD, stream.len, 1, CHECK_VALID);
    append_zstd(&zstd, stream.p, stream.len, true);
    check_packed(&zstd, PACKING_ZSTD, 2 * stream.len, 2, CHECK_VALID);
    append_zstd(&zstd, stream.p, stream.len, false);
    check_packed(&zstd, PACKING_ZSTD, 3 * stream.len, 3, CHECK_NOT_STORED);
    bytes_free(&stream);
    bytes_free(&gzip);
    bytes_free(&zstd);
  }
}

// Some bits mean nothing: the writer's time and system, and what fills the last byte of the data.
static bool still_inflates_to(const struct bytes *file, const struct bytes *stream) {
  unsigned char out[256];
  z_stream z = {.next_in = file->p, .avail_in = (unsigned) file->len, .next_out = out,
                .avail_out = sizeof(out)};
  if (inflateInit2(&z, 31) != Z_OK) abort();
  int rc = inflate(&z, Z_FINISH);
  while (rc == Z_STREAM_END && z.avail_in && inflateReset(&z) == Z_OK) rc = inflate(&z, Z_FINISH);
  const size_t n = sizeof(out) - z.avail_out;
  inflateEnd(&z);
  return rc == Z_STREAM_END && n == stream->len && memcmp(out, stream->p, n) == 0;
}

static void test_gzip_damage(void) {
  struct bytes stream = stream_of(90, 256), file = {0};
  size_t n_harmless = 0;
  append_gzip(&file, stream.p, 50);
  const size_t second = file.len;
  append_gzip(&file, stream.p + 50, 40);
  check(status_of(&file, file.len, true) == OK, "it is sound", 0);
  for (size_t n = 0; n < file.len; n++)
    check((status_of(&file, n, true) > AGAIN) == (n != second), "cut, but between two members", n);
  for (size_t k = 0; k < 8 * file.len; k++) {
    file.p[k / 8] ^= (unsigned char) (1 << k % 8);
    const bool harmless = still_inflates_to(&file, &stream);
    n_harmless += harmless;
    check((status_of(&file, file.len, true) == OK) == harmless, "a flipped bit", k);
    file.p[k / 8] ^= (unsigned char) (1 << k % 8);
  }
  check(n_harmless < 2 * 8 * 8, "most bits are of use", n_harmless);
  append(&file, "", 1);
  check(status_of(&file, file.len, true) == ERR_CORRUPT, "a byte more", 0);
  bytes_free(&stream);
  bytes_free(&file);
}

static void test_zstd_damage(void) {
  struct bytes stream = stream_of(90, 256), file = {0};
  append_zstd(&file, stream.p, stream.len, true);
  for (size_t n = 0; n < file.len; n++)
    check(status_of(&file, n, true) > AGAIN, "a cut file", n);
  for (size_t k = 0; k < 8 * file.len; k++) {
    struct info i;
    file.p[k / 8] ^= (unsigned char) (1 << k % 8);
    check(ask(&file, file.len, true, &i) > AGAIN || i.check != CHECK_VALID || k / 8 == 4,
          "a flipped bit", k);  // byte 4 holds an unused bit
    info_close(&i);
    file.p[k / 8] ^= (unsigned char) (1 << k % 8);
  }
  bytes_free(&stream);
  bytes_free(&file);
}

static void test_packed_others(void) {
  struct bytes gzip = {0}, zstd = {0}, none = {0};
  append_gzip(&gzip, (const unsigned char *) "RDX3\nX\n", 7);
  append_zstd(&zstd, (const unsigned char *) "a,b\n1,2\n", 8, true);
  append_gzip(&none, NULL, 0);
  check(status_of(&gzip, gzip.len, false) == ERR_FORMAT, "an RData file", 0);
  check(status_of(&zstd, zstd.len, false) == ERR_FORMAT, "a packed text", 0);
  check(status_of(&none, none.len, false) == ERR_FORMAT, "nothing, packed", 0);
  bytes_free(&gzip);
  bytes_free(&zstd);
  bytes_free(&none);
}

static void check_head(const char *text, size_t n, char encoding, bool big, uint32_t version,
                       uint32_t r_version) {
  struct stream_head h;
  unsigned char *exact = make_copy(text, n);
  const bool known = stream_head_decode(exact, n, &h);
  check(known == (version != 0), "whether it is a stream", n);
  if (known)
    check(h.encoding == encoding && h.big_endian == big && h.version == version &&
              h.r_version == r_version, "what its head tells", n);
  free(exact);
}

static void test_heads(void) {
  check_head("X\n\0\0\0\3\0\4\2\1\0\3\5\0", 14, 'X', true, 3, 0x040201);
  check_head("X\n\0\0\0\2\0\4\2\1", 10, 'X', true, 2, 0x040201);
  check_head("B\n\3\0\0\0\1\2\4\0", 10, 'B', false, 3, 0x040201);
  check_head("B\n\0\0\0\2\0\4\2\1", 10, 'B', true, 2, 0x040201);
  check_head("A\n3\n262657\n197888\n5\nUTF-8\n", 26, 'A', false, 3, 0x040201);
  check_head("A\n2\n262657", 10, 'A', false, 2, 0x040201);
  check_head("X\n\3\0\0\0\1\2\4\0", 10, 0, 0, 0, 0);
  check_head("X\n\0\0\0\4\0\4\2\1", 10, 0, 0, 0, 0);
  check_head("A\n1,2\n", 6, 0, 0, 0, 0);
  check_head("A\n4\n262657\n", 11, 0, 0, 0, 0);
  check_head("A\n", 2, 0, 0, 0, 0);
  check_head("B\n\3\0\0\0\1\2\4", 9, 0, 0, 0, 0);
  check_head("C\n\3\0\0\0\1\2\4\0", 10, 0, 0, 0, 0);
  check_head("", 0, 0, 0, 0, 0);
}

static void test_bare(void) {
  struct bytes stream = stream_of(100, 256);
  struct info i;
  check(ask(&stream, stream.len, true, &i) == OK && i.packing == PACKING_NONE, "a bare stream", 0);
  check(i.stream_len == 100 && i.n_blocks == INFO_UNKNOWN && i.check == CHECK_NOT_STORED,
        "what is told of it", 0);
  check_stream(&i, 0);
  info_close(&i);
  bytes_free(&stream);
  // R unpacks these; with their stream's head they are known.
  struct bytes bzip2 = {(unsigned char *) "BZh9.......", 11};
  struct bytes xz = {(unsigned char *) "\xfd" "7zXZ\0....", 10};
  check(ask(&bzip2, bzip2.len, true, &i) == OK && i.packing == PACKING_BZIP2 && !i.stream.encoding,
        "bzip2", 0);
  info_close(&i);
  check(ask(&xz, xz.len, true, &i) == OK && i.packing == PACKING_XZ, "xz", 0);
  info_close(&i);
}

static enum status ask_with_head(const struct bytes *head, struct info *i) {
  struct source source;
  source_memory(&source, "BZh9.......", 11);
  info_open(i, &source, false);
  i->has_head = true;
  i->n_head = head->len < INFO_HEAD ? head->len : INFO_HEAD;
  memcpy(i->head, head->p, i->n_head);
  const enum status st = info_walk(i);
  source_close(&source);
  return st;
}

static void test_given_head(void) {
  struct bytes stream = stream_of(100, 256);
  struct info i;
  check(ask_with_head(&stream, &i) == OK, "unpacked by R", 0);
  check_stream(&i, 0);
  info_close(&i);
  stream.p[0] = 'R';
  check(ask_with_head(&stream, &i) == ERR_FORMAT, "unpacked by R, and no stream", 0);
  info_close(&i);
  stream.len = 0;
  check(ask_with_head(&stream, &i) == ERR_FORMAT, "nothing in it", 0);
  info_close(&i);
  bytes_free(&stream);
}

static void test_names(void) {
  check(!info_kind_name(0) && info_kind_name(BLOCK_INDEX) && !info_kind_name(BLOCK_END), "kind", 0);
  check(strcmp(info_filter_name(BLOCK_NUMBERS, FILTER_SPLIT), "split") == 0, "split", 0);
  check(strcmp(info_filter_name(BLOCK_STRINGS, 2), "dictionary") == 0, "dictionary", 0);
  check(strcmp(info_filter_name(BLOCK_BYTES, 1), "structure") == 0, "structure", 0);
  for (unsigned k = 0; k < 256; k++) {
    check(!info_filter_name(BLOCK_NUMBERS, (uint8_t) k) == (k > 10), "filters for numbers", k);
    check(!info_filter_name(BLOCK_STRINGS, (uint8_t) k) == (k > 2), "filters for strings", k);
    check(!info_filter_name(BLOCK_BYTES, (uint8_t) k) == (k > 1), "filters for bytes", k);
    check(!info_codec_name((uint8_t) k) == (k > 2), "codecs", k);
    check(!info_filter_name(BLOCK_END, (uint8_t) k), "no filters for the end", k);
  }
}

static void test_close(void) {
  struct info i = {0};
  info_close(&i);
  info_close(&i);
}

int main(void) {
  test_names();
  test_heads();
  test_close();
  test_riffle();
  test_riffle_damage();
  test_unknown();
  test_not_a_stream();
  test_qs2();
  test_qs2_damage();
  test_packed();
  test_gzip_damage();
  test_zstd_damage();
  test_packed_others();
  test_bare();
  test_given_head();
  return checks_end();
}
