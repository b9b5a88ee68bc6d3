// How much of its machine this process may use.
#ifndef PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_
#define PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_

#include <cstdint>
#include <string>

namespace penstock {

struct MachineLimits {
  uint32_t cores = 1;      // At least 1. A fraction of a core is rounded up.
  double exact_cores = 1;  // Not rounded.
  uint64_t memory_bytes = 0;
};

// Where the limits are read from. Tests use folders of their own.
struct MachineLimitsSource {
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string self_cgroup = "/proc/self/cgroup";
  std::string stat = "/proc/stat";
  // 0: ask the kernel. Otherwise CPUs 0 to affinity_cores - 1 may be used.
  uint32_t affinity_cores = 0;
  // Bytes. 0: ask the kernel.
  uint64_t physical_memory = 0;
};

// Returns the smallest of these limits: CPU affinity, installed memory, address space, and the
// limits of the process's control group and all groups around it, version 1 or 2. A limit that
// cannot be read is ignored.
MachineLimits ReadMachineLimits(const MachineLimitsSource& source = {});

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_
