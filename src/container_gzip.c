// A gzip'ed stream, as saveRDS() and gzip make it.
//
// Written, each block is a member of its own, so that threads make them side by side; all readers
// of gzip take the members one after the other as one stream. Read, a file may be one member of
// any length, whose bytes depend on all before them: the blocks are stretches of the compressed
// bytes, and are inflated in order, by whichever thread has the one that is due.
#define ZLIB_CONST  // its input is const
#include <pthread.h>
#include <zlib.h>

#include "container.h"

enum {
  GUNZIP_WRAPPER = 16,        // of inflateInit2(): gzip
  GUNZIP_BLOCK_LEN = 1 << 14, // compressed
  GUNZIP_MAX_RATIO = 1032,    // deflate's: 258 bytes for two bits
  // Doubled eight times it takes all that a block can become.
  GUNZIP_FIRST_RAW = GUNZIP_MAX_RATIO * GUNZIP_BLOCK_LEN / 256 + (1 << 10)
};

// ---- reading ------------------------------------------------------------------------------

enum place {
  AT_BORDER,    // before a member: nothing of it is there
  AFTER_BYTE,   // the first byte of its magic is
  IN_MEMBER,
  BEHIND_STREAM // what follows is no member: ignored
};

struct gunzip {
  // The thread's whose job has the number `next`; other threads look at that under the lock.
  z_stream z;
  enum place place;
  pthread_mutex_t lock;
  pthread_cond_t turn;  // `next` or `err` changed
  uint64_t next;        // guarded by lock: the job that is due
  struct error err;     // guarded by lock: the first failure; no job is due any more
  // The owner's.
  bool end_cut;         // the block of nothing that stands for the end of the file has been cut
};

static const unsigned char magic[2] = {0x1f, 0x8b};

static bool open_lock(struct gunzip *g) {
  if (pthread_mutex_init(&g->lock, NULL)) return false;
  if (pthread_cond_init(&g->turn, NULL) == 0) return true;
  pthread_mutex_destroy(&g->lock);
  return false;
}

static enum status open_state(struct reader *r) {
  struct gunzip *g = calloc(1, sizeof(*g));
  if (!g || inflateInit2(&g->z, MAX_WBITS + GUNZIP_WRAPPER) != Z_OK) {
    free(g);
    return fail(&r->err, ERR_NOMEM, 0, "starting");
  }
  if (!open_lock(g)) {
    inflateEnd(&g->z);
    free(g);
    return fail(&r->err, ERR_NOMEM, 0, "starting");
  }
  r->state = g;
  return OK;
}

static void gunzip_close(struct reader *r) {
  struct gunzip *g = r->state;
  if (!g) return;
  inflateEnd(&g->z);
  pthread_cond_destroy(&g->turn);
  pthread_mutex_destroy(&g->lock);
  free(g);
  r->state = NULL;
}

// The most that a file of this length can hold.
static uint64_t most_of(uint64_t len) {
  return len < UINT64_MAX / GUNZIP_MAX_RATIO - 1 ? (len + 1) * GUNZIP_MAX_RATIO : UINT64_MAX;
}

static enum status gunzip_start(struct reader *r) {
  const enum status st = reader_need(r, sizeof(magic));
  if (st == ERR_TRUNCATED) r->err = (struct error){0};  // too short to be gzip'ed at all
  else if (st) return st;
  size_t n;
  const unsigned char *first = reader_first_bytes(r, &n);
  if (n < sizeof(magic) || memcmp(first, magic, sizeof(magic)) != 0)
    return fail(&r->err, ERR_FORMAT, 0, "it is not gzip'ed");
  r->verified = true;
  if (r->source->can_seek) r->stream_total = most_of(r->source->len);
  return open_state(r);
}

static enum status gunzip_cut(struct reader *r, struct read_job *j) {
  struct gunzip *g = r->state;
  size_t n;
  const enum status st = reader_some(r, GUNZIP_BLOCK_LEN, &n);
  if (st) return st;
  if (n == 0 && g->end_cut) {
    r->ended = true;
    return OK;
  }
  g->end_cut = n == 0;
  j->header = (struct block_header){.kind = BLOCK_BYTES};
  j->block = r->piece->bytes + r->piece_at;
  j->block_len = n;
  j->raw_len = GUNZIP_FIRST_RAW;  // a guess, by which threads are started
  j->seq = r->n_blocks++;
  r->piece_at += n;
  return OK;
}

static enum status inflate_failed(const struct gunzip *g, int rc, struct error *e) {
  const char *said = g->z.msg ? g->z.msg : "";
  if (rc == Z_MEM_ERROR) return fail(e, ERR_NOMEM, 0, "decompressing");
  if (strcmp(said, "incorrect data check") == 0)
    return fail(e, ERR_CORRUPT, 0, "its gzip checksum differs");
  if (strcmp(said, "incorrect length check") == 0)
    return fail(e, ERR_CORRUPT, 0, "its length is not the one that its gzip trailer tells");
  return fail(e, ERR_CORRUPT, 0, "its gzip data does not decode");
}

