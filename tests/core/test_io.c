// Tests of io.c: files, links, permissions, pipes and memory, and the system's refusals.
// link: -Wl,--wrap=write,--wrap=close,--wrap=rename,--wrap=open,--wrap=open64
// link: -Wl,--wrap=read,--wrap=pread,--wrap=pread64,--wrap=fchmod,--wrap=fstat,--wrap=fstat64
#define _GNU_SOURCE
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "temp.h"

// ---- faults -------------------------------------------------------------------------------

static struct {
  bool on;
  size_t most;     // bytes per read or write; 0: all
  unsigned eintr;  // so many calls in a row are interrupted before one goes through
  unsigned interrupted;
  long room;  // bytes until the disk is full; -1: never
  int write_errno, close_errno, rename_errno, open_errno, read_errno, fchmod_errno, fstat_errno;
  unsigned n_writes, n_closes;
} faults;

static void faults_off(void) { memset(&faults, 0, sizeof(faults)); }

static void faults_on(void) {
  faults_off();
  faults.on = true;
  faults.room = -1;
}

static int refuse(int e) {
  errno = e;
  return -1;
}

static bool interrupted(void) {
  if (!faults.on || !faults.eintr) return false;
  faults.interrupted = (faults.interrupted + 1) % (faults.eintr + 1);
  return faults.interrupted != 0;
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n) {
  if (!faults.on) return __real_write(fd, p, n);
  faults.n_writes++;
  if (interrupted()) return refuse(EINTR);
  if (faults.write_errno) return refuse(faults.write_errno);
  if (faults.most && n > faults.most) n = faults.most;
  if (faults.room == 0) return refuse(ENOSPC);
  if (faults.room > 0 && n > (size_t) faults.room) n = (size_t) faults.room;
  if (faults.room > 0) faults.room -= (long) n;
  return __real_write(fd, p, n);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
  faults.n_closes++;
  const int rc = __real_close(fd);
  return faults.on && faults.close_errno ? refuse(faults.close_errno) : rc;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
  return faults.on && faults.rename_errno ? refuse(faults.rename_errno) : __real_rename(from, to);
}

static bool open_refused(int *rc) {
  if (!faults.on) return false;
  if (interrupted()) return *rc = refuse(EINTR), true;
  if (faults.open_errno) return *rc = refuse(faults.open_errno), true;
  return false;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list args;
  int rc;
  va_start(args, flags);
  const int mode = va_arg(args, int);
  va_end(args);
  return open_refused(&rc) ? rc : __real_open(path, flags, mode);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
  va_list args;
  int rc;
  va_start(args, flags);
  const int mode = va_arg(args, int);
  va_end(args);
  return open_refused(&rc) ? rc : __real_open64(path, flags, mode);
}

// How much of a read of n goes through; -1: none.
static ssize_t read_room(size_t n) {
  if (!faults.on) return (ssize_t) n;
  if (interrupted()) return refuse(EINTR);
  if (faults.read_errno) return refuse(faults.read_errno);
  return (ssize_t) (faults.most && n > faults.most ? faults.most : n);
}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n) {
  const ssize_t k = read_room(n);
  return k < 0 ? k : __real_read(fd, p, (size_t) k);
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at) {
  const ssize_t k = read_room(n);
  return k < 0 ? k : __real_pread(fd, p, (size_t) k, at);
}

ssize_t __real_pread64(int fd, void *p, size_t n, off64_t at);
ssize_t __wrap_pread64(int fd, void *p, size_t n, off64_t at);
ssize_t __wrap_pread64(int fd, void *p, size_t n, off64_t at) {
  const ssize_t k = read_room(n);
  return k < 0 ? k : __real_pread64(fd, p, (size_t) k, at);
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode) {
  return faults.on && faults.fchmod_errno ? refuse(faults.fchmod_errno) : __real_fchmod(fd, mode);
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st) {
  return faults.on && faults.fstat_errno ? refuse(faults.fstat_errno) : __real_fstat(fd, st);
}

int __real_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st) {
  return faults.on && faults.fstat_errno ? refuse(faults.fstat_errno) : __real_fstat64(fd, st);
}

// ---- a folder of our own ------------------------------------------------------------------

static const char *folder;

// folder/name, in one of a few buffers.
static const char *in_folder(const char *name) {
  static char paths[4][PATH_MAX];
  static int next;
  char *p = paths[next = (next + 1) % 4];
  snprintf(p, PATH_MAX, "%s/%s", folder, name);
  return p;
}

