// The file is R's stream itself: nothing to decode, and nothing to check but its length.
#include "container.h"

enum { BARE_BLOCK_LEN = 1 << 18 };

// Nothing is read: of a connection that goes on after the object no byte may be taken too early.
static enum status start(struct reader *r) {
  r->verified = true;
  if (r->source->can_seek) r->stream_total = r->source->len;
  return OK;
}

static enum status cut(struct reader *r, struct read_job *j) {
  const bool less = r->opts.exact && r->wanted < BARE_BLOCK_LEN;
  size_t n;
  const enum status st = reader_some(r, less ? r->wanted : BARE_BLOCK_LEN, &n);
  if (st) return st;
  r->ended = n == 0;
  j->header = (struct block_header){.kind = BLOCK_BYTES};
  j->block = r->piece->bytes + r->piece_at;
  j->block_len = j->raw_len = n;
  r->piece_at += n;
  r->n_blocks++;
  return OK;
}

static enum status decode(struct reader *r, struct coder *c, struct read_job *j, struct error *e) {
  (void) r, (void) c, (void) e;
  j->view = j->block;
  return OK;
}

const struct container_in bare_in = {
    .start = start, .cut = cut, .decode = decode, .may_go_on = true, .max_threads = 1};

static enum status encode(struct writer *w, struct coder *c, const struct block_input *in,
                          struct buffer *out, size_t *len, uint64_t *hash, struct error *e) {
  (void) w, (void) c;
  if (!buffer_reserve(out, in->raw_len)) return fail(e, ERR_NOMEM, 0, "packing a block");
  memcpy(out->p, in->raw, in->raw_len);
  *len = in->raw_len;
  *hash = 0;
  return OK;
}

const struct container_out bare_out = {.encode = encode};
