// Reads this process's control group (cgroups(7)), version 1 or 2.
#ifndef PENSTOCK_BASE_PROCESS_CONTROL_GROUPS_H_
#define PENSTOCK_BASE_PROCESS_CONTROL_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// Returns the folders of the group and of every group around it, up to the mount `root`, for the
// cpu, memory and pids controllers. Some of them may not exist. `self` is the file
// /proc/self/cgroup. In a container, the group's own path may lie outside of what is mounted; the
// top of the mount is then the container's group.
std::vector<std::string> ControlGroupFolders(const std::string& root, const std::string& self);

// Reads a file whose first line is a number. Returns nullopt, which means no limit, if the line is
// "max" or no number.
std::optional<uint64_t> ReadNumber(const std::string& path);

// Returns the number of cores that the group of `folder` may use at a time. It may be fractional,
// and is infinity if there is no limit.
double CoreQuota(const std::string& folder);

// Returns the CPU time in seconds that the group's processes have used since the group was created,
// if the kernel reports it.
std::optional<double> GroupCpuSeconds(const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_CONTROL_GROUPS_H_
