#include "base/process/shared_cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>

#include "absl/strings/ascii.h"
#include "base/process/control_groups.h"

namespace penstock {
namespace {

// The CPUs that this process may use.
class Affinity {
 public:
  explicit Affinity(const MachineLimitsSource& source) : told_(source.affinity_cores) {
    CPU_ZERO(&set_);
    // Fails if there are more CPUs than the set has room for. Then all CPUs count.
    all_ = ::sched_getaffinity(0, sizeof(set_), &set_) != 0;
  }
  bool Contains(int cpu) const {
    if (told_ > 0) return cpu < static_cast<int>(told_);
    return all_ || CPU_ISSET(cpu, &set_);
  }

 private:
  const uint32_t told_;
  cpu_set_t set_;
  bool all_ = false;
};

// A line of proc_stat(5): "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...", in ticks.
// STEAL counts as busy, because the time that a hypervisor took could not be used either.
struct CpuLine {
  int cpu = 0;
  double busy_ticks = 0;
};

std::optional<CpuLine> ParseCpuLine(const std::string& line) {
  CpuLine parsed;
  unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
  // The line of the sum is "cpu  USER ...": sscanf would take USER for the number of a CPU.
  if (line.size() < 4 || !absl::ascii_isdigit(static_cast<unsigned char>(line[3]))) {
    return std::nullopt;
  }
  if (std::sscanf(line.c_str(), "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &parsed.cpu, &user,
                  &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 9) {
    return std::nullopt;
  }
  parsed.busy_ticks = static_cast<double>(user + nice + system + irq + softirq + steal);
  return parsed;
}

SharedCpu ReadMachine(const MachineLimitsSource& source) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const Affinity affinity(source);
  SharedCpu machine;
  std::ifstream file(source.stat);
  for (std::string line; std::getline(file, line);) {
    const std::optional<CpuLine> parsed = ParseCpuLine(line);
    if (!parsed || !affinity.Contains(parsed->cpu)) continue;
    machine.cores += 1;
    machine.busy_seconds += tick * parsed->busy_ticks;
  }
  return machine;
}

}  // namespace

std::vector<SharedCpu> ReadSharedCpu(const MachineLimitsSource& source) {
  std::vector<SharedCpu> shared;
  const SharedCpu machine = ReadMachine(source);
  if (machine.cores > 0) shared.push_back(machine);
  for (const std::string& folder : ControlGroupFolders(source.cgroup_root, source.self_cgroup)) {
    const double cores = CoreQuota(folder);
    const std::optional<double> seconds = GroupCpuSeconds(folder);
    if (std::isfinite(cores) && cores > 0 && seconds) shared.push_back({folder, cores, *seconds});
  }
  return shared;
}

CpuUse MostUsedCpu(const std::vector<SharedCpu>& from, const std::vector<SharedCpu>& to,
                   double seconds) {
  CpuUse most;
  for (const SharedCpu& now : to) {
    const auto before = std::ranges::find(from, now.group, &SharedCpu::group);
    if (before == from.end() || before->cores != now.cores || seconds <= 0) continue;
    const double busy = (now.busy_seconds - before->busy_seconds) / seconds;
    const CpuUse use = {!now.group.empty(), now.cores, std::clamp(busy, 0.0, now.cores)};
    if (most.cores == 0 || use.share() > most.share()) most = use;
  }
  return most;
}

}  // namespace penstock
