#include "sniff.h"

#include <stdbool.h>
#include <string.h>

struct signature {
  const char *bytes;
  size_t len;
  const char *name;
};

#define SIGNATURE(bytes, name) {bytes, sizeof(bytes) - 1, name}

// The first that fits counts. Sources: each format's own specification, or a file it wrote.
static const struct signature signatures[] = {
    SIGNATURE("\x0b\x0e\x0a\xc1", "a qs2 file, not a riffle file; qs2::qs_read() reads it"),
    SIGNATURE("\x0b\x0e\x0a\xcd", "a qdata file, not a riffle file; qs2::qd_read() reads it"),
    SIGNATURE("\x0b\x0e\x0a\x0c",
              "a file of the older qs package, not a riffle file; qs::qread() reads it"),
    SIGNATURE("PAR1", "a parquet file, not a riffle file; arrow::read_parquet() reads it"),
    SIGNATURE("ARROW1", "a feather (Arrow) file, not a riffle file; arrow::read_feather() reads it"),
    SIGNATURE("FEA1", "a feather file, not a riffle file; arrow::read_feather() reads it"),
    SIGNATURE("RDX2\n", "an RData file, not a riffle file; load() reads it"),
    SIGNATURE("RDX3\n", "an RData file, not a riffle file; load() reads it"),
    SIGNATURE("RDA2\n", "an RData file, not a riffle file; load() reads it"),
    SIGNATURE("RDA3\n", "an RData file, not a riffle file; load() reads it"),
    SIGNATURE("X\n\0\0\0", "an uncompressed RDS file, not a riffle file; readRDS() reads it"),
    SIGNATURE("A\n", "an ASCII RDS file, not a riffle file; readRDS() reads it"),
    SIGNATURE("B\n", "an uncompressed RDS file, not a riffle file; readRDS() reads it"),
    SIGNATURE("\x1f\x8b",
              "a gzip file, not a riffle file: an RDS file, which readRDS() reads, or an RData file, "
              "which load() reads"),
    SIGNATURE("BZh", "a bzip2 file, not a riffle file; readRDS() reads it if it is an RDS file"),
    SIGNATURE("\xfd" "7zXZ", "an xz file, not a riffle file; readRDS() reads it if it is an RDS file"),
    SIGNATURE("\x28\xb5\x2f\xfd",
              "a zstd file, not a riffle file; readRDS() of a newer R reads it if it is an RDS file"),
    SIGNATURE("PK\x03\x04", "a zip file, not a riffle file"),
    SIGNATURE("SQLite format 3", "an SQLite file, not a riffle file"),
    SIGNATURE("\x89HDF\r\n", "an HDF5 file, not a riffle file"),
    SIGNATURE("\x89PNG", "a PNG file, not a riffle file"),
};

// fst has no leading magic: a hash of the table's header, then its version (1) twice and zeros.
static bool is_fst(const unsigned char *p, size_t n) {
  static const unsigned char mark[] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  return n >= 8 + sizeof(mark) && memcmp(p + 8, mark, sizeof(mark)) == 0;
}

static bool is_text(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i] < 0x20 && (p[i] < '\t' || p[i] > '\r')) return false;
  return n > 0;
}

const char *sniff(const unsigned char *p, size_t n) {
  if (n == 0) return "an empty file";
  for (size_t i = 0; i < sizeof(signatures) / sizeof(*signatures); i++) {
    const struct signature *s = &signatures[i];
    if (n >= s->len && memcmp(p, s->bytes, s->len) == 0) return s->name;
  }
  if (is_fst(p, n)) return "an fst file, not a riffle file; fst::read_fst() reads it";
  if (is_text(p, n)) return "a text file, not a riffle file";
  return "not a riffle file, nor any other that riffle knows";
}
