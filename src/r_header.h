// r_header.h - the first bytes of a stream, as R itself writes them just now.
//
// They name R's version and the native encoding. No function tells the latter, and Sys.setlocale()
// may change it at any time, so R is asked once per call.
#ifndef RIFFLE_R_HEADER_H
#define RIFFLE_R_HEADER_H

#include <stddef.h>

enum { HEADER_MAX = 128 };

struct header {
  size_t len;
  unsigned char bytes[HEADER_MAX];
};

// Of a stream in the binary format, version 3.
void header_get(struct header *h);

#endif