// Up to the end of the member or of the z.avail_in bytes at z.next_in.
static enum status inflate_some(struct gunzip *g, struct read_job *j, struct error *e) {
  size_t room;
  int rc;
  do {
    if (j->raw_len == j->raw.cap && !buffer_extend(&j->raw, 2 * j->raw.cap))
      return fail(e, ERR_NOMEM, 0, "decompressing");
    room = j->raw.cap - j->raw_len;
    g->z.next_out = j->raw.p + j->raw_len;
    g->z.avail_out = (uInt) room;
    rc = inflate(&g->z, Z_NO_FLUSH);
    j->raw_len += room - g->z.avail_out;
  } while (rc == Z_OK && g->z.avail_out == 0);
  if (rc == Z_STREAM_END) g->place = AT_BORDER;
  // Z_BUF_ERROR: it was given no byte that it could use, which is no failure.
  return rc == Z_OK || rc == Z_BUF_ERROR || rc == Z_STREAM_END ? OK : inflate_failed(g, rc, e);
}

// The whole magic is there: zlib begins with it.
static enum status enter_member(struct gunzip *g, struct read_job *j, struct error *e) {
  const unsigned char *next = g->z.next_in;
  const uInt left = g->z.avail_in;
  if (inflateReset(&g->z) != Z_OK) return fail(e, ERR_CODEC, 0, "decompressing with zlib");
  g->place = IN_MEMBER;
  g->z.next_in = magic;
  g->z.avail_in = sizeof(magic);
  const enum status st = inflate_some(g, j, e);
  g->z.next_in = next;
  g->z.avail_in = left;
  return st;
}

// The next byte, which is to be one of the magic.
static enum status take_magic(struct gunzip *g, struct read_job *j, struct error *e) {
  const bool second = g->place == AFTER_BYTE;
  const unsigned char byte = *g->z.next_in++;
  g->z.avail_in--;
  g->place = byte != magic[second] ? BEHIND_STREAM : AFTER_BYTE;
  return second && g->place == AFTER_BYTE ? enter_member(g, j, e) : OK;
}

static enum status at_end(struct gunzip *g, struct error *e) {
  if (g->place == AFTER_BYTE) g->place = BEHIND_STREAM;
  return g->place == IN_MEMBER ? fail(e, ERR_TRUNCATED, 0, "it is truncated") : OK;
}

static enum status inflate_block(struct gunzip *g, struct read_job *j, struct error *e) {
  j->raw_len = 0;
  if (!buffer_extend(&j->raw, GUNZIP_FIRST_RAW)) return fail(e, ERR_NOMEM, 0, "decompressing");
  g->z.next_in = j->block;
  g->z.avail_in = (uInt) j->block_len;
  enum status st = j->block_len ? OK : at_end(g, e);
  while (st == OK && g->z.avail_in && g->place != BEHIND_STREAM)
    st = g->place == IN_MEMBER ? inflate_some(g, j, e) : take_magic(g, j, e);
  j->goes_on = g->place == BEHIND_STREAM;
  j->view = j->raw.p;
  return st;
}

// Threads take jobs in order, so the one that is due runs while others wait for it here. A failure
// ends all waiting: the jobs behind it are given the same error.
static enum status gunzip_decode(struct reader *r, struct coder *c, struct read_job *j,
                                 struct error *e) {
  struct gunzip *g = r->state;
  (void) c;
  pthread_mutex_lock(&g->lock);
  while (g->next != j->seq && g->err.code == OK) pthread_cond_wait(&g->turn, &g->lock);
  *e = g->err;
  pthread_mutex_unlock(&g->lock);
  if (e->code) return e->code;
  inflate_block(g, j, e);
  pthread_mutex_lock(&g->lock);
  g->next++;
  g->err = *e;
  pthread_cond_broadcast(&g->turn);
  pthread_mutex_unlock(&g->lock);
  return e->code;
}

const struct container_in gunzip_in = {.start = gunzip_start,
                                       .cut = gunzip_cut,
                                       .decode = gunzip_decode,
                                       .close = gunzip_close,
                                       .may_go_on = true,
                                       .checks_late = true,
                                       .max_threads = 2};

// ---- writing ------------------------------------------------------------------------------

static enum status gzip_encode(struct writer *w, struct coder *c, const struct block_input *in,
                               struct buffer *out, size_t *len, uint64_t *hash, struct error *e) {
  const int level = w->block.level < 0 ? 0 : w->block.level > 9 ? 9 : w->block.level;
  *hash = 0;
  return codec_gzip(&c->codec, level, in->raw, in->raw_len, out, len, e);
}

// Of nothing too there is a member: an empty file is not gzip'ed.
static enum status gzip_finish(struct writer *w) {
  static const unsigned char empty[20] = {0x1f, 0x8b, 8, [9] = 255, [10] = 3};  // of no system
  return w->n_blocks ? OK : w->sink->write(w->sink, empty, sizeof(empty), &w->err);
}

const struct container_out gzip_out = {.encode = gzip_encode, .finish = gzip_finish};
