#ifndef _WIN32
#define _GNU_SOURCE  // before any header: realpath() and the 64-bit file functions
#define _FILE_OFFSET_BITS 64
#endif
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef _WIN32
#include <io.h>
#include <windows.h>
#else
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#endif

#ifndef O_BINARY
#define O_BINARY 0
#endif
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif

enum {
  IO_PIECE_MAX = 1 << 30,  // read() and write() take at most about 2 GiB at once
  IO_WAIT_MS = 100,
  WRITEBACK_LEN = 1 << 23,
  CHUNK_FIRST = 1 << 9,
  CHUNK_MAX = 1 << 23
};

// ---- memory sink --------------------------------------------------------------------------

struct chunk {
  struct chunk *next;
  size_t cap, len;
  unsigned char bytes[];
};

// Large chunks are mapped rather than taken from the heap, so that each is given back to the
// system as soon as sink_move() has copied it: result and chunks are never both there whole.
static struct chunk *chunk_open(size_t cap) {
#ifdef MAP_ANONYMOUS
  if (cap >= CHUNK_MAX) {
    void *p = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    struct chunk *c = p;
    c->cap = cap - sizeof(struct chunk);
    return c;
  }
#endif
  struct chunk *c = malloc(cap);
  if (c) *c = (struct chunk){.cap = cap - sizeof(struct chunk)};
  return c;
}

static void chunk_close(struct chunk *c) {
#ifdef MAP_ANONYMOUS
  if (c->cap + sizeof(struct chunk) >= CHUNK_MAX) {
    munmap(c, c->cap + sizeof(struct chunk));
    return;
  }
#endif
  free(c);
}

static bool memory_grow(struct sink *s) {
  struct chunk *last = s->memory.last;
  const size_t had = last ? last->cap + sizeof(struct chunk) : 0;
  struct chunk *c = chunk_open(!had ? CHUNK_FIRST : had >= CHUNK_MAX / 4 ? CHUNK_MAX : 4 * had);
  if (!c) return false;
  if (last)
    last->next = c;
  else
    s->memory.first = c;
  s->memory.last = c;
  return true;
}

static enum status memory_write(struct sink *s, const void *p, size_t n, struct error *e) {
  const unsigned char *from = p;
  while (n) {
    struct chunk *c = s->memory.last;
    if (!c || c->len == c->cap) {
      if (!memory_grow(s)) return fail(e, ERR_NOMEM, 0, "keeping the result");
      continue;
    }
    const size_t k = n < c->cap - c->len ? n : c->cap - c->len;
    memcpy(c->bytes + c->len, from, k);
    c->len += k;
    s->memory.len += k;
    from += k;
    n -= k;
  }
  return OK;
}

static enum status memory_commit(struct sink *s, struct error *e) {
  (void) s;
  (void) e;
  return OK;
}

static void memory_close(struct sink *s) {
  for (struct chunk *c = s->memory.first, *next; c; c = next) {
    next = c->next;
    chunk_close(c);
  }
  s->memory.first = s->memory.last = NULL;
}

static enum status memory_reset(struct sink *s, struct error *e) {
  (void) e;
  memory_close(s);
  s->memory.len = 0;
  return OK;
}

static enum status memory_patch(struct sink *s, uint64_t at, const void *p, size_t n,
                                struct error *e) {
  (void) e;
  const unsigned char *from = p;
  for (struct chunk *c = s->memory.first; c && n; c = c->next) {
    if (at >= c->len) {
      at -= c->len;
      continue;
    }
    const size_t k = n < c->len - at ? n : (size_t) (c->len - at);
    memcpy(c->bytes + at, from, k);
    from += k, n -= k, at = 0;
  }
  return OK;
}

void sink_memory(struct sink *s) {
  *s = (struct sink){.write = memory_write,
                     .patch = memory_patch,
                     .reset = memory_reset,
                     .commit = memory_commit,
                     .close = memory_close};
}

