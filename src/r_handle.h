// r_handle.h - a file that stays open between calls, with its index, so that parts of it can be read.
//
// R objects hold it by external pointers; the last of them to go closes the file. It sees the file
// as it was when opened: a save replaces a file by another. Reading takes positions of its own, so
// a forked child reads as well. All on R's thread.
#ifndef RIFFLE_R_HANDLE_H
#define RIFFLE_R_HANDLE_H

#include <Rinternals.h>
#include <stdbool.h>
#include <stddef.h>

#include "parts.h"
#include "r_error.h"

struct handle {
  char *path;       // NULL: a raw vector, which lives as long as the handle's pointer
  struct source source;
  struct contents contents;
  size_t n_users;
};

// Of a path or, if that is NULL, the raw vector `input`. NULL: not a file of ours, or one that can't
// seek, or without an index. Raises what is wrong with it. One user holds it.
struct handle *handle_open(const char *path, SEXP input, const struct subject *subject);
// Of a path, and NULL as well if there is something wrong with it. Never calls R.
struct handle *handle_try(const char *path);
// What qs_save() kept beside the object, a raw vector; or R_NilValue.
SEXP index_meta(const struct index *x);
struct subject handle_subject(const struct handle *h);
void handle_hold(struct handle *h);
// Never calls R.
void handle_release(struct handle *h);

// An external pointer that keeps `input` alive. Once its address is a handle it holds that, in the place
// of one user, until it is closed or collected.
SEXP handle_pointer(SEXP input);
// What it holds; raises riffle_error_closed if that is nothing any more.
struct handle *handle_of(SEXP pointer);
void handle_close(SEXP pointer);

#endif