static size_t entries(const char *path) {
  DIR *d = opendir(path);
  size_t n = 0;
  for (const struct dirent *e; (e = readdir(d));)
    n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
  closedir(d);
  return n;
}

static void put_file(const char *path, const char *text, mode_t mode) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t) strlen(text) || fchmod(fd, mode))
    abort();
  close(fd);
}

static bool holds(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  char *got = make(n + 1);
  const size_t k = fread(got, 1, n + 1, f);
  fclose(f);
  const bool same = k == n && same_bytes(got, bytes, n);
  free(got);
  return same;
}

static bool holds_text(const char *path, const char *text) {
  return holds(path, text, strlen(text));
}

static mode_t mode_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static enum status save(const char *path, const void *bytes, size_t n, struct error *e) {
  struct sink s;
  *e = (struct error){0};
  enum status st;
  while ((st = sink_file(&s, path, e)) == AGAIN) {}  // a fifo without a reader
  if (st == OK) st = s.write(&s, bytes, n, e);
  if (st == OK) st = s.commit(&s, e);
  sink_close(&s);
  sink_close(&s);
  check(st == e->code, "the status is the error's", st);
  return st;
}

static enum status save_text(const char *path, const char *text, struct error *e) {
  return save(path, text, strlen(text), e);
}

// ---- files --------------------------------------------------------------------------------

static void test_new_file(void) {
  struct error e = {0};
  const char *path = in_folder("new file.rif");
  struct sink s;
  check(sink_file(&s, path, &e) == OK && s.write(&s, "some", 4, &e) == OK, "a file is begun", 0);
  check(access(path, F_OK) != 0, "its name is not there before the commit", 0);
  check(entries(folder) == 1, "but a temporary one is", entries(folder));
  sink_close(&s);
  check(entries(folder) == 0, "without a commit nothing is left", entries(folder));

  check(save_text(path, "text", &e) == OK && holds_text(path, "text"), "a file is saved", 0);
  check(entries(folder) == 1, "and nothing else", entries(folder));
  check(save_text(path, "other text", &e) == OK && holds_text(path, "other text"), "replaced", 0);
  check(save(path, NULL, 0, &e) == OK && holds_text(path, ""), "with nothing", 0);
  unlink(path);
}

static void test_modes(void) {
  static const mode_t masks[] = {022, 027, 077, 0};
  static const mode_t modes[] = {0644, 0600, 0755, 0666, 0660, 0400, 02755};
  struct error e = {0};
  const char *path = in_folder("mode");
  const mode_t before = umask(0);
  for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
    umask(masks[i]);
    check(save_text(path, "x", &e) == OK, "saved", i);
    check(mode_of(path) == (0666 & ~masks[i]), "a new file's permissions", mode_of(path));
    for (size_t k = 0; k < sizeof(modes) / sizeof(*modes); k++) {
      put_file(path, "old", modes[k]);
      check(save_text(path, "x", &e) == OK || (modes[k] == 0400 && geteuid()), "saved again", k);
      check(mode_of(path) == modes[k], "the old file's permissions", mode_of(path));
      chmod(path, 0600);
    }
    unlink(path);
  }
  umask(before);
}

// Between open and fchmod no one may get hold of what replaces a private file.
static void test_private(void) {
  struct error e = {0};
  const char *path = in_folder("private");
  put_file(path, "secret", 0600);
  struct sink s;
  faults_on();
  faults.fchmod_errno = EIO;
  sink_file(&s, path, &e);
  faults_off();
  check(!s.file.temp || (mode_of(s.file.temp) & 077) == 0, "private from the start",
        s.file.temp ? mode_of(s.file.temp) : 0);
  sink_close(&s);
  check(holds_text(path, "secret"), "still there", 0);
  unlink(path);
}

static void expect(const char *path, int sys, const char *what) {
  struct error e = {0};
  const size_t before = entries(folder);
  check(save_text(path, "x", &e) == ERR_IO && e.sys == sys, what, (uint64_t) e.sys);
  check(entries(folder) == before, "nothing was left behind", entries(folder));
}

