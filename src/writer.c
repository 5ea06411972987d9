#include "writer.h"

#include <xxhash.h>

#include "container.h"

enum { RAW_FIRST = 1 << 9 };  // small enough for malloc to hand it out again and again

struct write_job {
  struct block_input in;
  struct buffer raw;           // what in.raw points to, or a batch's characters, if copied
  size_t kept;                 // characters in `raw`
  struct string_batch batch;   // what in.strings points into
  struct buffer out;           // the finished block
  size_t out_len;
  uint64_t hash;
};

static struct write_job *job_of(const struct writer *w) { return w->slot->job; }

// ---- what the ring calls ------------------------------------------------------------------

static enum status work(void *ctx, unsigned thread, void *job, struct error *e) {
  struct writer *w = ctx;
  struct write_job *j = job;
  return w->container->encode(w, &w->coders[thread], &j->in, &j->out, &j->out_len, &j->hash, e);
}

static enum status drain(void *ctx, void *job, struct error *e) {
  struct writer *w = ctx;
  const struct write_job *j = job;
  if (w->container->chain && w->container->chain(w, j->out.p, j->out_len, j->hash, e)) return e->code;
  return w->sink->write(w->sink, j->out.p, j->out_len, e);
}

// ---- open ---------------------------------------------------------------------------------

enum status writer_open(struct writer *w, struct sink *sink, const struct writer_opts *opts) {
  *w = (struct writer){.sink = sink,
                       .container = opts->container ? opts->container : &riffle_out,
                       .block = opts->block,
                       .kind = BLOCK_BYTES};
  const size_t n_slots = 2 * (size_t) opts->n_threads + 2;
  const struct ring_ops ops = {
      .work = work, .drain = drain, .drain_on_producer = sink->producer_only};
  if (ring_open(&w->ring, n_slots, opts->n_threads, ops, w))
    return fail(&w->err, ERR_NOMEM, 0, "starting");
  w->n_coders = opts->n_threads;
  w->jobs = calloc(n_slots, sizeof(struct write_job));
  w->coders = calloc(w->n_coders, sizeof(struct coder));
  w->chain = XXH3_createState();
  if (!w->jobs || !w->coders || !w->chain) return fail(&w->err, ERR_NOMEM, 0, "starting");
  for (size_t i = 0; i < n_slots; i++) w->ring.slots[i].job = &w->jobs[i];
  XXH3_64bits_reset(w->chain);
  return w->container->begin ? w->container->begin(w, opts) : OK;
}

// ---- fill and submit ----------------------------------------------------------------------

static enum status keep_status(struct writer *w, enum status st) {
  if (st != OK && st != AGAIN && w->err.code == OK) w->err = w->ring.err;
  return st;
}

static enum status no_memory(struct writer *w) {
  return fail(&w->err, ERR_NOMEM, 0, "filling a block");
}

static enum status claim(struct writer *w) {
  if (w->err.code) return w->err.code;
  const enum status st = ring_claim(&w->ring, &w->slot);
  if (st) {
    w->slot = NULL;
    return keep_status(w, st);
  }
  struct write_job *j = job_of(w);
  j->in = (struct block_input){.kind = w->kind, .type = w->type};
  j->kept = 0;
  return OK;
}

static enum status submit(struct writer *w) {
  struct write_job *j = job_of(w);
  struct slot *slot = w->slot;
  j->in.seq = (uint32_t) w->n_blocks++;
  w->stream_len += j->in.raw_len;
  w->slot = NULL;
  w->at = w->end = NULL;
  return keep_status(w, ring_submit(&w->ring, slot, j->in.raw_len));
}

// Submits the block being filled, if there is one and it holds anything.
static enum status flush(struct writer *w) {
  if (!w->slot) return OK;
  struct write_job *j = job_of(w);
  if (j->in.kind == BLOCK_STRINGS) {
    j->in.strings = string_batch_array(&j->batch);
    j->in.raw_len = j->batch.stream_len;
  } else if (w->at) {
    j->in.raw = j->raw.p;
    j->in.raw_len = (size_t) (w->at - j->raw.p);
    // Only whole numbers are numbers.
    if (j->in.raw_len % number_size(j->in.type)) j->in.kind = BLOCK_BYTES;
  }
  if (j->in.raw_len) return submit(w);
  ring_unclaim(&w->ring);
  w->slot = NULL;
  w->at = w->end = NULL;
  return OK;
}

static size_t full_len(const struct writer *w) {
  return w->kind == BLOCK_BYTES ? BYTES_BLOCK_LEN : BLOCK_LEN;
}