void sink_move(struct sink *s, void *out) {
  unsigned char *to = out;
  while (s->memory.first) {
    struct chunk *c = s->memory.first;
    memcpy(to, c->bytes, c->len);
    to += c->len;
    s->memory.first = c->next;
    chunk_close(c);
  }
  s->memory.last = NULL;
}

// ---- file sink ----------------------------------------------------------------------------

#ifdef _WIN32
static void block_sigpipe(void *old) { (void) old; }
static void restore_sigpipe(const void *old) { (void) old; }
typedef int signal_mask;

static wchar_t *wide(const char *path) {
  const int n = MultiByteToWideChar(CP_UTF8, 0, path, -1, NULL, 0);
  wchar_t *w = malloc((size_t) n * sizeof(wchar_t));
  if (w) MultiByteToWideChar(CP_UTF8, 0, path, -1, w, n);
  return w;
}

static int open_path(const char *path, int flags, int mode) {
  wchar_t *w = wide(path);
  if (!w) return errno = ENOMEM, -1;
  const int fd = _wopen(w, flags | _O_NOINHERIT, mode);
  free(w);
  return fd;
}

static int stat_path(const char *path, struct stat *st) {
  wchar_t *w = wide(path);
  if (!w) return errno = ENOMEM, -1;
  struct _stat64 info;
  const int rc = _wstat64(w, &info);
  free(w);
  if (rc == 0) *st = (struct stat){.st_mode = info.st_mode};
  return rc;
}

static int remove_path(const char *path) {
  wchar_t *w = wide(path);
  const int rc = w ? _wunlink(w) : -1;
  free(w);
  return rc;
}

static int rename_path(const char *from, const char *to) {
  wchar_t *f = wide(from), *t = wide(to);
  const bool done =
      f && t && MoveFileExW(f, t, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
  free(f);
  free(t);
  if (!done) errno = GetLastError() == ERROR_ACCESS_DENIED ? EACCES : EIO;
  return done ? 0 : -1;
}

static char *resolve(const char *path) { return _strdup(path); }
static int may_write(const char *path) {
  (void) path;
  return 0;
}
static void keep_mode(int fd, const struct stat *old) {
  (void) fd;
  (void) old;
}
#else
typedef sigset_t signal_mask;

// R's SIGPIPE handler jumps, and a jump must not cross this code: a broken pipe is EPIPE here.
static void block_sigpipe(signal_mask *old) {
  sigset_t pipe_only;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, old);
}

static void restore_sigpipe(const signal_mask *old) {
  sigset_t pending;
  if (!sigismember(old, SIGPIPE) && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE)) {
    sigset_t pipe_only;
    int taken;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigwait(&pipe_only, &taken);
  }
  pthread_sigmask(SIG_SETMASK, old, NULL);
}

static int open_path(const char *path, int flags, int mode) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}
static int stat_path(const char *path, struct stat *st) { return stat(path, st); }
static int remove_path(const char *path) { return unlink(path); }
static int rename_path(const char *from, const char *to) { return rename(from, to); }
static int may_write(const char *path) { return access(path, W_OK); }

// As far as the system lets us: a file of someone else in a shared folder becomes ours, and some
// file systems keep no permissions.
static void keep_mode(int fd, const struct stat *old) {
  struct stat now;
  const bool same = fstat(fd, &now) == 0 && now.st_uid == old->st_uid && now.st_gid == old->st_gid;
  if (!same && fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t) -1, old->st_gid) != 0)
    errno = 0;
  if (fchmod(fd, old->st_mode & 07777) != 0) errno = 0;
}

// Where a write to `path` would end up: symbolic links followed, also to a file not there yet.
static char *resolve(const char *path) {
  char *to = strdup(path);
  for (int hops = 0; to && hops <= 40; hops++) {
    char link[PATH_MAX];
    const ssize_t n = readlink(to, link, sizeof(link) - 1);
    if (n < 0) return to;
    link[n] = '\0';
    const char *slash = strrchr(to, '/');
    const size_t dir = link[0] == '/' || !slash ? 0 : (size_t) (slash - to) + 1;
    char *next = malloc(dir + (size_t) n + 1);
    if (next) {
      memcpy(next, to, dir);
      memcpy(next + dir, link, (size_t) n + 1);
    }
    free(to);
    to = next;
  }
  if (to) errno = ELOOP;
  free(to);
  return NULL;
}
#endif