static void test_refusals(void) {
  mkdir(in_folder("sub"), 0755);
  put_file(in_folder("plain"), "old", 0644);
  expect(in_folder("sub"), EISDIR, "a folder");
  expect(in_folder("sub/"), EISDIR, "a folder with a slash");
  expect(in_folder("no/file"), ENOENT, "no such folder");
  expect(in_folder("no/"), ENOENT, "no such folder with a slash");
  expect(in_folder("plain/file"), ENOTDIR, "a file as a folder");
  expect("", ENOENT, "no name");
  char *longest = make(400);
  memset(longest, 'n', 399);
  longest[399] = '\0';
  expect(in_folder(longest), ENAMETOOLONG, "a name too long");
  longest[255] = '\0';
  struct error e = {0};
  check(save_text(in_folder(longest), "x", &e) == OK, "a name of 255 bytes", (uint64_t) e.sys);
  unlink(in_folder(longest));
  free(longest);
  check(holds_text(in_folder("plain"), "old"), "the old file is as it was", 0);
  unlink(in_folder("plain"));
  rmdir(in_folder("sub"));
}

// As some other user: root may write everywhere.
static void test_permissions(void) {
  put_file(in_folder("read-only"), "old", 0444);
  mkdir(in_folder("closed"), 0555);
  put_file(in_folder("closed/open"), "old", 0666);
  chmod(folder, 0755);
  const pid_t child = fork();
  if (child == 0) {
    struct error e = {0};
    if (geteuid() == 0 && setresuid(65534, 65534, 65534)) _exit(100);
    if (save_text(in_folder("read-only"), "x", &e) != ERR_IO || e.sys != EACCES) _exit(1);
    if (save_text(in_folder("closed/new"), "x", &e) != ERR_IO || e.sys != EACCES) _exit(2);
    if (save_text(in_folder("closed/open"), "x", &e) != ERR_IO || e.sys != EACCES) _exit(3);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "no permission", (uint64_t) status);
  check(holds_text(in_folder("read-only"), "old") && holds_text(in_folder("closed/open"), "old"),
        "the old files are as they were", 0);
  unlink(in_folder("read-only"));
  unlink(in_folder("closed/open"));
  rmdir(in_folder("closed"));
}

// ---- links --------------------------------------------------------------------------------

static bool is_link(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void link_to(const char *target, const char *name) {
  if (symlink(target, in_folder(name))) abort();
}

static void check_through(const char *link, const char *file) {
  struct error e = {0};
  check(save_text(in_folder(link), link, &e) == OK, link, (uint64_t) e.sys);
  check(is_link(in_folder(link)), "the link still is one", 0);
  check(!is_link(in_folder(file)) && holds_text(in_folder(file), link), "its target is written", 0);
}

static void test_links(void) {
  struct error e = {0};
  mkdir(in_folder("a"), 0755);
  mkdir(in_folder("b"), 0755);
  put_file(in_folder("a/file"), "old", 0640);
  link_to("a/file", "relative");
  link_to(in_folder("a/file"), "absolute");
  link_to("relative", "chain");
  link_to("../a/file", "b/up");
  link_to("b", "folder");
  link_to("folder/up", "through");
  link_to("a/fresh", "dangling");
  link_to("dangling", "dangling chain");
  link_to("loop 2", "loop 1");
  link_to("loop 1", "loop 2");
  link_to("no/file", "nowhere");
  link_to("a", "to a folder");
  check_through("relative", "a/file");
  check(mode_of(in_folder("a/file")) == 0640, "with the target's permissions", 0);
  check_through("absolute", "a/file");
  check_through("chain", "a/file");
  check_through("b/up", "a/file");
  check_through("folder/up", "a/file");
  check_through("through", "a/file");
  check(entries(in_folder("a")) == 1 && entries(in_folder("b")) == 1, "and nothing else", 0);
  check_through("dangling", "a/fresh");
  unlink(in_folder("a/fresh"));
  check_through("dangling chain", "a/fresh");
  expect(in_folder("loop 1"), ELOOP, "a loop of links");
  expect(in_folder("nowhere"), ENOENT, "a link to no folder");
  expect(in_folder("to a folder"), EISDIR, "a link to a folder");
  check(save_text(in_folder("no/file"), "x", &e) == ERR_IO, "no folder yet", 0);
  static const char *const names[] = {
      "relative",       "absolute", "chain",  "b/up",    "folder",      "through", "dangling",
      "dangling chain", "loop 1",   "loop 2", "nowhere", "to a folder", "a/file",  "a/fresh"};
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) unlink(in_folder(names[i]));
  rmdir(in_folder("a"));
  rmdir(in_folder("b"));
  check(entries(folder) == 0, "no stray file", entries(folder));
}

