// A GPU as a Device. A build without CUDA has these functions too, and they say so.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_DEVICE_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_DEVICE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// At least one. kFailedPrecondition: there is none for us, and why: a build without CUDA, no
// driver or one too old, no GPU.
absl::StatusOr<size_t> CountGpus();

// GPU `index`, which becomes the calling thread's; `traced`: its recorders are to have CUPTI, if
// there is one. kFailedPrecondition: too old a GPU, or the errors of SharedLibrary::Open() for
// cuBLASLt. REQUIRES: index < *CountGpus().
absl::StatusOr<std::unique_ptr<Device>> OpenGpu(size_t index, bool traced = false);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_DEVICE_H_