// Whether a write that failed so is to be tried again: a descriptor that was given to us, such as
// /dev/stdout, may be non-blocking.
static bool wait_writable(int fd, int error) {
#ifdef _WIN32
  (void) fd;
  (void) error;
  return false;
#else
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  return (error == EAGAIN || error == EWOULDBLOCK) && (poll(&p, 1, -1) >= 0 || errno == EINTR);
#endif
}

static enum status write_all(int fd, const unsigned char *p, size_t n, struct error *e) {
  while (n) {
    const ssize_t k = write(fd, p, n < IO_PIECE_MAX ? n : IO_PIECE_MAX);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0 && wait_writable(fd, errno)) continue;
    if (k < 0) return fail(e, ERR_IO, errno, "writing");
    if (k == 0) return fail(e, ERR_IO, ENOSPC, "writing");
    p += k;
    n -= (size_t) k;
  }
  return OK;
}

// A file system that sees a file replaced (ext4) puts the new one's data on disk before the rename.
// Begun while the rest is still being made, that delays the rename less; it is no more than a hint.
static void begin_writeback(struct sink *s, size_t n) {
#ifdef SYNC_FILE_RANGE_WRITE
  s->file.at += n;
  const uint64_t len = s->file.at - s->file.begun;
  if (!s->file.replaces || len < WRITEBACK_LEN) return;
  sync_file_range(s->file.fd, (off_t) s->file.begun, (off_t) len, SYNC_FILE_RANGE_WRITE);
  s->file.begun = s->file.at;
#else
  (void) s;
  (void) n;
#endif
}

static enum status write_now(struct sink *s, const void *p, size_t n, struct error *e) {
  if (!s->file.may_signal) {
    if (write_all(s->file.fd, p, n, e)) return e->code;
    begin_writeback(s, n);
    return OK;
  }
  signal_mask old;
  block_sigpipe(&old);
  const enum status st = write_all(s->file.fd, p, n, e);
  restore_sigpipe(&old);
  return st;
}

static enum status flush(struct sink *s, struct error *e) {
  const size_t n = s->file.n_held;
  s->file.n_held = 0;
  return n ? write_now(s, s->file.held, n, e) : OK;
}

// Small pieces are held back and written together.
static enum status file_write(struct sink *s, const void *p, size_t n, struct error *e) {
  if (n > sizeof(s->file.held) - s->file.n_held && flush(s, e)) return e->code;
  if (n > sizeof(s->file.held)) return write_now(s, p, n, e);
  if (n) memcpy(s->file.held + s->file.n_held, p, n);
  s->file.n_held += n;
  return OK;
}

static enum status file_reset(struct sink *s, struct error *e) {
  s->file.at = s->file.begun = s->file.n_held = 0;
  if (lseek(s->file.fd, 0, SEEK_SET) == 0 && ftruncate(s->file.fd, 0) == 0) return OK;
  return fail(e, ERR_IO, errno, "writing");
}

// A short patch: it is written in one go.
static enum status file_patch(struct sink *s, uint64_t at, const void *p, size_t n,
                              struct error *e) {
  if (flush(s, e)) return e->code;
#ifdef _WIN32
  const bool done = _lseeki64(s->file.fd, (long long) at, SEEK_SET) >= 0 &&
                    write(s->file.fd, p, (unsigned) n) == (int) n &&
                    _lseeki64(s->file.fd, 0, SEEK_END) >= 0;
#else
  const bool done = pwrite(s->file.fd, p, n, (off_t) at) == (ssize_t) n;
#endif
  return done ? OK : fail(e, ERR_IO, errno, "writing");
}