static void test_long_chain(void) {
  char from[16], to[16];
  for (int n = 38; n <= 41; n++) {
    for (int i = 0; i < n; i++) {
      snprintf(from, sizeof(from), "l%d", i);
      snprintf(to, sizeof(to), "l%d", i + 1);
      link_to(to, from);
    }
    snprintf(to, sizeof(to), "l%d", n);
    put_file(in_folder(to), "old", 0644);
    struct stat st;
    struct error e = {0};
    const bool reachable = stat(in_folder("l0"), &st) == 0;
    const enum status got = save_text(in_folder("l0"), "new", &e);
    check(got == (reachable ? OK : ERR_IO), "as many links as the system follows", (uint64_t) n);
    check(holds_text(in_folder(to), reachable ? "new" : "old"), "the chain's end", (uint64_t) n);
    for (int i = 0; i <= n; i++) {
      snprintf(from, sizeof(from), "l%d", i);
      unlink(in_folder(from));
    }
  }
}

// ---- the system's refusals ----------------------------------------------------------------

static void test_short_writes(void) {
  struct error e = {0};
  const char *path = in_folder("short");
  unsigned char *bytes = make(3000);
  for (size_t i = 0; i < 3000; i++) bytes[i] = (unsigned char) random_u32();
  for (unsigned eintr = 0; eintr < 3; eintr++) {
    for (size_t most = 1; most < 4000; most = 3 * most) {
      faults_on();
      faults.eintr = eintr;
      faults.most = most;
      const enum status st = save(path, bytes, 3000, &e);
      faults_off();
      check(st == OK && holds(path, bytes, 3000), "short and interrupted writes", most);
    }
  }
  free(bytes);
  unlink(path);
}

static void check_untouched(const char *path, const char *what) {
  check(holds_text(path, "old"), what, 0);
  check(entries(folder) == 1, "no stray file", entries(folder));
}

static void test_faults(void) {
  static const int errors[] = {ENOSPC, EIO, EDQUOT, EFBIG};
  const char *path = in_folder("faults");
  struct error e = {0};
  put_file(path, "old", 0644);
  for (long room = 0; room < 50; room++) {
    faults_on();
    faults.room = room;
    faults.most = 7;
    check(save(path, "0123456789012345678901234567890123456789ABCDEFGHIJ", 50, &e) == ERR_IO &&
              e.sys == ENOSPC,
          "a full disk", (uint64_t) room);
    faults_off();
    check_untouched(path, "a full disk leaves the old file");
  }
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
    faults_on();
    faults.write_errno = errors[i];
    check(save_text(path, "x", &e) == ERR_IO && e.sys == errors[i], "write refuses", i);
    faults_on();
    faults.close_errno = errors[i];
    check(save_text(path, "x", &e) == ERR_IO && e.sys == errors[i], "close refuses", i);
    faults_off();
    check_untouched(path, "a failing close leaves the old file");
    faults_on();
    faults.rename_errno = errors[i];
    check(save_text(path, "x", &e) == ERR_IO && e.sys == errors[i], "rename refuses", i);
    faults_off();
    check_untouched(path, "a failing rename leaves the old file");
    faults_on();
    faults.open_errno = errors[i];
    check(save_text(path, "x", &e) == ERR_IO && e.sys == errors[i], "open refuses", i);
    faults_off();
    check_untouched(path, "a failing open leaves the old file");
  }
  faults_on();
  faults.close_errno = EINTR;
  check(save_text(path, "new", &e) == OK && holds_text(path, "new"), "an interrupted close", 0);
  faults_off();
  unlink(path);
}

// Every descriptor is closed once, and is there again.
static void test_descriptors(void) {
  struct error e = {0};
  const int before = dup(0);
  close(before);
  put_file(in_folder("file"), "old", 0644);
  for (int kind = 0; kind < 6; kind++) {
    faults_on();
    if (kind == 1) faults.room = 0;
    if (kind == 2) faults.close_errno = EIO;
    if (kind == 3) faults.rename_errno = EIO;
    if (kind == 4) faults.fchmod_errno = EIO;
    if (kind == 5) faults.open_errno = EMFILE;
    save_text(in_folder("file"), "x", &e);
    const unsigned closes = faults.n_closes;
    faults_off();
    const int after = dup(0);
    close(after);
    check(before == after, "no descriptor is lost", (uint64_t) kind);
    check(closes == (kind == 5 ? 0 : 1), "nor closed twice", closes);
  }
  struct source s;
  for (int kind = 0; kind < 3; kind++) {
    faults_on();
    if (kind == 1) faults.fstat_errno = EIO;
    if (kind == 2) faults.open_errno = EMFILE;
    e = (struct error){0};
    const enum status st = source_file(&s, in_folder("file"), &e);
    check(st == (kind ? ERR_IO : OK), "a source opens or not", (uint64_t) kind);
    source_close(&s);
    source_close(&s);
    faults_off();
    const int after = dup(0);
    close(after);
    check(before == after, "a source's descriptor, too", (uint64_t) kind);
  }
  unlink(in_folder("file"));
}

