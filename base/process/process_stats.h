// What this process takes of its machine.
#ifndef PENSTOCK_BASE_PROCESS_PROCESS_STATS_H_
#define PENSTOCK_BASE_PROCESS_PROCESS_STATS_H_

#include <cstdint>

namespace penstock {

struct ProcessStats {
  double cpu_seconds = 0;  // User and system, of all threads.
  uint64_t resident_bytes = 0;
  double start_time_seconds = 0;  // When the process started, since 1970.
  uint32_t threads = 0;
  uint32_t open_files = 0;        // Descriptors.
  uint32_t open_files_limit = 0;  // The soft limit.
};

// Descriptors that this process may have: the soft limit.
uint64_t DescriptorLimit();
// Raises that to the hard limit, for what may have as many as it is allowed to.
void RaiseDescriptorLimit();

// What cannot be read is 0. Takes tens of microseconds, more with thousands of descriptors.
ProcessStats ReadProcessStats();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_PROCESS_STATS_H_
