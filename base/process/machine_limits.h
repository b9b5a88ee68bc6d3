// Finds out how many cores and how much memory this process may use.
#ifndef PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_
#define PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_

#include <cstdint>
#include <string>

namespace penstock {

struct MachineLimits {
  uint32_t cores = 1;      // At least 1. A fraction of a core is rounded up.
  double exact_cores = 1;  // The limit in cores, without rounding.
  uint64_t memory_bytes = 0;
};

// The places from which the limits are read. Tests use folders of their own.
struct MachineLimitsSource {
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string self_cgroup = "/proc/self/cgroup";
  std::string stat = "/proc/stat";
  // The process may use CPUs 0 to affinity_cores - 1. If 0, the kernel is asked for its CPUs.
  uint32_t affinity_cores = 0;
  // In bytes. If 0, the kernel is asked.
  uint64_t physical_memory = 0;
};

// Returns the smallest of these limits: CPU affinity, installed memory, address space, and the
// limits of the process's control group and all groups around it, version 1 or 2. A limit that
// cannot be read is ignored.
MachineLimits ReadMachineLimits(const MachineLimitsSource& source = {});

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_MACHINE_LIMITS_H_