// A name left over by a process that was killed is not in the way.
static void test_stale_temporary(void) {
  struct error e = {0};
  char name[64];
  for (unsigned i = 0; i < 3; i++) {
    snprintf(name, sizeof(name), ".riffle-%ld-%u.tmp", (long) getpid(), i);
    put_file(in_folder(name), "stale", 0644);
  }
  check(save_text(in_folder("file"), "x", &e) == OK, "saved beside stale files", 0);
  check(entries(folder) == 4 && holds_text(in_folder(name), "stale"), "they are left alone", 0);
  for (unsigned i = 0; i < 3; i++) {
    snprintf(name, sizeof(name), ".riffle-%ld-%u.tmp", (long) getpid(), i);
    unlink(in_folder(name));
  }
  unlink(in_folder("file"));
}

// ---- pipes and devices --------------------------------------------------------------------

struct pump {
  const char *path;
  size_t want;  // bytes to read before closing
  size_t got;
  long pause_us;
};

static void *pump_main(void *arg) {
  struct pump *p = arg;
  char buffer[5000];
  const int fd = __real_open(p->path, O_RDONLY);
  if (p->pause_us) sleep_us(p->pause_us);
  while (p->got < p->want) {
    const ssize_t k = __real_read(fd, buffer, sizeof(buffer));
    if (k <= 0) break;
    p->got += (size_t) k;
  }
  __real_close(fd);
  return NULL;
}

static void test_fifo(void) {
  const char *path = in_folder("fifo");
  struct error e = {0};
  unsigned char *bytes = make(300000);
  memset(bytes, 'f', 300000);
  if (mkfifo(path, 0600)) abort();
  struct pump p = {.path = path, .want = SIZE_MAX};
  pthread_t thread;
  pthread_create(&thread, NULL, pump_main, &p);
  check(save(path, bytes, 300000, &e) == OK, "a fifo is written", 0);
  pthread_join(thread, NULL);
  check(p.got == 300000, "all of it arrives", p.got);
  struct stat st;
  check(stat(path, &st) == 0 && S_ISFIFO(st.st_mode), "it is still a fifo", 0);
  check(entries(folder) == 1, "and nothing else", entries(folder));
  free(bytes);
  unlink(path);
}

static volatile sig_atomic_t n_sigpipe;
static void count_sigpipe(int signal) {
  (void) signal;
  n_sigpipe++;
}

// The reader goes away: EPIPE, and neither death nor a handler's call; the mask is as it was.
static void test_broken_pipe(void) {
  const char *path = in_folder("fifo");
  for (int kind = 0; kind < 3; kind++) {
    struct error e = {0};
    signal(SIGPIPE, kind == 1 ? count_sigpipe : SIG_DFL);
    sigset_t pipe_only, mask;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    if (kind == 2) pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    unsigned char *bytes = make(1 << 20);
    memset(bytes, 'f', 1 << 20);
    if (mkfifo(path, 0600)) abort();
    struct pump p = {.path = path, .want = 1000};
    pthread_t thread;
    pthread_create(&thread, NULL, pump_main, &p);
    check(save(path, bytes, 1 << 20, &e) == ERR_IO && e.sys == EPIPE, "a broken pipe", 0);
    pthread_join(thread, NULL);
    check(n_sigpipe == 0, "SIGPIPE is not handed on", (uint64_t) n_sigpipe);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    check(sigismember(&mask, SIGPIPE) == (kind == 2), "the mask is as it was", (uint64_t) kind);
    if (kind == 2) {
      const struct timespec now = {0, 0};
      check(sigtimedwait(&pipe_only, NULL, &now) == SIGPIPE, "a blocked signal stays pending", 0);
      pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
    }
    free(bytes);
    unlink(path);
  }
}

