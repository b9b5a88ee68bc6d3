// The CPUs that this process shares with others. They may be used up even if no single program uses
// all of them.
#ifndef PENSTOCK_BASE_PROCESS_SHARED_CPU_H_
#define PENSTOCK_BASE_PROCESS_SHARED_CPU_H_

#include <string>
#include <vector>

#include "base/process/machine_limits.h"

namespace penstock {

// The state of one set of CPUs at one moment.
struct SharedCpu {
  std::string group;        // Folder of a control group; empty for the whole machine.
  double cores = 0;         // The group's limit, or the number of CPUs that this process may use.
  double busy_seconds = 0;  // Use of these CPUs by all programs, since some fixed moment.
};

// Returns the machine, and each control group around this process that has a limit. Entries that
// the kernel does not report are left out.
std::vector<SharedCpu> ReadSharedCpu(const MachineLimitsSource& source = {});

// The use of one set of CPUs between two moments.
struct CpuUse {
  bool of_group = false;  // True for a control group, false for the whole machine.
  double cores = 0;       // 0 if the kernel reports nothing.
  double busy_cores = 0;
  double share() const { return cores > 0 ? busy_cores / cores : 0; }
};

// Returns the entry with the highest share in use. `seconds` is the time from `from` to `to`.
CpuUse MostUsedCpu(const std::vector<SharedCpu>& from, const std::vector<SharedCpu>& to,
                   double seconds);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_SHARED_CPU_H_