static enum status file_commit(struct sink *s, struct error *e) {
  if (flush(s, e)) return e->code;
  const int fd = s->file.fd;
  s->file.fd = -1;
  if (close(fd) != 0 && errno != EINTR) return fail(e, ERR_IO, errno, "closing");
  if (!s->file.temp) return OK;
  if (rename_path(s->file.temp, s->file.target) != 0)
    return fail(e, ERR_IO, errno, "renaming the finished file");
  free(s->file.temp);
  s->file.temp = NULL;
  return OK;
}

static void file_close(struct sink *s) {
  if (s->file.fd >= 0) close(s->file.fd);
  if (s->file.temp) remove_path(s->file.temp);
  free(s->file.temp);
  free(s->file.target);
}

static size_t dir_len(const char *path) {
  size_t n = strlen(path);
  while (n && path[n - 1] != '/' && !(O_BINARY && path[n - 1] == '\\')) n--;
  return n;
}

static bool is_fifo(const char *path) {
  struct stat st;
  return stat_path(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

static void wait_a_little(void) {
#ifndef _WIN32
  poll(NULL, 0, IO_WAIT_MS);
#endif
}

// A name beside the target: hidden, told apart by process, and short whatever the target's name.
static char *temp_name(const char *target, unsigned attempt) {
  const size_t dir = dir_len(target);
  char *name = malloc(dir + 64);
  if (!name) return NULL;
  memcpy(name, target, dir);
  snprintf(name + dir, 64, ".riffle-%ld-%u.tmp", (long) getpid(), attempt);
  return name;
}

static enum status open_temp(struct sink *s, int mode, struct error *e) {
  for (unsigned attempt = 0; attempt < 10000; attempt++) {
    s->file.temp = temp_name(s->file.target, attempt);
    if (!s->file.temp) return fail(e, ERR_NOMEM, 0, "opening");
    s->file.fd = open_path(s->file.temp, O_WRONLY | O_CREAT | O_EXCL | O_BINARY, mode);
    if (s->file.fd >= 0) return OK;
    free(s->file.temp);
    s->file.temp = NULL;
    if (errno != EEXIST) return fail(e, ERR_IO, errno, "opening");
  }
  return fail(e, ERR_IO, EEXIST, "opening");
}

// The descriptor that a name such as /dev/stdout stands for, or -1. It may be a regular file that
// others write to as well: it is written where it stands, not replaced.
static int named_descriptor(const char *path) {
  static const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/"};
  if (strcmp(path, "/dev/stdout") == 0) return 1;
  if (strcmp(path, "/dev/stderr") == 0) return 2;
  for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
    const size_t n = strlen(prefixes[i]);
    if (strncmp(path, prefixes[i], n) == 0 && path[n] >= '0' && path[n] <= '9') return atoi(path + n);
  }
  return -1;
}

// A fifo that nobody reads cannot be opened yet: AGAIN, after a while.
static enum status open_direct(struct sink *s, const char *path, struct error *e) {
  const int named = named_descriptor(path);
  s->file.fd = named >= 0 ? dup(named) : open_path(path, O_WRONLY | O_BINARY | O_NONBLOCK, 0);
  s->file.may_signal = true;
  if (s->file.fd >= 0) return OK;
  if (errno == ENXIO && is_fifo(path)) {
    wait_a_little();
    return AGAIN;
  }
  return fail(e, ERR_IO, errno, "opening");
}

enum status sink_file(struct sink *s, const char *path, struct error *e) {
  *s = (struct sink){.write = file_write, .commit = file_commit, .close = file_close};
  s->file.fd = -1;
  struct stat old;
  if (named_descriptor(path) >= 0) return open_direct(s, path, e);
  const bool exists = stat_path(path, &old) == 0;
  if (!exists && errno != ENOENT) return fail(e, ERR_IO, errno, "opening");
  if (exists && S_ISDIR(old.st_mode)) return fail(e, ERR_IO, EISDIR, "opening");
  if (exists && !S_ISREG(old.st_mode)) return open_direct(s, path, e);
  if (exists && may_write(path) != 0) return fail(e, ERR_IO, errno, "opening");
  if (!(s->file.target = resolve(path))) return fail(e, ERR_IO, errno, "opening");
  // What replaces a private file is private from the start; keep_mode() opens it up.
  if (open_temp(s, exists ? 0600 : 0666, e)) return e->code;
  s->reset = file_reset;
  s->patch = file_patch;
  s->file.replaces = exists;
  if (exists) keep_mode(s->file.fd, &old);
  return OK;
}

// ---- sources ------------------------------------------------------------------------------

static enum status memory_read_at(struct source *s, uint64_t at, void *p, size_t n, size_t *got) {
  const uint64_t left = at < s->len ? s->len - at : 0;
  *got = n < left ? n : (size_t) left;
  if (*got) memcpy(p, s->bytes + at, *got);
  return OK;
}

static enum status memory_read(struct source *s, void *p, size_t n, size_t *got, struct error *e) {
  (void) e;
  memory_read_at(s, s->at, p, n, got);
  s->at += *got;
  return OK;
}

static void memory_source_close(struct source *s) { free(s->owned); }

// A pipe may stay empty for long: the wait is bounded, so that the caller can see an interrupt.
static bool pipe_is_silent(int fd) {
#ifdef _WIN32
  (void) fd;
  return false;
#else
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, IO_WAIT_MS) <= 0;
#endif
}

