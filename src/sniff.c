#include "sniff.h"

#include <stdbool.h>
#include <string.h>

struct signature {
  const char *bytes;
  size_t len;
  const char *name;
};

#define SIGNATURE(bytes, name) {bytes, sizeof(bytes) - 1, name}

// Sources: each format's own specification, or a file it wrote. The first that fits counts.
static const struct signature signatures[] = {
    SIGNATURE("\x0b\x0e\x0a\xcd", "a qdata file; qs2::qd_read() reads it"),
    SIGNATURE("\x0b\x0e\x0a\x0c", "a file of the older qs package; qs::qread() reads it"),
    SIGNATURE("PAR1", "a parquet file; arrow::read_parquet() reads it"),
    SIGNATURE("ARROW1", "a feather (Arrow) file; arrow::read_feather() reads it"),
    SIGNATURE("FEA1", "a feather file; arrow::read_feather() reads it"),
    SIGNATURE("RDX2\n", "an RData file; load() reads it"),
    SIGNATURE("RDX3\n", "an RData file; load() reads it"),
    SIGNATURE("RDA2\n", "an RData file; load() reads it"),
    SIGNATURE("RDA3\n", "an RData file; load() reads it"),
    SIGNATURE("PK\x03\x04", "a zip file, not a riffle file"),
    SIGNATURE("SQLite format 3", "an SQLite file, not a riffle file"),
    SIGNATURE("\x89HDF\r\n", "an HDF5 file, not a riffle file"),
    SIGNATURE("\x89PNG", "a PNG file, not a riffle file"),
};

static const struct {
  const char *bytes;
  size_t len;
  enum file_format format;
} formats[] = {
    {"\x89RIF\r\n", 6, FORMAT_RIFFLE},
    {"\x0b\x0e\x0a\xc1", 4, FORMAT_QS2},
    {"\x1f\x8b", 2, FORMAT_GZIP},
    {"X\n\0", 3, FORMAT_STREAM},
    {"B\n\2\0", 4, FORMAT_STREAM},
    {"B\n\3\0", 4, FORMAT_STREAM},
    {"B\n\0\0", 4, FORMAT_STREAM},
    {"A\n2\n", 4, FORMAT_STREAM},
    {"A\n3\n", 4, FORMAT_STREAM},
    {"BZh", 3, FORMAT_PACKED},
    {"\xfd" "7zXZ", 5, FORMAT_PACKED},
    {"\x5d\0\0\x80", 4, FORMAT_PACKED},  // lzma, as R's xzfile() wrote it once
    {"\x28\xb5\x2f\xfd", 4, FORMAT_PACKED},
};

enum file_format sniff_format(const unsigned char *p, size_t n) {
  // Cut so short it is still ours, and truncated.
  if (n && n < formats[0].len && memcmp(p, formats[0].bytes, n) == 0) return FORMAT_RIFFLE;
  for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
    if (n >= formats[i].len && memcmp(p, formats[i].bytes, formats[i].len) == 0)
      return formats[i].format;
  return FORMAT_OTHER;
}

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
  if (is_fst(p, n)) return "an fst file; fst::read_fst() reads it";
  if (is_text(p, n)) return "a text file, not a riffle file";
  return "not a riffle file, nor any other that riffle knows";
}