static void test_devices(void) {
  struct error e = {0};
  check(save_text("/dev/null", "x", &e) == OK, "/dev/null", (uint64_t) e.sys);
  if (access("/dev/full", W_OK) == 0)
    check(save_text("/dev/full", "x", &e) == ERR_IO && e.sys == ENOSPC, "/dev/full", 0);
}

// A named descriptor is written where it stands, after what it holds already.
static void test_descriptor_names(void) {
  struct error e = {0};
  char name[32];
  const char *path = in_folder("log");
  put_file(path, "before ", 0644);
  const int fd = open(path, O_WRONLY | O_APPEND);
  snprintf(name, sizeof(name), "/dev/fd/%d", fd);
  check(save_text(name, "after", &e) == OK && holds_text(path, "before after"), name, 0);
  const int out = dup(1);
  fflush(stdout);
  dup2(fd, 1);
  const enum status st = save_text("/dev/stdout", " more", &e);
  dup2(out, 1);
  close(out);
  check(st == OK && holds_text(path, "before after more"), "/dev/stdout", 0);
  check(write(fd, ".", 1) == 1, "the descriptor is still open", 0);
  close(fd);
  check(save_text(name, "x", &e) == ERR_IO && e.sys == EBADF, "a closed descriptor", 0);
  check(entries(folder) == 1, "and nothing else", entries(folder));
  unlink(path);
}

// A descriptor shared with someone who made it non-blocking: the pipe is full for a while.
static void test_non_blocking(void) {
  int fds[2];
  char name[32], from[32];
  if (pipe(fds)) abort();
  fcntl(fds[1], F_SETFL, O_NONBLOCK);
  snprintf(name, sizeof(name), "/dev/fd/%d", fds[1]);
  snprintf(from, sizeof(from), "/proc/self/fd/%d", fds[0]);
  unsigned char *bytes = make(300000);
  memset(bytes, 'n', 300000);
  struct pump p = {.path = from, .want = 300000, .pause_us = 100000};
  pthread_t thread;
  pthread_create(&thread, NULL, pump_main, &p);
  struct error e = {0};
  check(save(name, bytes, 300000, &e) == OK, "a non-blocking pipe is waited for", (uint64_t) e.sys);
  close(fds[1]);
  pthread_join(thread, NULL);
  close(fds[0]);
  free(bytes);
}

// ---- memory -------------------------------------------------------------------------------

static void memory_sink(size_t total, size_t most, bool move) {
  struct sink s;
  struct error e = {0};
  unsigned char *in = make(total), *out = make(total);
  for (size_t i = 0; i < total; i++) in[i] = (unsigned char) (i * 2654435761u >> 24);
  sink_memory(&s);
  for (size_t at = 0, k; at < total; at += k) {
    k = 1 + random_below((uint32_t) most);
    if (k > total - at) k = total - at;
    check(s.write(&s, in + at, k, &e) == OK, "memory takes it", at);
  }
  check(s.write(&s, NULL, 0, &e) == OK && s.commit(&s, &e) == OK, "nothing is taken, too", 0);
  check(s.memory.len == total, "all is counted", s.memory.len);
  if (move) {
    sink_move(&s, out);
    check(same_bytes(in, out, total), "what comes out is what went in", total);
  }
  sink_close(&s);
  sink_close(&s);
  free(in);
  free(out);
}

// What was written before a reset is forgotten, in memory and in a file.
static void test_reset(void) {
  struct error e = {0};
  for (int kind = 0; kind < 2; kind++) {
    struct sink s;
    if (kind)
      check(sink_file(&s, in_folder("reset"), &e) == OK, "a file opens", 0);
    else
      sink_memory(&s);
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < 900; i++)
        check(s.write(&s, "a long beginning", 16, &e) == OK, "written", 0);
      check(s.reset(&s, &e) == OK, "a reset", (uint64_t) round);
    }
    check(s.write(&s, "end", 3, &e) == OK && s.commit(&s, &e) == OK, "and anew", 0);
    char out[3];
    check(kind || s.memory.len == 3, "its length", s.memory.len);
    if (!kind && s.memory.len == 3) sink_move(&s, out);
    check(kind ? holds_text(in_folder("reset"), "end") : !memcmp(out, "end", 3), "only that", 0);
    sink_close(&s);
  }
  unlink(in_folder("reset"));
  struct sink s;
  check(sink_file(&s, "/dev/null", &e) == OK && !s.reset, "a device cannot be reset", 0);
  sink_close(&s);
}

