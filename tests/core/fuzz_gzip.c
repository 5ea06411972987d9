// libFuzzer: a gzip'ed stream through the reader, from memory and from a pipe, with one thread and
// with two. All must come to the same end, and what they read must be what zlib alone makes of it.
// The first byte says how: as it is, or its parts made members, with what is left behind them.
#include "check.h"
#include "container.h"
#include "files.h"
#include "members.h"
#include "seeds.h"
#include "unsized.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  HOW_MEMBERS = 1,   // parts between bytes 0xfe become members, but for the last
  HOW_BROKEN = 2,    // then one byte of it is another
  HOW_LIMIT = 4,
  HOW_BUILD = 8,
  MOST = 1 << 22     // bytes of stream that are read
};

// ---- files --------------------------------------------------------------------------------

static struct bytes members_of(const uint8_t *data, size_t size, unsigned how) {
  struct bytes file = {0};
  const uint8_t *end = data + size, *border;
  while (size && (border = memchr(data, 0xfe, size))) {
    add_member(&file, data, (size_t) (border - data), (int) (how >> 4) % 10, NULL);
    data = border + 1;
    size = (size_t) (end - data);
  }
  if (!(file.p = realloc(file.p, file.len + size + 1))) abort();
  memcpy(file.p + file.len, data, size);
  file.len += size;
  if (how & HOW_BROKEN && file.len) file.p[size * 7 % file.len] ^= (unsigned char) (how | 1);
  return file;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *folder = seeds_folder(*argc, *argv);
  for (unsigned i = 0; folder && i < 20; i++) {
    struct bytes file = {0}, text = {make(60000), i < 10 ? 50 : 60000};
    for (size_t k = 0; k < text.len; k++) text.p[k] = (unsigned char) random_below(1 + i % 3 * 90);
    add_member(&file, text.p, text.len / 2, (int) i % 10, NULL);
    add_member(&file, text.p, text.len / 2, 9, NULL);
    seed_write(folder, i, i % 2 ? HOW_MEMBERS : 0, &file);
    bytes_free(&file);
    bytes_free(&text);
  }
  return 0;
}

// ---- what it should be --------------------------------------------------------------------

// The stream of all whole members. *well: and there is nothing wrong with the file.
static size_t reference(const struct bytes *file, unsigned char *out, bool *well) {
  z_stream z = {0};
  if (inflateInit2(&z, 15 + 16) != Z_OK) abort();
  size_t len = 0;
  *well = false;
  z.next_in = file->p;
  z.avail_in = (uInt) file->len;
  z.next_out = out;
  z.avail_out = MOST;
  while (z.avail_in >= 2 && z.next_in[0] == 0x1f && z.next_in[1] == 0x8b) {
    *well = inflate(&z, Z_FINISH) == Z_STREAM_END;
    if (!*well) break;
    len = MOST - z.avail_out;
    if (inflateReset(&z) != Z_OK) abort();
  }
  inflateEnd(&z);
  return len;
}

// ---- what it is ---------------------------------------------------------------------------

struct outcome {
  enum status status;
  bool goes_on;
};

static enum status take(struct reader *r, unsigned char *out, size_t n) {
  void *to = out;
  for (unsigned turn = 0; n; turn++) {
    const size_t k = n < 100 || turn % 7 == 0 ? n : 1 + turn % 100;
    size_t left = k;
    enum status st;
    while ((st = r->opts.build && turn % 3 ? reader_numbers(r, &to, &left)
                                           : reader_get(r, &to, &left)) == AGAIN) {}
    if (st) return st;
    n -= k;
  }
  enum status st;
  while ((st = reader_finish(r)) == AGAIN) {}
  return st;
}

static struct outcome read_file(const struct bytes *file, unsigned how, unsigned n_threads,
                                bool from_pipe, unsigned char *out, size_t n) {
  const struct reader_opts opts = {.n_threads = n_threads,
                                   .build = how & HOW_BUILD,
                                   .max_len = how & HOW_LIMIT ? n : MOST,
                                   .container = &gunzip_in};
  struct unsized pipe;
  struct source memory;
  struct reader r = {0};
  unsized_open(&pipe, file, true);
  source_memory(&memory, file->p, file->len);
  struct outcome o;
  o.status = reader_open(&r, from_pipe ? &pipe.source : &memory, &opts);
  if (o.status == OK)
    while ((o.status = reader_start(&r)) == AGAIN) {}
  if (o.status == OK) o.status = take(&r, out, n);
  o.goes_on = r.goes_on;
  if (o.status != r.err.code) abort();
  if (o.status == ERR_NOMEM || o.status == ERR_IO || o.status == ERR_CODEC) abort();
  reader_close(&r);
  source_close(&pipe.source);
  source_close(&memory);
  return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static unsigned char want[MOST], out[MOST];
  if (size < 1) return 0;
  const unsigned how = data[0];
  struct bytes file = {NULL, size - 1};
  if (how & HOW_MEMBERS)
    file = members_of(data + 1, size - 1, how);
  else
    file.p = make_copy(data + 1, size - 1);
  bool well;
  const size_t n = reference(&file, want, &well);
  const struct outcome first = read_file(&file, how, 1, false, out, n);
  if (first.status == OK && (!well || !same_bytes(out, want, n))) abort();
  if (first.status != OK && well && !(first.status == ERR_LIMIT && n == 0)) abort();
  for (unsigned i = 1; i < 4; i++) {
    const struct outcome o = read_file(&file, how, 1 + i / 2, i % 2, out, n);
    if (o.status == OK && (!same_bytes(out, want, n) || o.goes_on != first.goes_on)) abort();
    // Of two things that are wrong either may be found first.
    if ((o.status == OK) != (first.status == OK)) abort();
  }
  bytes_free(&file);
  return 0;
}
