// What the kernel tells of this process's control group (cgroups(7)), version 1 or 2.
#ifndef PENSTOCK_BASE_PROCESS_CONTROL_GROUPS_H_
#define PENSTOCK_BASE_PROCESS_CONTROL_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// Folders of the group and of every group around it, up to the mount `root`, for the CPU,
// memory and pids controllers; some may not exist. `self` is the file /proc/self/cgroup. In a
// container the group's own path may lie outside of what is mounted; the mount's top is then the
// container's group.
std::vector<std::string> ControlGroupFolders(const std::string& root, const std::string& self);

// The number that is a file's first line. "max", and what is no number, limit nothing.
std::optional<uint64_t> ReadNumber(const std::string& path);

// Cores that the group of `folder` may use at a time, also parts of one; infinity without a limit.
double CoreQuota(const std::string& folder);

// CPU time that the group's processes have used since it was made, if it is told.
std::optional<double> GroupCpuSeconds(const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_CONTROL_GROUPS_H_
