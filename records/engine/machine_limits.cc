#include "records/engine/machine_limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// "max" and what is no number limit nothing.
uint64_t ReadNumber(const std::string& path) {
  uint64_t value = 0;
  std::optional<std::string> line = FirstLine(path);
  return line && absl::SimpleAtoi(*line, &value) ? value : kUnlimited;
}

uint64_t CoresOf(uint64_t quota, uint64_t period) {
  return quota == kUnlimited || period == 0 ? kUnlimited
                                            : std::max<uint64_t>(1, (quota + period - 1) / period);
}

// cgroup v2's "QUOTA PERIOD", QUOTA may be "max".
uint64_t ReadCpuMax(const std::string& path) {
  std::optional<std::string> line = FirstLine(path);
  if (!line) return kUnlimited;
  const std::vector<std::string> fields = absl::StrSplit(*line, ' ');
  uint64_t quota = 0, period = 0;
  if (fields.size() != 2 || !absl::SimpleAtoi(fields[0], &quota) ||
      !absl::SimpleAtoi(fields[1], &period)) {
    return kUnlimited;
  }
  return CoresOf(quota, period);
}

struct Caps {
  uint64_t cores = kUnlimited;
  uint64_t memory = kUnlimited;
};

void Lower(Caps& caps, const std::string& folder) {
  const uint64_t v1_quota = ReadNumber(folder + "/cpu.cfs_quota_us");  // -1, no number: unlimited
  const uint64_t v1_cores = CoresOf(v1_quota, ReadNumber(folder + "/cpu.cfs_period_us"));
  caps.cores = std::min({caps.cores, v1_cores, ReadCpuMax(folder + "/cpu.max")});
  caps.memory = std::min({caps.memory, ReadNumber(folder + "/memory.limit_in_bytes"),
                          ReadNumber(folder + "/memory.max")});
}

// `group` and every group around it, up to the mount. In a container the group's own path may lie
// outside of what is mounted; the mount's top is then the container's group.
void LowerAlong(Caps& caps, const std::string& mount, std::string group) {
  while (true) {
    Lower(caps, mount + group);
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

// Lines are "number:controllers:path"; version 2 has number 0 and no controllers.
void LowerByGroup(Caps& caps, const std::string& root, const std::string& line) {
  const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
  if (fields.size() != 3) return;
  if (fields[1].empty()) {
    LowerAlong(caps, root, fields[2]);
    LowerAlong(caps, root + "/unified", fields[2]);
    return;
  }
  for (absl::string_view controller : absl::StrSplit(fields[1], ',')) {
    if (controller != "cpu" && controller != "memory") continue;
    LowerAlong(caps, absl::StrCat(root, "/", controller), fields[2]);
    LowerAlong(caps, absl::StrCat(root, "/", fields[1]), fields[2]);
  }
}

uint32_t AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  return static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

uint64_t PhysicalMemory() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

}  // namespace

MachineLimits ReadMachineLimits(const MachineLimitsSource& source) {
  Caps caps;
  std::ifstream groups(source.self_cgroup);
  for (std::string line; std::getline(groups, line);) LowerByGroup(caps, source.cgroup_root, line);
  const uint64_t cores = source.affinity_cores > 0 ? source.affinity_cores : AffinityCores();
  const uint64_t memory = source.physical_memory > 0 ? source.physical_memory : PhysicalMemory();
  return {static_cast<uint32_t>(std::max<uint64_t>(1, std::min(caps.cores, cores))),
          std::min(caps.memory, memory)};
}

}  // namespace penstock
