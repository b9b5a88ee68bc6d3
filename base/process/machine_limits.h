// What this process may use of its machine.
#ifndef PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_
#define PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_

#include <cstdint>
#include <string>

namespace penstock {

struct MachineLimits {
  uint32_t cores = 1;      // At least 1; a share of a core counts as one.
  double exact_cores = 1;  // Not rounded.
  uint64_t memory_bytes = 0;
};

// Where the limits are read; tests point it at folders of their own.
struct MachineLimitsSource {
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string self_cgroup = "/proc/self/cgroup";
  std::string stat = "/proc/stat";
  // 0: ask the kernel. Else CPUs 0, 1, ... may be used.
  uint32_t affinity_cores = 0;
  uint64_t physical_memory = 0;
};

// The least of affinity, installed memory, the limit of addresses and the limits of the process's
// control group and all groups around it, version 1 or 2. What cannot be read limits nothing.
MachineLimits ReadMachineLimits(const MachineLimitsSource& source = {});

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_
