// Connects the ranks of a training through their GPUs. In a build without CUDA, this exists and
// returns an error that says so.
#ifndef PENSTOCK_TRAINER_CUDA_GPU_RANKS_H_
#define PENSTOCK_TRAINER_CUDA_GPU_RANKS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_group.h"
#include "trainer/cuda/connect_devices.h"

namespace penstock {

// Creates a communicator for the memory of `device`, which must be the calling thread's GPU, on its
// exchange stream; see ConnectDevices(). options.gpu is set here. Null if there is only one rank.
// `group` and `device` must outlive it.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup& group, Device& device,
                                                          DeviceOptions options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_GPU_RANKS_H_