void source_memory(struct source *s, const void *p, size_t n) {
  *s = (struct source){.read = memory_read,
                       .close = memory_source_close,
                       .can_seek = true,
                       .len = n,
                       .bytes = p,
                       .fd = -1};
}

static ssize_t read_piece(struct source *s, void *p, size_t n, uint64_t at) {
  if (n > IO_PIECE_MAX) n = IO_PIECE_MAX;
#ifdef _WIN32
  if (s->can_seek && _lseeki64(s->fd, (long long) at, SEEK_SET) < 0) return -1;
  return read(s->fd, p, (unsigned) n);
#else
  return s->can_seek ? pread(s->fd, p, n, (off_t) at) : read(s->fd, p, n);
#endif
}

static enum status file_read_at(struct source *s, uint64_t at, void *p, size_t n, size_t *got,
                                struct error *e) {
  *got = 0;
  while (*got < n) {
    const ssize_t k = read_piece(s, (unsigned char *) p + *got, n - *got, at + *got);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return fail(e, ERR_IO, errno, "reading");
    if (k == 0) break;
    *got += (size_t) k;
  }
  return OK;
}

static enum status file_read(struct source *s, void *p, size_t n, size_t *got, struct error *e) {
  const enum status st = file_read_at(s, s->at, p, n, got, e);
  s->at += *got;
  return st;
}

static enum status pipe_read(struct source *s, void *p, size_t n, size_t *got, struct error *e) {
  *got = 0;
  while (*got < n) {
    if (pipe_is_silent(s->fd)) return AGAIN;
    const ssize_t k = read_piece(s, (unsigned char *) p + *got, n - *got, 0);
    if (k < 0 && errno != EINTR && errno != EAGAIN) return fail(e, ERR_IO, errno, "reading");
    if (k == 0) break;
    if (k < 0) continue;
    *got += (size_t) k;
    s->at += (size_t) k;
  }
  return OK;
}

enum status source_read_at(struct source *s, uint64_t at, void *p, size_t n, size_t *got,
                           struct error *e) {
  return s->bytes ? memory_read_at(s, at, p, n, got) : file_read_at(s, at, p, n, got, e);
}

enum status source_read_exactly(struct source *s, uint64_t at, void *p, size_t n,
                                struct error *e) {
  size_t got;
  if (source_read_at(s, at, p, n, &got, e)) return e->code;
  return got == n ? OK : fail(e, ERR_TRUNCATED, 0, "it is truncated");
}

bool source_can_reopen(const char *path) {
  struct stat st;
  return stat_path(path, &st) == 0 && S_ISREG(st.st_mode);
}

void source_advise(struct source *s, uint64_t at, uint64_t n) {
#ifdef POSIX_FADV_WILLNEED
  // Advice: that it was not taken changes nothing.
  if (s->fd >= 0) (void) posix_fadvise(s->fd, (off_t) at, (off_t) n, POSIX_FADV_WILLNEED);
#else
  (void) s, (void) at, (void) n;
#endif
}

