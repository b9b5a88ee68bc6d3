// Reads which resources this process uses.
#ifndef PENSTOCK_BASE_PROCESS_PROCESS_STATS_H_
#define PENSTOCK_BASE_PROCESS_PROCESS_STATS_H_

#include <cstdint>

namespace penstock {

struct ProcessStats {
  double cpu_seconds = 0;  // User and system time of all threads.
  uint64_t resident_bytes = 0;
  double start_time_seconds = 0;  // Start of the process, in seconds since 1970.
  uint32_t threads = 0;
  uint32_t open_files = 0;        // Number of file descriptors in use.
  uint32_t open_files_limit = 0;  // The soft limit of file descriptors.
};

// Returns the soft limit of file descriptors.
uint64_t DescriptorLimit();
// Raises the soft limit to the hard limit.
void RaiseDescriptorLimit();

// A value that cannot be read is 0. Takes tens of microseconds, or more with thousands of
// descriptors.
ProcessStats ReadProcessStats();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_PROCESS_STATS_H_
