// probe.c - configure compiles and links this with one of PROBE_ALL, PROBE_ZSTD, PROBE_LZ4,
// PROBE_XXHASH and PROBE_ZLIB defined, to see whether the libraries are there and new enough.

#if defined(PROBE_ALL) || defined(PROBE_ZSTD)
#include <zstd.h>
#if ZSTD_VERSION_NUMBER < 10400
#error "this libzstd is older than 1.4"
#endif
static int has_zstd(void) { return ZSTD_compressBound(1) > 0 && ZSTD_maxCLevel() > 0; }
#else
static int has_zstd(void) { return 1; }
#endif

#if defined(PROBE_ALL) || defined(PROBE_LZ4)
#include <lz4.h>
static int has_lz4(void) { return LZ4_compressBound(1) > 0; }
#else
static int has_lz4(void) { return 1; }
#endif

#if defined(PROBE_ALL) || defined(PROBE_XXHASH)
#include <xxhash.h>
#if XXH_VERSION_NUMBER < 800
#error "this libxxhash is older than 0.8"
#endif
static int has_xxhash(void) { return XXH3_64bits("riffle", 6) != 0; }
#else
static int has_xxhash(void) { return 1; }
#endif

#if defined(PROBE_ALL) || defined(PROBE_ZLIB)
#include <zlib.h>
#if ZLIB_VERNUM < 0x1260
#error "this zlib is older than 1.2.6"
#endif
static int has_zlib(void) { return compressBound(1) > 0; }
#else
static int has_zlib(void) { return 1; }
#endif

int main(void) { return has_zstd() && has_lz4() && has_xxhash() && has_zlib() ? 0 : 1; }
