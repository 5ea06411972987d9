// sniff.h - what a file is, told from its first bytes.
#ifndef RIFFLE_SNIFF_H
#define RIFFLE_SNIFF_H

#include <stddef.h>

// What a file is, as far as its first bytes tell: SNIFF_LEN are enough.
enum file_format {
  FORMAT_OTHER,
  FORMAT_RIFFLE,
  FORMAT_QS2,
  FORMAT_GZIP,
  FORMAT_STREAM,  // R's stream, uncompressed
  FORMAT_PACKED   // compressed in a way that R's gzfile() knows: bzip2, xz, lzma, zstd
};
enum { SNIFF_LEN = 6 };
enum file_format sniff_format(const unsigned char *p, size_t n);

// For one that can't be read: a phrase that completes "it is ...", never NULL: "a parquet file; ...".
const char *sniff(const unsigned char *p, size_t n);

#endif
