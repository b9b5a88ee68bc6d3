#include "trainer/cuda/cuda_device.h"
#include "trainer/cuda/gpu_ranks.h"

namespace penstock {

absl::StatusOr<size_t> CountGpus() {
  return absl::FailedPreconditionError(
      "this build has no CUDA support: build with -DPENSTOCK_CUDA=ON and NVIDIA's toolkit");
}

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(size_t, bool) { return CountGpus().status(); }

absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup&, Device&, DeviceOptions) {
  return CountGpus().status();
}

}  // namespace penstock
