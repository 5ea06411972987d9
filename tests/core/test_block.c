// Tests of block.c: one block there and back, and headers that lie under a right checksum.
#include "block.h"

#include "check.h"
#include "files.h"

static const struct file_header largest = {.stream_version = 3, .max_raw = MAX_RAW_LEN};

struct packed_block {
  unsigned char *p;
  size_t len;
  struct block_header h;
};

static struct packed_block encode(struct coder *c, const struct block_opts *opts,
                                  const struct block_input *in) {
  struct buffer out = {0};
  struct packed_block b = {0};
  struct error e = {0};
  uint64_t hash;
  check(block_encode(c, opts, in, &out, &b.len, &hash, &e) == OK && e.code == OK, "encodes", 0);
  b.p = make_copy(out.p, b.len);
  buffer_close(&out);
  check(hash == block_hash(b.p), "the hash is returned", 0);
  check(block_header_decode(b.p, &largest, in->seq, &b.h, &e) == OK, "a sound header", in->raw_len);
  check(b.len == BLOCK_HEADER_LEN + b.h.stored_len && b.h.raw_len == in->raw_len, "its lengths", 0);
  return b;
}

// Decodes into memory of exactly raw_len.
static enum status decode(struct coder *c, const struct packed_block *b, unsigned char **out) {
  struct error e = {0};
  unsigned char *raw = make(b->h.raw_len);
  const enum status st = block_decode(c, b->p, &b->h, raw, &e);
  check(st == e.code, "the status is the error's", st);
  if (st == OK && out)
    *out = raw;
  else
    free(raw);
  return st;
}

static bool decodes_to(struct coder *c, const struct packed_block *b, const void *want) {
  unsigned char *out = NULL;
  if (decode(c, b, &out)) return false;
  const bool same = same_bytes(out, want, b->h.raw_len);
  free(out);
  return same;
}

static enum status decode_strings(struct coder *c, const struct packed_block *b, const void *want) {
  struct block_strings s = {0};
  struct error e = {0};
  const enum status st = block_decode_strings(c, b->p, &b->h, &s, &e);
  if (st == OK) {
    const size_t len = strings_stream_len(&s.array);
    check(len == b->h.raw_len && s.array.n == b->h.count, "as many as the header says", len);
    unsigned char *stream = make(len);
    strings_to_stream(&s.array, stream);
    if (want) check(same_bytes(stream, want, len), "the strings that went in", len);
    free(stream);
  }
  block_strings_close(&s);
  block_strings_close(&s);
  return st;
}

static void each_byte_damaged(struct coder *c, struct packed_block *b) {
  for (size_t i = 0; i < b->len; i += 1 + b->len / 100) {
    b->p[i] ^= 0x10;
    struct error e = {0};
    check(block_check(b->p, &b->h, &e) == ERR_CORRUPT && e.block == b->h.seq, "damage is found", i);
    check(decode(c, b, NULL) == ERR_CORRUPT, "before anything is decoded", i);
    if (b->h.kind == BLOCK_STRINGS)
      check(decode_strings(c, b, NULL) == ERR_CORRUPT, "of strings, too", i);
    b->p[i] ^= 0x10;
  }
}

// With the checksum made right again: any status, but never a byte too many.
static void tampered(struct coder *c, const struct packed_block *b) {
  for (int round = 0; round < 60; round++) {
    struct packed_block bad = {make_copy(b->p, b->len), b->len, b->h};
    for (int k = 0; k < 2; k++) {
      size_t at = random_below(2) ? 9 + random_below(23) : 9 + random_below((uint32_t) b->len - 9);
      if (at >= 24 && at < 28) at = 20;  // the stored length is what it is
      bad.p[at] ^= (unsigned char) (1 << random_below(8));
    }
    struct error e = {0};
    reseal_block(bad.p);
    if (block_header_decode(bad.p, &largest, load_u32(bad.p + 12), &bad.h, &e) == OK) {
      const enum status st = decode(c, &bad, NULL);
      check(st == OK || st == ERR_CORRUPT || st == ERR_VERSION, "a known status", st);
      if (bad.h.kind == BLOCK_STRINGS) decode_strings(c, &bad, NULL);
    }
    free(bad.p);
  }
}

