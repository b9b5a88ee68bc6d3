#include "base/process/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace penstock {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

uint64_t ResidentBytes() {
  File file(std::fopen("/proc/self/statm", "r"), std::fclose);
  unsigned long long total = 0, resident = 0;
  if (file == nullptr || std::fscanf(file.get(), "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

double Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Field 22 of stat(5), in ticks since boot. The name before it may contain any character.
double StartTime() {
  File file(std::fopen("/proc/self/stat", "r"), std::fclose);
  char line[1024] = {};
  if (file == nullptr || std::fgets(line, sizeof(line), file.get()) == nullptr) return 0;
  const char* after_name = std::strrchr(line, ')');
  unsigned long long ticks = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%llu",
                  &ticks) != 1) {
    return 0;
  }
  const double since_boot = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return Now(CLOCK_REALTIME) - Now(CLOCK_BOOTTIME) + since_boot;
}

// Returns the number of entries other than "." and "..", or nullopt if the folder cannot be opened.
std::optional<uint32_t> EntriesOf(const char* path) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path), closedir);
  if (folder == nullptr) return std::nullopt;
  uint32_t entries = 0;
  while (readdir(folder.get()) != nullptr) ++entries;
  return std::max(entries, 2u) - 2;
}

// Counting needs a descriptor. If none is left, all are in use.
uint32_t OpenFiles(uint32_t limit) {
  const std::optional<uint32_t> entries = EntriesOf("/proc/self/fd");
  if (!entries.has_value()) return errno == EMFILE ? limit : 0;
  return std::max(*entries, 1u) - 1;  // Minus the descriptor of the folder itself.
}

}  // namespace

uint64_t DescriptorLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    stats.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  stats.open_files_limit = static_cast<uint32_t>(std::min<uint64_t>(DescriptorLimit(), UINT32_MAX));
  static const double start_time = StartTime();
  stats.start_time_seconds = start_time;
  stats.resident_bytes = ResidentBytes();
  stats.threads = EntriesOf("/proc/self/task").value_or(0);
  stats.open_files = OpenFiles(stats.open_files_limit);
  return stats;
}

}  // namespace penstock