static void test_memory_sink(void) {
  static const size_t sizes[] = {0, 1, 4000, 4072, 4073, 20000, 100000, 1 << 20, 7000000, 30000000};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
    memory_sink(sizes[i], sizes[i] < 10000 ? 10 : (uint32_t) (sizes[i] / 50), true);
    memory_sink(sizes[i], 1 << 20, true);
    memory_sink(sizes[i], 1 << 20, false);
  }
}

static void read_everything(struct source *s, const unsigned char *bytes, size_t n, size_t piece) {
  struct error e = {0};
  unsigned char *got = make(piece);
  size_t at = 0, k;
  for (;;) {
    check(s->read(s, got, piece, &k, &e) == OK, "reads", at);
    check(k == (piece < n - at ? piece : n - at) && same_bytes(got, bytes + at, k), "all of it",
          at);
    at += k;
    if (k < piece) break;
  }
  check(s->at == n, "the cursor is at the end", s->at);
  for (uint64_t i = 0; i < n + 20; i += 1 + n / 30) {
    check(source_read_at(s, i, got, piece, &k, &e) == OK, "reads anywhere", i);
    const size_t left = i < n ? n - (size_t) i : 0;
    check(k == (piece < left ? piece : left) && same_bytes(got, bytes + (i < n ? i : 0), k),
          "as far as there is any", i);
  }
  check(source_read_at(s, (uint64_t) 1 << 62, got, piece, &k, &e) == OK && k == 0, "far past it",
        0);
  check(s->at == n, "the cursor stays", s->at);
  free(got);
}

static void test_sources(void) {
  const char *path = in_folder("source");
  for (size_t n = 0; n < 5000; n += 1 + n / 2) {
    unsigned char *bytes = make(n);
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char) random_u32();
    struct error e = {0};
    struct source s;
    check(save(path, bytes, n, &e) == OK, "saved", n);
    for (int kind = 0; kind < 3; kind++) {
      if (kind == 0)
        source_memory(&s, bytes, n);
      else
        check(source_file(&s, path, &e) == OK, "opened", n);
      check(s.can_seek && s.len == n, "its length is known", s.len);
      faults_on();
      if (kind == 2) {
        faults.most = 1 + n / 10;
        faults.eintr = 2;
      }
      read_everything(&s, bytes, n, 1 + n / 3);
      faults_off();
      source_close(&s);
    }
    free(bytes);
  }
  unlink(path);
}

static void test_source_refusals(void) {
  struct error e = {0};
  struct source s;
  check(source_file(&s, in_folder("none"), &e) == ERR_IO && e.sys == ENOENT, "no such file", 0);
  source_close(&s);
  e = (struct error){0};
  check(source_file(&s, folder, &e) == ERR_IO && e.sys == EISDIR, "a folder", (uint64_t) e.sys);
  source_close(&s);
  put_file(in_folder("file"), "text", 0644);
  e = (struct error){0};
  check(source_file(&s, in_folder("file"), &e) == OK, "opened", 0);
  faults_on();
  faults.read_errno = EIO;
  char got[4];
  size_t k = 99;
  check(s.read(&s, got, 4, &k, &e) == ERR_IO && e.sys == EIO && k == 0, "read refuses", k);
  faults_off();
  source_close(&s);
  unlink(in_folder("file"));
}

// ---- pipes as sources ---------------------------------------------------------------------

static int pipe_source(struct source *s, int *writer) {
  int fds[2];
  char name[32];
  struct error e = {0};
  if (pipe(fds)) abort();
  snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
  check(source_file(s, name, &e) == OK && !s->can_seek, "a pipe is a source", (uint64_t) e.sys);
  *writer = fds[1];
  return fds[0];
}

static void test_pipe_source(void) {
  struct source s;
  struct error e = {0};
  int writer;
  const int fd = pipe_source(&s, &writer);
  char got[100];
  size_t k;
  const double start = seconds_now();
  check(s.read(&s, got, 10, &k, &e) == AGAIN && k == 0, "a silent pipe says AGAIN", k);
  check(seconds_now() - start < 0.5, "in good time", 0);
  check(write(writer, "abcdef", 6) == 6, "written", 0);
  check(s.read(&s, got, 4, &k, &e) == OK && k == 4 && !memcmp(got, "abcd", 4), "what is asked", k);
  check(s.read(&s, got, 10, &k, &e) == AGAIN && k == 2 && !memcmp(got, "ef", 2),
        "what there is, with AGAIN", k);
  faults_on();
  faults.eintr = 1;
  faults.most = 1;
  check(write(writer, "g", 1) == 1 || write(writer, "g", 1) == 1, "written", 0);
  close(writer);
  check(s.read(&s, got, 10, &k, &e) == OK && k == 1 && got[0] == 'g', "the end", k);
  faults_off();
  check(s.read(&s, got, 10, &k, &e) == OK && k == 0 && s.at == 7, "and nothing after it", s.at);
  check(e.code == OK, "no error", e.code);
  source_close(&s);
  close(fd);
}

