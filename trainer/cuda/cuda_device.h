// A GPU as a Device. In a build without CUDA, these functions exist and return an error that says
// so.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_DEVICE_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_DEVICE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// Returns at least one. kFailedPrecondition: there is no usable GPU. The message has the reason: a
// build without CUDA, no driver or one that is too old, or no GPU.
absl::StatusOr<size_t> CountGpus();

// Opens GPU `index`, and makes it the calling thread's current device. If `traced`, the device's
// recorders include CUPTI if that is available. kFailedPrecondition: the GPU is too old. Other
// errors are those of SharedLibrary::Open() for cuBLASLt. REQUIRES: index < *CountGpus().
absl::StatusOr<std::unique_ptr<Device>> OpenGpu(size_t index, bool traced = false);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_DEVICE_H_
