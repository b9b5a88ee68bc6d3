// Measures the CPU time of this process.
#ifndef PENSTOCK_BENCH_CPU_SECONDS_H_
#define PENSTOCK_BENCH_CPU_SECONDS_H_

#include <sys/resource.h>

namespace penstock {

// Returns the user and system time of all threads since this process started, in seconds.
inline double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace penstock

#endif  // PENSTOCK_BENCH_CPU_SECONDS_H_
