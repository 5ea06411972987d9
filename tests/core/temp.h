// temp.h - the path of a temporary file or folder of this process, below TMPDIR.
#ifndef RIFFLE_TESTS_TEMP_H
#define RIFFLE_TESTS_TEMP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The same for each call with the same name; nothing is made there.
static inline const char *temp_path(const char *name) {
  static char path[256];
  const char *folder = getenv("TMPDIR");
  const int n = snprintf(path, sizeof(path), "%s/riffle-test-%s-%ld",
                         folder && *folder ? folder : "/tmp", name, (long) getpid());
  if (n < 0 || (size_t) n >= sizeof(path)) abort();
  return path;
}

#endif
