#include "records/base/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace penstock {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

uint64_t ResidentBytes() {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "r"), std::fclose);
  unsigned long long total = 0, resident = 0;
  if (file == nullptr || std::fscanf(file.get(), "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint32_t OpenFiles() {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return 0;
  uint32_t entries = 0;
  while (readdir(folder.get()) != nullptr) ++entries;
  return entries > 3 ? entries - 3 : 0;  // ".", ".." and the folder itself.
}

}  // namespace

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    stats.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    stats.open_files_limit = static_cast<uint32_t>(std::min<rlim_t>(limit.rlim_cur, UINT32_MAX));
  }
  stats.resident_bytes = ResidentBytes();
  stats.open_files = OpenFiles();
  return stats;
}

}  // namespace penstock
