// CPUs that this process shares with others: they can be used up though no program uses them all.
#ifndef PENSTOCK_BASE_PROCESS_SHARED_CPU_H_
#define PENSTOCK_BASE_PROCESS_SHARED_CPU_H_

#include <string>
#include <vector>

#include "base/process/machine_limits.h"

namespace penstock {

// At one moment.
struct SharedCpu {
  std::string group;        // The folder of a control group; empty: the machine.
  double cores = 0;         // A group's limit; of the machine the CPUs that this process may use.
  double busy_seconds = 0;  // Of those, by all programs, since some moment of the past.
};

// The machine, and each control group around this process that has a limit. What is not told is
// left out.
std::vector<SharedCpu> ReadSharedCpu(const MachineLimitsSource& source = {});

// Between two moments.
struct CpuUse {
  bool of_group = false;  // A control group's, else the machine's.
  double cores = 0;       // 0: nothing was told.
  double busy_cores = 0;
  double share() const { return cores > 0 ? busy_cores / cores : 0; }
};

// What was used most of.
CpuUse MostUsedCpu(const std::vector<SharedCpu>& from, const std::vector<SharedCpu>& to,
                   double seconds);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_SHARED_CPU_H_
