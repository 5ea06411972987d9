// libFuzzer: format.c's decoders on any bytes, and what they accept encoded again.
#include "format.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_file_header(unsigned char *b, size_t n, bool seal) {
  struct file_header h;
  struct error e = {0};
  if (seal && n >= FILE_HEADER_LEN) store_u64(b + 24, XXH3_64bits(b, 24));
  const enum status st = file_header_decode(b, n, &h, &e);
  if (st != e.code) abort();
  if (st) return;
  unsigned char again[FILE_HEADER_LEN];
  file_header_encode(&h, again);
  // The eight reserved bytes and the checksum over them may differ.
  if (n < FILE_HEADER_LEN || memcmp(b, again, 16) != 0) abort();
  if (h.max_raw == 0 || h.max_raw > MAX_RAW_LEN) abort();
}

static void fuzz_block(unsigned char *b, size_t n, bool seal) {
  const struct file_header f = {.stream_version = 3, .max_raw = 1 << 20};
  struct block_header h;
  struct error e = {0};
  if (n < BLOCK_HEADER_LEN) return;
  const uint32_t seq = load_u32(b + 12);
  const enum status st = block_header_decode(b, &f, seq, &h, &e);
  if (st != e.code) abort();
  if (st || h.stored_len > n - BLOCK_HEADER_LEN) return;
  if (h.raw_len > f.max_raw || h.stored_len > h.packed_len || h.count > h.raw_len) abort();
  if (seal) store_u64(b, XXH3_64bits(b + 8, BLOCK_HEADER_LEN - 8 + h.stored_len));
  if (!block_verify(b, &h)) return;
  unsigned char *again = malloc(BLOCK_HEADER_LEN + h.stored_len);
  if (!again) abort();
  memcpy(again + BLOCK_HEADER_LEN, b + BLOCK_HEADER_LEN, h.stored_len);
  block_header_encode(&h, again);
  if (memcmp(again, b, BLOCK_HEADER_LEN + h.stored_len) != 0) abort();
  free(again);
}

static void fuzz_end(unsigned char *b, size_t n, bool seal) {
  struct end_record r;
  struct error e = {0};
  if (n < END_BLOCK_LEN) return;
  if (seal) store_u64(b, XXH3_64bits(b + 8, END_BLOCK_LEN - 8));
  const enum status st = end_block_decode(b, &r, &e);
  if (st != e.code) abort();
  if (st) return;
  unsigned char again[END_BLOCK_LEN];
  end_block_encode(&r, r.n_blocks, again);
  if (memcmp(again + BLOCK_HEADER_LEN, b + BLOCK_HEADER_LEN, END_PAYLOAD_LEN) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  const size_t n = size - 1;
  unsigned char *b = malloc(n ? n : 1);
  if (!b) abort();
  memcpy(b, data + 1, n);
  const bool seal = data[0] & 0x80;
  switch (data[0] & 3) {
  case 0: fuzz_file_header(b, n, seal); break;
  case 1: fuzz_block(b, n, seal); break;
  case 2: fuzz_end(b, n, seal); break;
  default:
    // All of them begin with bytes that are hard to guess.
    if (n >= 8) memcpy(b, "\x89RIF\r\n\x1a\n", 8);
    fuzz_file_header(b, n, true);
  }
  free(b);
  return 0;
}
