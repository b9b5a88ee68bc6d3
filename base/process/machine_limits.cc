#include "base/process/machine_limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/process/control_groups.h"
#include "base/process/process_limits.h"

namespace penstock {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct Caps {
  double cores = std::numeric_limits<double>::infinity();
  uint64_t memory = kUnlimited;
};

void Lower(Caps& caps, const std::string& folder) {
  caps.cores = std::min(caps.cores, CoreQuota(folder));
  caps.memory =
      std::min({caps.memory, ReadNumber(folder + "/memory.limit_in_bytes").value_or(kUnlimited),
                ReadNumber(folder + "/memory.max").value_or(kUnlimited)});
}

uint32_t AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  return static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

uint64_t PhysicalMemory() {
  return std::min(static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE)),
                  AddressSpaceLimit().value_or(kUnlimited));
}

}  // namespace

MachineLimits ReadMachineLimits(const MachineLimitsSource& source) {
  Caps caps;
  for (const std::string& folder : ControlGroupFolders(source.cgroup_root, source.self_cgroup)) {
    Lower(caps, folder);
  }
  const uint32_t cores = source.affinity_cores > 0 ? source.affinity_cores : AffinityCores();
  const uint64_t memory = source.physical_memory > 0 ? source.physical_memory : PhysicalMemory();
  const double exact_cores = std::min<double>(caps.cores, cores);
  return {static_cast<uint32_t>(std::max(1.0, std::ceil(exact_cores))), exact_cores,
          std::min(caps.memory, memory)};
}

}  // namespace penstock
