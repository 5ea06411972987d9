// libFuzzer: a qs2 file through the reader, with one thread and with three. Both must come to the same
// end and the same stream. The first byte says how: the header and the hash made right first (else
// nothing but the intact gets far), or the hash left out, so that damage is met where it is.
// Seeds are written to the corpus folder on the command line.
#include "check.h"
#include "container.h"
#include "files.h"
#include "seeds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOW_HEADER = 1, HOW_HASH = 2, HOW_NO_HASH = 4, HEADER = 24, MOST = 1 << 22 };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *folder = seeds_folder(*argc, *argv);
  for (unsigned i = 0; folder && i < 8; i++) {
    struct script s;
    script_open(&s);
    script_bytes(&s, i < 6 ? 300 : (1 << 20) + 300, i % 2 ? 256 : 4);
    struct writer_opts opts = opts_of(CODEC_ZSTD, 1, 1);
    opts.container = &qs2_out;
    opts.block.filter = i % 4 < 2;
    struct bytes file = file_of(&s, &opts);
    seed_write(folder, i, HOW_HEADER | HOW_NO_HASH, &file);
    bytes_free(&file);
    script_close(&s);
  }
  return 0;
}

static enum status take(struct reader *r, struct bytes *out) {
  enum status st;
  bool more;
  for (;;) {
    while ((st = reader_more(r, &more)) == AGAIN) {}
    if (st || !more) return st;
    const size_t n = (size_t) (r->end - r->at);
    if (n > MOST - out->len) return OK;
    memcpy(out->p + out->len, r->at, n);
    out->len += n;
    r->at = r->end;
  }
}

static enum status read_file(const struct bytes *file, unsigned n_threads, struct bytes *out) {
  const struct reader_opts opts = {.container = &qs2_in, .n_threads = n_threads};
  struct source source;
  struct reader r = {0};
  source_memory(&source, file->p, file->len);
  enum status st = reader_open(&r, &source, &opts);
  if (st == OK)
    while ((st = reader_start(&r)) == AGAIN) {}
  if (st == OK) st = take(&r, out);
  if (st != r.err.code) abort();
  if (st == ERR_NOMEM || st == ERR_IO || st == ERR_CODEC) abort();
  reader_close(&r);
  source_close(&source);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 + HEADER) return 0;
  const unsigned how = data[0];
  struct bytes file = {make_copy(data + 1, size - 1), size - 1};
  if (how & HOW_HEADER) memcpy(file.p, "\x0b\x0e\x0a\xc1\1\1", 6);
  if (how & HOW_HEADER) file.p[6] = host_is_big_endian() ? 1 : 2;
  uint64_t hash = how & HOW_HASH ? XXH3_64bits(file.p + HEADER, file.len - HEADER) : 0;
  if (how & (HOW_HASH | HOW_NO_HASH)) memcpy(file.p + 16, &hash, 8);
  struct bytes a = {make(MOST), 0}, b = {make(MOST), 0};
  const enum status st_a = read_file(&file, 1, &a), st_b = read_file(&file, 3, &b);
  if (st_a != st_b) abort();
  if (st_a == OK && (a.len != b.len || !same_bytes(a.p, b.p, a.len))) abort();
  bytes_free(&a);
  bytes_free(&b);
  bytes_free(&file);
  return 0;
}
