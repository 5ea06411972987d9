// Tests of format.c: every field there and back, every bound, every byte covered by a checksum.
// one thread
#include "format.h"

#include <xxhash.h>

#include "check.h"

static enum status decode_file_header(const unsigned char *in, size_t n, struct file_header *h) {
  struct error e = {0};
  unsigned char *exact = make_copy(in, n);
  const enum status st = file_header_decode(exact, n, h, &e);
  check(st == e.code && (st == OK) == !e.what, "the error says what the status says", st);
  free(exact);
  return st;
}

static struct file_header header_of(uint8_t version, bool plain, uint32_t max_raw) {
  return (struct file_header){.big_endian = host_is_big_endian(),
                              .stream_version = version,
                              .plain = plain,
                              .max_raw = max_raw};
}

static void test_file_header(void) {
  static const uint32_t sizes[] = {1, 255, 1 << 19, 1 << 20, MAX_RAW_LEN - 1, MAX_RAW_LEN};
  for (uint8_t version = 2; version <= 3; version++) {
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
      const struct file_header h = header_of(version, i % 2, sizes[i / 2]);
      struct file_header got;
      unsigned char b[FILE_HEADER_LEN];
      file_header_encode(&h, b);
      check(decode_file_header(b, sizeof(b), &got) == OK, "a header decodes", i);
      check(got.big_endian == h.big_endian && got.stream_version == version &&
                got.plain == h.plain && got.max_raw == h.max_raw,
            "every field of the file header survives", i);
      check(b[8] == 1 && b[9] == h.big_endian && b[10] == version && b[11] == h.plain &&
                load_u32(b + 12) == h.max_raw && load_u64(b + 16) == 0,
            "the file header's layout is FORMAT.md's", i);
      check(memcmp(b, "\x89RIF\r\n\x1a\n", 8) == 0, "the magic", i);
    }
  }
}

static void test_file_header_damage(void) {
  const struct file_header h = header_of(3, false, 1 << 20);
  unsigned char b[FILE_HEADER_LEN];
  struct file_header got;
  file_header_encode(&h, b);
  for (unsigned i = 0; i < 8 * sizeof(b); i++) {
    b[i / 8] ^= (unsigned char) (1 << i % 8);
    const enum status st = decode_file_header(b, sizeof(b), &got);
    check(st == (i < 64 ? ERR_FORMAT : ERR_CORRUPT), "a flipped bit in the file header", i);
    b[i / 8] ^= (unsigned char) (1 << i % 8);
  }
  for (size_t n = 0; n < sizeof(b); n++)
    check(decode_file_header(b, n, &got) == (n ? ERR_TRUNCATED : ERR_FORMAT), "a cut file header",
          n);
  check(decode_file_header((const unsigned char *) "\x89RIG", 4, &got) == ERR_FORMAT,
        "a short file that is not ours", 0);
}

// The status of a header with one byte set and the checksum made right again.
static enum status with_byte(size_t at, unsigned char value) {
  const struct file_header h = header_of(3, false, 1 << 20);
  unsigned char b[FILE_HEADER_LEN];
  struct file_header got;
  file_header_encode(&h, b);
  b[at] = value;
  store_u64(b + 24, XXH3_64bits(b, 24));
  return decode_file_header(b, sizeof(b), &got);
}

static void test_file_header_values(void) {
  for (unsigned v = 0; v < 256; v++) {
    const unsigned char byte = (unsigned char) v;
    check(with_byte(8, byte) == (v == 0 ? ERR_CORRUPT : v == 1 ? OK : ERR_VERSION), "version", v);
    check(with_byte(9, byte) == (v > 1                              ? ERR_CORRUPT
                                 : (v == 1) == host_is_big_endian() ? OK
                                                                    : ERR_VERSION),
          "byte order", v);
    check(with_byte(10, byte) == (v < 2 ? ERR_CORRUPT : v < 4 ? OK : ERR_VERSION), "stream", v);
    check(with_byte(11, byte) == (v < 4 ? OK : ERR_VERSION), "flags", v);
    check(with_byte(15, byte) == (v == 0 ? OK : ERR_CORRUPT), "max_raw of over 2^24", v);
  }
  check(with_byte(14, 0) == ERR_CORRUPT, "max_raw of 0", 0);
}

