// hash.h - XXH3 of bytes that come piece by piece, as text.
//
// Small pieces are collected in a buffer, large ones are hashed where they are.
#ifndef RIFFLE_HASH_H
#define RIFFLE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { HASH_BUFFER = 1 << 14, HASH_TEXT = 33 };

struct hash {
  void *state;  // XXH3's
  bool wide;    // 128 bits, else 64
  unsigned char *at;
  unsigned char buffer[HASH_BUFFER];
};

// False: memory ran out. Safe to close in any case.
bool hash_open(struct hash *h, bool wide);
void hash_close(struct hash *h);

// Forgets what was put.
void hash_reset(struct hash *h);

void hash_put_slow(struct hash *h, const void *p, size_t n);
static inline void hash_put(struct hash *h, const void *p, size_t n) {
  if (n > (size_t) (h->buffer + HASH_BUFFER - h->at)) {
    hash_put_slow(h, p, n);
    return;
  }
  if (n) memcpy(h->at, p, n);
  h->at += n;
}

// The hash of all that was put, in XXH3's canonical order: 16 or 32 digits, and a zero byte.
void hash_text(struct hash *h, char out[HASH_TEXT]);

#endif