struct feed {
  int fd;
  const unsigned char *p;
  size_t n;
  long pause_us;
};

static void *feed_main(void *arg) {
  const struct feed *f = arg;
  for (size_t at = 0, k; at < f->n; at += k) {
    k = f->n - at < 70000 ? f->n - at : 70000;
    if (f->pause_us) sleep_us(f->pause_us);
    const ssize_t done = __real_write(f->fd, f->p + at, k);
    if (done <= 0) break;
    k = (size_t) done;
  }
  __real_close(f->fd);
  return NULL;
}

static void test_slurp(void) {
  static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 131072, 1000000};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
    struct source s;
    struct error e = {0};
    int writer;
    const int fd = pipe_source(&s, &writer);
    unsigned char *bytes = make(sizes[i]);
    for (size_t k = 0; k < sizes[i]; k++) bytes[k] = (unsigned char) random_u32();
    struct feed f = {writer, bytes, sizes[i], i == 5 ? 150000 : 0};
    pthread_t thread;
    pthread_create(&thread, NULL, feed_main, &f);
    enum status st;
    unsigned n_again = 0;
    while ((st = source_slurp(&s, NULL, 0, &e)) == AGAIN) n_again++;
    pthread_join(thread, NULL);
    check(st == OK && s.can_seek && s.len == sizes[i], "a pipe is slurped", s.len);
    check(i != 5 || n_again > 0, "with AGAIN in between", n_again);
    read_everything(&s, bytes, sizes[i], 1000);
    source_close(&s);
    close(fd);
    free(bytes);
  }
}

static void test_slurp_failure(void) {
  struct source s;
  struct error e = {0};
  int writer;
  const int fd = pipe_source(&s, &writer);
  check(write(writer, "abc", 3) == 3, "written", 0);
  check(source_slurp(&s, NULL, 0, &e) == AGAIN, "more may come", 0);
  faults_on();
  faults.read_errno = EIO;
  check(write(writer, "abc", 3) == 3, "written", 0);
  check(source_slurp(&s, NULL, 0, &e) == ERR_IO && e.sys == EIO, "the pipe fails", 0);
  faults_off();
  source_close(&s);
  close(writer);
  close(fd);
}

// What is read piece by piece and kept is a source of its own; what lies behind it stays unread.
static void test_keep(void) {
  struct source s;
  struct error e = {0};
  int writer;
  const int fd = pipe_source(&s, &writer);
  unsigned char bytes[1000], piece[300], behind;
  for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (unsigned char) random_u32();
  check(write(writer, bytes, sizeof(bytes)) == (ssize_t) sizeof(bytes), "written", 0);
  for (int i = 0; i < 3; i++) {
    size_t got;
    check(source_read(&s, piece, sizeof(piece), &got, &e) == OK && got == 300, "read", got);
    check(source_keep(&s, piece, got, &e) == OK, "kept", got);
  }
  source_become_kept(&s);
  check(s.can_seek && s.len == 900, "what was kept is all there is", s.len);
  read_everything(&s, bytes, 900, 70);
  check(read(fd, &behind, 1) == 1 && behind == bytes[900], "the rest is still there", behind);
  source_close(&s);
  close(writer);
  close(fd);
}

int main(void) {
  folder = temp_path("io");
  if (mkdir(folder, 0700)) abort();
  test_new_file();
  test_modes();
  test_private();
  test_refusals();
  test_permissions();
  test_links();
  test_long_chain();
  test_short_writes();
  test_faults();
  test_descriptors();
  test_stale_temporary();
  test_fifo();
  test_broken_pipe();
  test_devices();
  test_descriptor_names();
  test_non_blocking();
  test_reset();
  test_memory_sink();
  test_sources();
  test_source_refusals();
  test_pipe_source();
  test_slurp();
  test_slurp_failure();
  test_keep();
  check(entries(folder) == 0, "no stray file", entries(folder));
  rmdir(folder);
  return checks_end();
}