struct source source_lend(const struct source *s) {
  struct source lent = *s;
  lent.close = NULL;
  lent.owned = NULL;
  lent.at = 0;
  return lent;
}

static void file_source_close(struct source *s) {
  if (s->fd >= 0) close(s->fd);
  free(s->owned);
}

enum status source_file(struct source *s, const char *path, struct error *e) {
  *s = (struct source){.read = file_read, .close = file_source_close, .fd = -1};
  struct stat st;
  s->fd = open_path(path, O_RDONLY | O_BINARY | O_NONBLOCK, 0);  // a fifo nobody writes to yet
  if (s->fd < 0 && errno == EACCES && stat_path(path, &st) == 0 && S_ISDIR(st.st_mode))
    errno = EISDIR;  // what Windows calls a folder that is opened
  if (s->fd < 0) return fail(e, ERR_IO, errno, "opening");
  if (fstat(s->fd, &st) != 0) return fail(e, ERR_IO, errno, "opening");
  if (S_ISDIR(st.st_mode)) return fail(e, ERR_IO, EISDIR, "opening");
  s->can_seek = S_ISREG(st.st_mode);
  if (!s->can_seek) s->read = pipe_read;
#ifdef _WIN32
  s->len = s->can_seek ? (uint64_t) _filelengthi64(s->fd) : 0;
#else
  s->len = s->can_seek ? (uint64_t) st.st_size : 0;
#endif
  return OK;
}

enum status source_read(struct source *s, void *p, size_t n, size_t *got, struct error *e) {
  if (!s->n_peeked) return s->read(s, p, n, got, e);
  *got = n < s->n_peeked ? n : s->n_peeked;
  memcpy(p, s->peeked, *got);
  s->n_peeked -= *got;
  memmove(s->peeked, s->peeked + *got, s->n_peeked);
  if (*got == n) return OK;
  size_t more;
  const enum status st = s->read(s, (unsigned char *) p + *got, n - *got, &more, e);
  *got += more;
  return st;
}

enum status source_peek(struct source *s, size_t n, const unsigned char **p, size_t *got,
                        struct error *e) {
  enum status st = OK;
  size_t more = 0;
  *p = s->peeked;
  if (s->can_seek) return source_read_at(s, s->at, s->peeked, n, got, e);
  if (n > s->n_peeked) st = s->read(s, s->peeked + s->n_peeked, n - s->n_peeked, &more, e);
  s->n_peeked += more;
  *got = s->n_peeked;
  return st;
}

// Room for n bytes more.
static enum status kept_reserve(struct source *s, size_t n, struct error *e) {
  if (s->owned && n <= s->cap - s->len) return OK;
  const size_t need = (size_t) s->len + n;
  const size_t cap = need < 1 << 15 ? 1 << 16 : 2 * need;
  unsigned char *more = realloc(s->owned, cap);
  if (!more) return fail(e, ERR_NOMEM, 0, "reading");
  s->owned = more;
  s->cap = cap;
  return OK;
}

enum status source_keep(struct source *s, const void *p, size_t n, struct error *e) {
  if (kept_reserve(s, n, e)) return e->code;
  if (n) memcpy(s->owned + s->len, p, n);
  s->len += n;
  return OK;
}

void source_become_kept(struct source *s) {
  const struct source whole = {.owned = s->owned, .len = s->len};
  s->owned = NULL;
  source_close(s);
  source_memory(s, whole.owned, whole.len);
  s->owned = whole.owned;
}

enum status source_slurp(struct source *s, const void *first, size_t n, struct error *e) {
  if (!s->owned && source_keep(s, first, n, e)) return e->code;
  for (;;) {
    if (s->len == s->cap && kept_reserve(s, 1, e)) return e->code;
    size_t got;
    const enum status st = source_read(s, s->owned + s->len, s->cap - s->len, &got, e);
    s->len += got;
    if (st) return st;
    if (got == 0) break;
  }
  source_become_kept(s);
  return OK;
}
