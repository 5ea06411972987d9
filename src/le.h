// le.h - little-endian numbers at any address.
#ifndef RIFFLE_LE_H
#define RIFFLE_LE_H

#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LE16(x) __builtin_bswap16(x)
#define LE32(x) __builtin_bswap32(x)
#define LE64(x) __builtin_bswap64(x)
#else
#define LE16(x) (x)
#define LE32(x) (x)
#define LE64(x) (x)
#endif

static inline uint16_t le_load16(const unsigned char *p) {
  uint16_t v;
  memcpy(&v, p, sizeof v);
  return LE16(v);
}

static inline uint32_t le_load32(const unsigned char *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return LE32(v);
}

static inline uint64_t le_load64(const unsigned char *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return LE64(v);
}

static inline void le_store16(unsigned char *p, uint16_t v) {
  v = LE16(v);
  memcpy(p, &v, sizeof v);
}

static inline void le_store32(unsigned char *p, uint32_t v) {
  v = LE32(v);
  memcpy(p, &v, sizeof v);
}

static inline void le_store64(unsigned char *p, uint64_t v) {
  v = LE64(v);
  memcpy(p, &v, sizeof v);
}

#endif