static void round_trip(struct coder *c, const struct block_opts *opts,
                       const struct script_part *part) {
  struct block_input in = {.kind = part->kind == PART_BYTES     ? BLOCK_BYTES
                                   : part->kind == PART_STRINGS ? BLOCK_STRINGS
                                                                : BLOCK_NUMBERS,
                           .seq = random_u32(),
                           .raw = part->p,
                           .raw_len = part->len,
                           .type = part->type,
                           .strings = {part->items, part->n, NULL, part->n}};
  unsigned char *exact = make_copy(part->p, part->len);
  if (part->kind != PART_STRINGS) in.raw = exact;
  struct packed_block b = encode(c, opts, &in);
  check(b.h.packed_len <= max_packed_len(1 << 20), "the filter adds little", b.h.packed_len);
  check(b.h.codec == CODEC_STORED || b.h.stored_len < b.h.packed_len, "a codec shortens", 0);
  check(opts->filter || b.h.filter == FILTER_NONE, "no filter unless asked", b.h.filter);
  check(decodes_to(c, &b, part->p), "round trip", part->len);
  if (in.kind == BLOCK_STRINGS) check(decode_strings(c, &b, part->p) == OK, "strings", part->n);
  struct coder fresh = {0};
  check(decodes_to(&fresh, &b, part->p), "with another thread's state", part->len);
  struct packed_block again = encode(&fresh, opts, &in);
  check(again.len == b.len && same_bytes(again.p, b.p, b.len), "the same bytes again", b.len);
  coder_close(&fresh);
  each_byte_damaged(c, &b);
  tampered(c, &b);
  free(again.p);
  free(b.p);
  free(exact);
}

static void all_options(struct coder *c, const struct script_part *part) {
  for (enum codec codec = CODEC_STORED; codec <= CODEC_ZSTD; codec++) {
    for (int filter = 0; filter < 2; filter++) {
      const struct block_opts opts = {codec, codec == CODEC_LZ4 ? 1 : 3, filter};
      round_trip(c, &opts, part);
    }
  }
}

static void test_round_trips(void) {
  static const size_t counts[] = {0, 1, 2, 15, 16, 17, 1000, 20000};
  struct coder c = {0};
  for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
    struct script s;
    script_open(&s);
    script_bytes(&s, counts[i], 4);
    script_bytes(&s, counts[i], 256);
    for (enum number_shape shape = RAMP; shape <= ONE_VALUE; shape++) {
      script_numbers(&s, PART_NUMBERS, NUMBER_I32, counts[i], shape);
      script_numbers(&s, PART_NUMBERS, NUMBER_F64, counts[i], shape);
    }
    script_numbers(&s, PART_NUMBERS, NUMBER_U8, counts[i], RANDOM_BITS);
    script_strings(&s, counts[i], counts[i] / 10 + 1, 20);
    script_strings(&s, counts[i], counts[i], 20);
    for (size_t k = 0; k < s.n; k++) all_options(&c, &s.parts[k]);
    script_close(&s);
  }
  coder_close(&c);
  coder_close(&c);
}

// ---- lies ---------------------------------------------------------------------------------

// A block of `stored` bytes whose header says what it likes; the checksum is right.
static struct packed_block lie(struct block_header h) {
  struct packed_block b = {make(BLOCK_HEADER_LEN + h.stored_len), BLOCK_HEADER_LEN + h.stored_len,
                           h};
  memset(b.p, 0, b.len);
  block_header_encode(&h, b.p);
  return b;
}

static void expect(enum status want, struct block_header h, const char *what) {
  struct coder c = {0};
  struct packed_block b = lie(h);
  check(decode(&c, &b, NULL) == want, what, h.raw_len);
  if (h.kind == BLOCK_STRINGS) {
    const enum status st = decode_strings(&c, &b, NULL);
    check(st == want || st == ERR_CORRUPT, what, h.count);
  }
  free(b.p);
  coder_close(&c);
}

