#include <R.h>

#include "hash.h"
#include "r_args.h"
#include "r_attrib.h"
#include "r_calls.h"
#include "r_ffi.h"
#include "r_stream.h"
#include "r_walk.h"

enum { INTERRUPT_STRIDE = 1 << 24 };  // bytes between two looks for an interrupt

struct hash_call {
  SEXP x;
  bool wide;
  bool general;  // by R's serializer in any case; for tests
  struct hash hash;
};

static const struct subject hashed = {.doing = "hash", .thing = "the object"};

static void hash_raw(struct hash_call *c) {
  const unsigned char *p = RAW_RO(c->x);
  size_t left = (size_t) XLENGTH(c->x);
  while (left) {
    const size_t n = left < INTERRUPT_STRIDE ? left : INTERRUPT_STRIDE;
    hash_put(&c->hash, p, n);
    p += n;
    left -= n;
    R_CheckUserInterrupt();
  }
}

static void hash_object(struct hash_call *c) {
  if (!c->general && walk_hash(c->x, &c->hash, &hashed)) return;
  hash_reset(&c->hash);
  stream_hash(c->x, &c->hash);
}

static SEXP hash_body(void *data) {
  struct hash_call *c = data;
  if (!hash_open(&c->hash, c->wide)) throw_no_memory("starting", &hashed);
  if (TYPEOF(c->x) == RAWSXP && !attrib_any(c->x) && !c->general)
    hash_raw(c);
  else
    hash_object(c);
  char text[HASH_TEXT];
  hash_text(&c->hash, text);
  return Rf_mkString(text);
}

static void hash_cleanup(void *data) {
  hash_close(&((struct hash_call *) data)->hash);
  calls_end();
}

SEXP ffi_hash(SEXP x, SEXP bits, SEXP general) {
  struct hash_call c = {.x = x, .wide = arg_is_128(bits), .general = arg_flag(general, "general")};
  calls_begin();
  return R_ExecWithCleanup(hash_body, &c, hash_cleanup, &c);
}