static void check_fields(const struct block_header *a, const struct block_header *b, uint64_t i) {
  check(a->kind == b->kind && a->codec == b->codec && a->filter == b->filter &&
            a->param == b->param && a->seq == b->seq && a->raw_len == b->raw_len &&
            a->packed_len == b->packed_len && a->stored_len == b->stored_len &&
            a->count == b->count,
        "every field of the block header survives", i);
}

static void test_block_header(void) {
  const struct file_header f = header_of(3, false, 1 << 20);
  for (uint32_t i = 0; i < 2000; i++) {
    struct block_header h = {.kind = (uint8_t) random_u32(),
                             .codec = (uint8_t) random_u32(),
                             .filter = (uint8_t) random_u32(),
                             .param = (uint8_t) random_u32(),
                             .seq = random_u32(),
                             .raw_len = random_below((1 << 20) + 1)};
    h.packed_len = random_below((uint32_t) max_packed_len(f.max_raw) + 1);
    h.stored_len = random_below((h.packed_len < 300 ? h.packed_len : 300) + 1);
    if (h.kind == BLOCK_INDEX) h.raw_len = 0;  // it is no part of the stream
    h.count = random_below(h.raw_len + 1);
    struct block_header got;
    struct error e = {0};
    unsigned char *b = make(BLOCK_HEADER_LEN + h.stored_len);
    memset(b + BLOCK_HEADER_LEN, (int) i, h.stored_len);
    const uint64_t hash = block_header_encode(&h, b);
    check(hash == block_hash(b) && hash == load_u64(b), "the hash comes first", i);
    const uint64_t seq = (uint64_t) random_u32() << 32 | h.seq;
    check(block_header_decode(b, &f, seq, &got, &e) == OK, "a block header decodes", i);
    check_fields(&h, &got, i);
    check(block_verify(b, &got), "a block verifies", i);
    free(b);
  }
}

static void test_block_damage(void) {
  const struct file_header f = header_of(3, false, 1 << 20);
  const struct block_header h = {BLOCK_BYTES, 0, 0, 0, 5, 40, 40, 40, 0};
  unsigned char b[BLOCK_HEADER_LEN + 40] = {0};
  block_header_encode(&h, b);
  for (unsigned i = 0; i < 8 * sizeof(b); i++) {
    struct block_header got;
    struct error e = {0};
    b[i / 8] ^= (unsigned char) (1 << i % 8);
    const enum status st = block_header_decode(b, &f, 5, &got, &e);
    const bool found = st == ERR_CORRUPT || got.stored_len > 40 || !block_verify(b, &got);
    check(found, "a flipped bit in a block", i);
    check(st == OK || e.block == 5, "the block's number", i);
    b[i / 8] ^= (unsigned char) (1 << i % 8);
  }
}

static void test_index(void) {
  const struct file_header f = header_of(3, false, 1 << 20);
  for (uint32_t raw = 0; raw < 2; raw++) {
    const struct block_header h = {BLOCK_INDEX, 0, 0, 0, 0, raw, 1, 0, 0};
    unsigned char b[BLOCK_HEADER_LEN];
    struct block_header got;
    struct error e = {0};
    block_header_encode(&h, b);
    const enum status st = block_header_decode(b, &f, 0, &got, &e);
    check(st == (raw ? ERR_CORRUPT : OK), "an index is no part of the stream", raw);
  }
}

static enum status decode_lengths(uint32_t max_raw, uint32_t raw, uint32_t packed, uint32_t stored,
                                  uint32_t count) {
  const struct file_header f = header_of(3, false, max_raw);
  const struct block_header h = {BLOCK_BYTES, 0, 0, 0, 0, raw, packed, 0, count};
  unsigned char b[BLOCK_HEADER_LEN];
  struct block_header got;
  struct error e = {0};
  block_header_encode(&h, b);
  store_u32(b + 24, stored);
  return block_header_decode(b, &f, 0, &got, &e);
}

