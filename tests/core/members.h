// members.h - gzip members as zlib makes them.
#ifndef RIFFLE_TESTS_MEMBERS_H
#define RIFFLE_TESTS_MEMBERS_H

#include <zlib.h>

#include "files.h"

// Adds one to `file`: with any header (or NULL), and at any level.
static inline void add_member(struct bytes *file, const unsigned char *p, size_t n, int level,
                              gz_header *header) {
  z_stream z = {0};
  if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  if (header && deflateSetHeader(&z, header) != Z_OK) abort();
  const size_t most = deflateBound(&z, n) + 200;
  if (!(file->p = realloc(file->p, file->len + most))) abort();
  z.next_in = (unsigned char *) p;
  z.avail_in = (uInt) n;
  z.next_out = file->p + file->len;
  z.avail_out = (uInt) most;
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  file->len += most - z.avail_out;
  deflateEnd(&z);
}

#endif
