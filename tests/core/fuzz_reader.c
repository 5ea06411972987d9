// libFuzzer: a whole file through reader_open() to reader_finish(), in both modes. The first byte
// says how: checksums made right first (else none but the intact get far), threads, verify_all, a
// file that can seek or a pipe. Where both modes succeed they must give the same stream.
// The corpus folder on the command line is given files of every kind to begin with.
#include "check.h"
#include "files.h"
#include "seeds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  HOW_SEAL = 1,  // make checksums right
  HOW_SEQ = 2,   // and sequence numbers
  HOW_END = 4,   // and what the end block says
  HOW_CUT = 8,   // and cut what is behind the end block
  HOW_VERIFY = 16,
  HOW_THREADS = 32,
  HOW_PIPE = 64,
  MOST = 1 << 22  // bytes of stream that are read
};

// ---- seeds --------------------------------------------------------------------------------

static void seed_script(struct script *s, unsigned kind) {
  const enum number_shape shape = (enum number_shape)(kind / 4 % 4);
  script_open(s);
  script_bytes(s, 40, 9);
  switch (kind % 4) {
  case 0: script_numbers(s, PART_LENT, NUMBER_I32, 60, shape); break;
  case 1: script_numbers(s, PART_LENT, NUMBER_F64, 60, shape); break;
  case 2: script_strings(s, 60, kind % 8 < 4 ? 60 : 5, 9); break;
  default: script_bytes(s, 300, 4);
  }
  script_bytes(s, 40, 9);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *folder = seeds_folder(*argc, *argv);
  for (unsigned i = 0; folder && i < 3 * 16; i++) {
    struct script s;
    seed_script(&s, i % 16);
    const struct writer_opts opts = opts_of((enum codec)(i / 16), 1, 1);
    struct bytes file = file_of(&s, &opts);
    seed_write(folder, i, HOW_SEAL | HOW_SEQ | HOW_END | HOW_CUT, &file);
    bytes_free(&file);
    script_close(&s);
  }
  return 0;
}

// ---- one file -----------------------------------------------------------------------------

struct pipe_source {
  struct source source;
  const struct bytes *file;
};

static enum status pipe_read(struct source *source, void *p, size_t n, size_t *got,
                             struct error *e) {
  const struct bytes *file = ((struct pipe_source *) source)->file;
  (void) e;
  const size_t left = file->len - (size_t) source->at;
  *got = n < left ? n : left;
  const bool again = *got > 7 && source->at % 3 == 0;
  if (again) *got = *got / 2;
  if (*got) memcpy(p, file->p + source->at, *got);
  source->at += *got;
  return again ? AGAIN : OK;
}

static void pipe_close(struct source *source) { free(source->owned); }

// The consumer's calls depend on what has been read, so that they vary and can be repeated.
static enum status take(struct reader *r, bool build, struct bytes *out, size_t most) {
  enum status st = OK;
  for (unsigned turn = 0; st == OK && out->len < most; turn++) {
    void *to = out->p + out->len;
    const struct string_array *a = NULL;
    if (build && turn % 2) {
      while ((st = reader_strings(r, turn % 5 ? SIZE_MAX : 20, &a)) == AGAIN) {}
      if (st) break;
      if (a) {
        const size_t n = strings_stream_len(a);
        if (n > most - out->len) return ERR_CORRUPT;
        strings_to_stream(a, to);
        out->len += n;
        continue;
      }
    }
    const size_t room = most - out->len;
    const size_t n = turn % 3 == 0 || room < 100 ? room : 1 + turn % 100;
    size_t left = n;
    while ((st = build && turn % 3 == 0 ? reader_numbers(r, &to, &left)
                                        : reader_get(r, &to, &left)) == AGAIN) {}
    out->len += n - left;
  }
  if (st) return st;
  while ((st = reader_finish(r)) == AGAIN) {}
  return st;
}

static enum status read_file(const struct bytes *file, unsigned how, bool build, size_t most,
                             struct bytes *out) {
  const struct reader_opts opts = {
      .n_threads = how & HOW_THREADS ? 3 : 1, .verify_all = how & HOW_VERIFY, .build = build};
  struct pipe_source pipe = {{.read = pipe_read, .close = pipe_close, .fd = -1}, file};
  struct source memory;
  struct reader r = {0};
  source_memory(&memory, file->p, file->len);
  struct source *source = how & HOW_PIPE ? &pipe.source : &memory;
  enum status st = reader_open(&r, source, &opts);
  if (st == OK)
    while ((st = reader_start(&r)) == AGAIN) {}
  if (st == OK) st = take(&r, build, out, most);
  if (r.err.code != OK && st != r.err.code) abort();
  if (st == OK && r.err.code != OK) abort();
  if (st == ERR_NOMEM || st == ERR_IO || st == ERR_CODEC) abort();
  reader_close(&r);
  source_close(source);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 + FILE_HEADER_LEN) return 0;
  const unsigned how = data[0];
  struct bytes file = {make_copy(data + 1, size - 1), size - 1};
  if (how & HOW_SEAL) {
    if (how & HOW_CUT) memcpy(file.p, "\x89RIF\r\n\x1a\n\1", 9);
    const size_t end =
        reseal(&file, (how & HOW_SEQ ? RESEAL_SEQ : 0) | (how & HOW_END ? RESEAL_END : 0));
    if (end && how & HOW_CUT) file.len = end;
  }
  uint64_t most = file.len >= END_BLOCK_LEN ? load_u64(file.p + file.len - END_BLOCK_LEN + 32) : 0;
  if (most > MOST) most = MOST;
  struct bytes a = {make((size_t) most), 0}, b = {make((size_t) most), 0};
  const enum status st_a = read_file(&file, how, false, (size_t) most, &a);
  const enum status st_b = read_file(&file, how, true, (size_t) most, &b);
  if (st_a == OK && st_b == OK && (a.len != b.len || !same_bytes(a.p, b.p, a.len))) abort();
  bytes_free(&a);
  bytes_free(&b);
  bytes_free(&file);
  return 0;
}
