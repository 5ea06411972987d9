// seeds.h - the corpus that a fuzz target begins with: files in the folder on its command line.
#ifndef RIFFLE_TESTS_SEEDS_H
#define RIFFLE_TESTS_SEEDS_H

#include <sys/stat.h>

#include "files.h"

// The corpus folder, or NULL.
static inline const char *seeds_folder(int argc, char **argv) {
  const char *folder = NULL;
  struct stat st;
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-' && stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) folder = argv[i];
  return folder;
}

// An input: the byte that says how, and the file.
static inline void seed_write(const char *folder, unsigned number, int how,
                              const struct bytes *file) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/seed-%u", folder, number);
  FILE *f = fopen(path, "wb");
  if (!f) return;
  fputc(how, f);
  fwrite(file->p, 1, file->len, f);
  fclose(f);
}

#endif
