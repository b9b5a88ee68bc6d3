#include "trainer/cuda/gpu_users.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/cuda/cuda_libraries.h"

namespace penstock {
namespace {

// NVML's nvmlProcessInfo_t. All bits of `bytes` are set if it is unknown.
struct NvmlProcess {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kMostProcesses = 64;

std::string NameOf(uint32_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name.empty() ? "" : absl::StrCat(" (", name, ")");
}

}  // namespace

std::string DescribeGpuUsers(std::span<const GpuUser> users, uint32_t own) {
  std::vector<GpuUser> others(users.begin(), users.end());
  std::erase_if(others, [own](const GpuUser& user) { return user.pid == own; });
  std::sort(others.begin(), others.end(),
            [](const GpuUser& a, const GpuUser& b) { return a.bytes > b.bytes; });
  return absl::StrJoin(others, ", ", [](std::string* text, const GpuUser& user) {
    const std::string size =
        user.bytes == 0 ? "some memory" : absl::StrCat(user.bytes >> 20, " MiB");
    absl::StrAppend(text, size, " in process ", user.pid, NameOf(user.pid));
  });
}

std::string OtherGpuUsers(const std::string& pci_address) {
  const absl::StatusOr<SharedLibrary> nvml = SharedLibrary::Open(NvmlSpec(), {});
  if (!nvml.ok() || nvml->Function<int()>("nvmlInit_v2")() != 0) return "";
  void* device = nullptr;
  if (nvml->Function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2")(
          pci_address.c_str(), &device) != 0) {
    return "";
  }
  NvmlProcess processes[kMostProcesses];
  unsigned count = kMostProcesses;
  if (nvml->Function<int(void*, unsigned*, NvmlProcess*)>(
          "nvmlDeviceGetComputeRunningProcesses_v3")(device, &count, processes) != 0) {
    return "";
  }
  std::vector<GpuUser> users;
  for (unsigned i = 0; i < count; ++i) {
    const bool is_known = processes[i].bytes != ~0ull;
    users.push_back({processes[i].pid, is_known ? processes[i].bytes : 0});
  }
  return DescribeGpuUsers(users, static_cast<uint32_t>(getpid()));
}

}  // namespace penstock
