// Other processes that use a GPU's memory.
#ifndef PENSTOCK_TRAINER_CUDA_GPU_USERS_H_
#define PENSTOCK_TRAINER_CUDA_GPU_USERS_H_

#include <cstdint>
#include <span>
#include <string>

namespace penstock {

struct GpuUser {
  uint32_t pid = 0;
  uint64_t bytes = 0;  // 0 if unknown, as in a container.
};

// "2048 MiB in process 4711 (python3)", the largest first, without the process `own`. Empty if
// there are no others.
std::string DescribeGpuUsers(std::span<const GpuUser> users, uint32_t own);

// Describes the users of the GPU with this PCI address that the driver's NVML lists, without this
// process. Empty if NVML is missing or refuses.
std::string OtherGpuUsers(const std::string& pci_address);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_GPU_USERS_H_