static void test_lies(void) {
  enum { B = BLOCK_BYTES, N = BLOCK_NUMBERS, S = BLOCK_STRINGS };
  //                             kind codec filter param seq raw packed stored count
  expect(OK, (struct block_header){B, 0, 0, 0, 0, 8, 8, 8, 0}, "an honest block");
  expect(OK, (struct block_header){B, 0, 0, 0, 0, 0, 0, 0, 0}, "an empty block");
  expect(ERR_CORRUPT, (struct block_header){B, 0, 0, 0, 0, 9, 8, 8, 0}, "raw above packed");
  expect(ERR_CORRUPT, (struct block_header){B, 0, 0, 0, 0, 7, 8, 8, 0}, "raw below packed");
  expect(ERR_CORRUPT, (struct block_header){B, 0, 0, 0, 0, 9, 9, 8, 0}, "stored below packed");
  expect(ERR_VERSION, (struct block_header){B, 3, 0, 0, 0, 8, 8, 8, 0}, "an unknown codec");
  expect(ERR_CORRUPT, (struct block_header){B, 0, 1, 0, 0, 8, 8, 8, 0}, "8 bytes, no columns");
  expect(ERR_CORRUPT, (struct block_header){B, 0, 1, 0, 0, 0, 24, 24, 0}, "columns of nothing");
  expect(ERR_VERSION, (struct block_header){B, 0, 200, 0, 0, 8, 8, 8, 0}, "of bytes");
  expect(ERR_VERSION, (struct block_header){N, 0, 200, 0, 0, 8, 8, 8, 1}, "an unknown filter");
  expect(ERR_VERSION, (struct block_header){S, 0, 200, 0, 0, 8, 8, 8, 1}, "of strings");
  expect(ERR_CORRUPT, (struct block_header){N, 0, 1, 0, 0, 8, 8, 8, 0}, "no numbers");
  expect(ERR_CORRUPT, (struct block_header){N, 0, 1, 0, 0, 8, 8, 8, 3}, "8 bytes, 3 numbers");
  expect(ERR_CORRUPT, (struct block_header){N, 0, 1, 0, 0, 9, 8, 8, 1}, "a number of 9 bytes");
  expect(ERR_CORRUPT, (struct block_header){N, 0, 1, 0, 0, 17, 8, 8, 2}, "one byte too many");
  expect(ERR_CORRUPT, (struct block_header){N, 0, 1, 0, 0, 16, 8, 8, 16}, "filtered bytes");
  expect(ERR_CORRUPT, (struct block_header){N, 1, 1, 0, 0, 8, 8, 8, 1}, "lz4 of zeros");
  expect(ERR_CORRUPT, (struct block_header){N, 2, 1, 0, 0, 8, 8, 8, 1}, "zstd of zeros");
  expect(ERR_CORRUPT, (struct block_header){S, 0, 1, 0, 0, 8, 8, 8, 2}, "8 bytes, 2 strings");
  expect(ERR_CORRUPT, (struct block_header){S, 0, 1, 0, 0, 1 << 24, 8, 8, 1 << 21},
         "16 MiB of air");
  expect(ERR_CORRUPT, (struct block_header){S, 0, 2, 0, 0, 1 << 24, 8, 8, 1 << 21}, "of repeats");
  expect(ERR_CORRUPT, (struct block_header){B, 2, 0, 0, 0, 1 << 24, 1 << 24, 8, 0}, "of zstd");
  expect(ERR_CORRUPT, (struct block_header){B, 1, 0, 0, 0, 1 << 24, 1 << 24, 8, 0}, "of lz4");
  for (uint8_t codec = CODEC_HEAD_ONLY; codec < CODEC_HEAD_ONLY + 3; codec++) {
    expect(ERR_CORRUPT, (struct block_header){B, codec, 0, 0, 0, 8, 8, 3, 0},
           "a head's length cut");
    expect(ERR_CORRUPT, (struct block_header){B, codec, 0, 0, 0, 8, 8, 8, 0}, "an empty head");
    expect(ERR_CORRUPT, (struct block_header){B, codec, 0, 0, 0, 8, 8, 20, 0}, "a tail too long");
  }
  expect(ERR_CORRUPT, (struct block_header){B, 1, 0, 0, 0, 8, 8, 0, 0}, "lz4 of nothing");
  expect(ERR_CORRUPT, (struct block_header){B, 2, 0, 0, 0, 8, 8, 0, 0}, "zstd of nothing");
}

// A raw strings block is 16 bytes of stream for two items; its count says otherwise.
static void test_counts(void) {
  for (uint32_t count = 0; count < 4; count++) {
    struct coder c = {0};
    struct packed_block b =
        lie((struct block_header){BLOCK_STRINGS, 0, 0, 0, 0, 16, 16, 16, count});
    for (int i = 0; i < 2; i++) store_u32(b.p + BLOCK_HEADER_LEN + 8 * i, 9);
    reseal_block(b.p);
    check(decode(&c, &b, NULL) == OK, "as bytes the count does not matter", count);
    check(decode_strings(&c, &b, NULL) == (count == 2 ? OK : ERR_CORRUPT), "as strings it does",
          count);
    free(b.p);
    coder_close(&c);
  }
}

int main(void) {
  test_round_trips();
  test_lies();
  test_counts();
  return checks_end();
}
