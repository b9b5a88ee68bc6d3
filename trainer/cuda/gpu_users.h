// Who else has memory of a GPU.
#ifndef PENSTOCK_TRAINER_CUDA_GPU_USERS_H_
#define PENSTOCK_TRAINER_CUDA_GPU_USERS_H_

#include <cstdint>
#include <span>
#include <string>

namespace penstock {

struct GpuUser {
  uint32_t pid = 0;
  uint64_t bytes = 0;  // 0: not known, as in a container.
};

// "2048 MiB in process 4711 (python3)", the largest first, without process `own`; empty if there is
// nobody else.
std::string DescribeGpuUsers(std::span<const GpuUser> users, uint32_t own);

// Of the GPU with this PCI address, by the driver's NVML; empty where that is missing or refuses.
std::string OtherGpuUsers(const std::string& pci_address);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_GPU_USERS_H_
