#include "hash.h"

#include <xxhash.h>

bool hash_open(struct hash *h, bool wide) {
  h->wide = wide;
  h->state = XXH3_createState();
  if (!h->state) return false;
  hash_reset(h);
  return true;
}

void hash_close(struct hash *h) {
  XXH3_freeState(h->state);
  h->state = NULL;
}

void hash_reset(struct hash *h) {
  h->at = h->buffer;
  if (h->wide)
    XXH3_128bits_reset(h->state);
  else
    XXH3_64bits_reset(h->state);
}

static void update(struct hash *h, const void *p, size_t n) {
  if (h->wide)
    XXH3_128bits_update(h->state, p, n);
  else
    XXH3_64bits_update(h->state, p, n);
}

void hash_put_slow(struct hash *h, const void *p, size_t n) {
  update(h, h->buffer, (size_t) (h->at - h->buffer));
  h->at = h->buffer;
  if (n > HASH_BUFFER / 2) {
    update(h, p, n);
    return;
  }
  memcpy(h->at, p, n);
  h->at += n;
}

static void write_digits(const unsigned char *p, size_t n, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    *out++ = digits[p[i] >> 4];
    *out++ = digits[p[i] & 15];
  }
  *out = 0;
}

void hash_text(struct hash *h, char out[HASH_TEXT]) {
  hash_put_slow(h, "", 0);
  if (h->wide) {
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(h->state));
    write_digits(c.digest, sizeof(c.digest), out);
  } else {
    XXH64_canonical_t c;
    XXH64_canonicalFromHash(&c, XXH3_64bits_digest(h->state));
    write_digits(c.digest, sizeof(c.digest), out);
  }
}