// Room for at least one more byte: in this block, made larger, or in a new one.
static enum status make_room(struct writer *w) {
  const size_t full = full_len(w);
  if (w->slot && (size_t) (w->at - job_of(w)->raw.p) >= full && flush(w)) return w->err.code;
  if (!w->slot) {
    const enum status st = claim(w);
    if (st) return st;
    w->at = w->end = job_of(w)->raw.p;
  }
  struct write_job *j = job_of(w);
  const size_t used = (size_t) (w->at - j->raw.p);
  size_t cap = j->raw.cap > used ? j->raw.cap : j->raw.cap ? 4 * j->raw.cap : RAW_FIRST;
  if (cap > full) cap = full;
  if (!buffer_extend(&j->raw, cap)) return no_memory(w);
  w->at = j->raw.p + used;
  w->end = j->raw.p + cap;
  return OK;
}

enum status writer_put_slow(struct writer *w, const void **p, size_t *n) {
  if (w->err.code) return w->err.code;
  while (*n) {
    if (w->at == w->end) {
      const enum status st = make_room(w);
      if (st) return st;
    }
    const size_t room = (size_t) (w->end - w->at);
    const size_t k = *n < room ? *n : room;
    const void *from = *p;
    *p = (const char *) from + k;
    *n -= k;
    memcpy(w->at, from, k);
    w->at += k;
  }
  return OK;
}

static enum status begin(struct writer *w, enum block_kind kind, enum number_type type) {
  if (w->err.code || flush(w)) return w->err.code;
  w->kind = kind;
  w->type = type;
  return OK;
}

enum status writer_begin_bytes(struct writer *w) {
  return w->kind == BLOCK_BYTES ? OK : begin(w, BLOCK_BYTES, NUMBER_U8);
}

enum status writer_begin_numbers(struct writer *w, enum number_type type) {
  return !w->container->typed ? OK : begin(w, BLOCK_NUMBERS, type);
}

static enum status copy(struct writer *w, const void **p, size_t *count, size_t size) {
  size_t n = *count * size;
  const enum status st = writer_put(w, p, &n);
  *count = n / size;
  return st;
}

enum status writer_lend(struct writer *w, enum number_type type, const void **p, size_t *count) {
  const size_t size = number_size(type);
  if (!w->container->typed) return copy(w, p, count, size);
  if (begin(w, BLOCK_NUMBERS, type)) return w->err.code;
  while (*count) {
    const enum status st = claim(w);
    if (st) return st;
    const size_t n = *count < BLOCK_LEN / size ? *count : BLOCK_LEN / size;
    struct write_job *j = job_of(w);
    j->in.raw = *p;
    j->in.raw_len = n * size;
    *p = (const char *) *p + n * size;
    *count -= n;
    if (submit(w)) return w->err.code;
  }
  return begin(w, BLOCK_BYTES, NUMBER_U8);
}

bool writer_takes_strings(const struct writer *w) { return w->container->typed; }

enum status writer_batch(struct writer *w, struct string_batch **batch) {
  if (w->err.code) return w->err.code;
  if (w->kind != BLOCK_STRINGS && begin(w, BLOCK_STRINGS, NUMBER_U8)) return w->err.code;
  if (w->slot && string_batch_is_full(&job_of(w)->batch) && flush(w)) return w->err.code;
  if (!w->slot) {
    const enum status st = claim(w);
    if (st) return st;
    if (!string_batch_start(&job_of(w)->batch, &w->table)) return no_memory(w);
  }
  *batch = &job_of(w)->batch;
  return OK;
}

const char *writer_keep(struct writer *w, const void *p, size_t n) {
  struct write_job *j = job_of(w);
  if (!buffer_reserve(&j->raw, BATCH_MAX_STREAM)) return NULL;
  char *to = (char *) j->raw.p + j->kept;
  memcpy(to, p, n);
  j->kept += n;
  return to;
}

uint64_t writer_position(const struct writer *w) {
  if (!w->slot) return w->stream_len;
  const struct write_job *j = job_of(w);
  if (j->in.kind == BLOCK_STRINGS) return w->stream_len + j->batch.stream_len;
  return w->stream_len + (w->at ? (size_t) (w->at - j->raw.p) : 0);
}

// ---- finish -------------------------------------------------------------------------------

enum status writer_finish(struct writer *w) {
  if (w->err.code || flush(w)) return w->err.code;
  const enum status st = ring_wait(&w->ring);
  if (st) return keep_status(w, st);
  return w->container->finish ? w->container->finish(w) : OK;
}

void writer_close(struct writer *w) {
  ring_close(&w->ring);
  for (size_t i = 0; w->jobs && i < 2 * (size_t) w->n_coders + 2; i++) {
    buffer_close(&w->jobs[i].raw);
    buffer_close(&w->jobs[i].out);
    string_batch_close(&w->jobs[i].batch);
  }
  for (unsigned i = 0; w->coders && i < w->n_coders; i++) coder_close(&w->coders[i]);
  free(w->jobs);
  free(w->coders);
  XXH3_freeState(w->chain);
  string_table_close(&w->table);
  index_close(&w->index);
  *w = (struct writer){0};
}
