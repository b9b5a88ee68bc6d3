#include "base/process/control_groups.h"

#include <fstream>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<uint64_t> Number(absl::string_view text) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

double Quota(std::optional<uint64_t> quota, std::optional<uint64_t> period) {
  if (!quota || period.value_or(0) == 0) return kNoQuota;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

void AddAlong(std::vector<std::string>& folders, const std::string& mount, std::string group) {
  while (true) {
    folders.push_back(mount + group);
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

// A line is "number:controllers:path". Version 2 has number 0 and no controllers.
void AddGroup(std::vector<std::string>& folders, const std::string& root, const std::string& line) {
  const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
  if (fields.size() != 3) return;
  if (fields[1].empty()) {
    AddAlong(folders, root, fields[2]);
    AddAlong(folders, root + "/unified", fields[2]);
    return;
  }
  for (absl::string_view controller : absl::StrSplit(fields[1], ',')) {
    if (controller != "cpu" && controller != "memory" && controller != "pids") continue;
    AddAlong(folders, absl::StrCat(root, "/", controller), fields[2]);
    AddAlong(folders, absl::StrCat(root, "/", fields[1]), fields[2]);
  }
}

}  // namespace

std::vector<std::string> ControlGroupFolders(const std::string& root, const std::string& self) {
  std::vector<std::string> folders;
  std::ifstream groups(self);
  for (std::string line; std::getline(groups, line);) AddGroup(folders, root, line);
  return folders;
}

std::optional<uint64_t> ReadNumber(const std::string& path) { return Number(FirstLine(path)); }

double CoreQuota(const std::string& folder) {
  // Version 2 writes "QUOTA PERIOD".
  const std::vector<std::string> fields = absl::StrSplit(FirstLine(folder + "/cpu.max"), ' ');
  if (fields.size() == 2) return Quota(Number(fields[0]), Number(fields[1]));
  return Quota(ReadNumber(folder + "/cpu.cfs_quota_us"), ReadNumber(folder + "/cpu.cfs_period_us"));
}

std::optional<double> GroupCpuSeconds(const std::string& folder) {
  std::ifstream file(folder + "/cpu.stat");  // Version 1 has this file too, but without the time.
  for (std::string line; std::getline(file, line);) {
    absl::string_view value = line;
    if (!absl::ConsumePrefix(&value, "usage_usec ")) continue;
    if (std::optional<uint64_t> used = Number(value)) return 1e-6 * static_cast<double>(*used);
  }
  if (std::optional<uint64_t> used = ReadNumber(folder + "/cpuacct.usage")) {
    return 1e-9 * static_cast<double>(*used);
  }
  return std::nullopt;
}

}  // namespace penstock
