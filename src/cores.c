#ifdef __linux__
#define _GNU_SOURCE  // sched_getaffinity()
#endif
#include "cores.h"

#include <stdio.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

static int cores_online(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return (int) sysconf(_SC_NPROCESSORS_ONLN);
#elif defined(_WIN32)
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return (int) info.dwNumberOfProcessors;
#else
  return (int) sysconf(_SC_NPROCESSORS_ONLN);
#endif
}

#ifdef __linux__
// A quota of processor time in whole cores, rounded up; 0 if there is none. Both files of version
// 1 and the one of version 2 say microseconds per period; "max" or -1 mean no limit.
static int quota_in(const char *quota_file, const char *period_file) {
  long quota = -1, period = 0;
  FILE *f = fopen(quota_file, "re");
  if (!f) return 0;
  const int n = fscanf(f, "%ld %ld", &quota, &period);
  fclose(f);
  if (n >= 1 && period_file && (f = fopen(period_file, "re"))) {
    if (fscanf(f, "%ld", &period) != 1) period = 0;
    fclose(f);
  }
  return n >= 1 && quota > 0 && period > 0 ? (int) ((quota + period - 1) / period) : 0;
}

static int smaller_limit(int a, int b) { return a == 0 || (b && b < a) ? b : a; }

// The smallest quota of this process's group and all those above it.
static int quota_v2(void) {
  char line[1024], path[1200];
  int limit = 0;
  FILE *f = fopen("/proc/self/cgroup", "re");
  if (!f) return quota_in("/sys/fs/cgroup/cpu.max", NULL);
  while (fgets(line, sizeof(line), f)) {
    if (strncmp(line, "0::", 3) != 0) continue;
    char *group = line + 3;
    group[strcspn(group, "\n")] = '\0';
    for (;;) {
      snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
      limit = smaller_limit(limit, quota_in(path, NULL));
      char *slash = strrchr(group, '/');
      if (!slash) break;
      *slash = '\0';
    }
  }
  fclose(f);
  return limit;
}

static int quota(void) {
  return smaller_limit(quota_v2(), quota_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
                                            "/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
}
#else
static int quota(void) { return 0; }
#endif

int cores_available(void) {
  const int cores = cores_online(), limit = quota();
  const int n = limit && limit < cores ? limit : cores;
  return n < 1 ? 1 : n;
}