static void test_bounds(void) {
  const uint32_t max = 1 << 20, packed = (uint32_t) max_packed_len(max);
  check(decode_lengths(max, max, packed, packed, max) == OK, "all at their bounds", 0);
  check(decode_lengths(max, 0, 0, 0, 0) == OK, "all zero", 0);
  check(decode_lengths(max, max + 1, 1, 1, 0) == ERR_CORRUPT, "raw_len above", 0);
  check(decode_lengths(max, max, packed + 1, 1, 0) == ERR_CORRUPT, "packed_len above", 0);
  check(decode_lengths(max, max, packed, packed + 1, 0) == ERR_CORRUPT, "stored_len above", 0);
  check(decode_lengths(max, 10, 10, 11, 0) == ERR_CORRUPT, "stored_len above packed_len", 0);
  check(decode_lengths(max, 10, 10, 10, 11) == ERR_CORRUPT, "more elements than bytes", 0);
  check(decode_lengths(max, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX) == ERR_CORRUPT,
        "all 2^32 - 1", 0);
  check(decode_lengths(0, 1, 1, 1, 1) == ERR_CORRUPT, "a byte where none is allowed", 0);
  check(max_packed_len(MAX_RAW_LEN) < UINT32_MAX / 2, "the largest block fits 32 bits", 0);
}

static void test_sequence(void) {
  const struct file_header f = header_of(3, false, 1 << 20);
  const struct block_header h = {.kind = BLOCK_BYTES, .seq = 7};
  unsigned char b[BLOCK_HEADER_LEN];
  struct block_header got;
  block_header_encode(&h, b);
  for (uint64_t seq = 0; seq < 20; seq++) {
    struct error e = {0};
    const enum status st = block_header_decode(b, &f, seq, &got, &e);
    check(st == (seq == 7 ? OK : ERR_CORRUPT), "out of sequence", seq);
    check(st == OK || e.block == seq, "the block that was expected", seq);
  }
  struct error e = {0};
  check(block_header_decode(b, &f, ((uint64_t) 3 << 32) + 7, &got, &e) == OK, "modulo 2^32", 0);
}

static void test_end(void) {
  for (uint64_t i = 0; i < 500; i++) {
    struct end_record r = {.stream_len = (uint64_t) random_u32() << 32 | random_u32(),
                           .n_blocks = (uint64_t) random_u32() << (i % 33) | 1,
                           .index_offset = i,
                           .chain = (uint64_t) random_u32() << 32 | random_u32()};
    struct end_record got;
    struct error e = {0};
    unsigned char b[END_BLOCK_LEN];
    end_block_encode(&r, r.n_blocks, b);
    check(end_block_decode(b, &got, &e) == OK && memcmp(&r, &got, sizeof(r)) == 0,
          "every field of the end block survives", i);
    check(load_u32(b + 12) == (uint32_t) r.n_blocks && b[8] == BLOCK_END &&
              memcmp(b + 64, "RIF end\n", 8) == 0,
          "the end block's layout", i);
  }
}

static void test_end_damage(void) {
  const struct end_record r = {123456, 7, 0, 42};
  unsigned char b[END_BLOCK_LEN];
  end_block_encode(&r, r.n_blocks, b);
  for (unsigned i = 0; i < 8 * sizeof(b); i++) {
    struct end_record got;
    struct error e = {0};
    b[i / 8] ^= (unsigned char) (1 << i % 8);
    const enum status st = end_block_decode(b, &got, &e);
    check(st == ERR_CORRUPT || st == ERR_TRUNCATED, "a flipped bit in the end block", i);
    b[i / 8] ^= (unsigned char) (1 << i % 8);
  }
}

static void test_numbers(void) {
  unsigned char b[8];
  for (int i = 0; i < 64; i++) {
    store_u64(b, (uint64_t) 1 << i);
    check(load_u64(b) == (uint64_t) 1 << i && b[i / 8] == 1 << i % 8, "64 bits, little-endian",
          (uint64_t) i);
    if (i >= 32) continue;
    store_u32(b, (uint32_t) 1 << i);
    check(load_u32(b) == (uint32_t) 1 << i && b[i / 8] == 1 << i % 8, "32 bits, little-endian",
          (uint64_t) i);
  }
}

int main(void) {
  test_numbers();
  test_file_header();
  test_file_header_damage();
  test_file_header_values();
  test_block_header();
  test_block_damage();
  test_index();
  test_bounds();
  test_sequence();
  test_end();
  test_end_damage();
  return checks_end();
}
