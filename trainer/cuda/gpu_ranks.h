// The ranks of a training as their GPUs are connected. A build without CUDA has this too, and says
// so.
#ifndef PENSTOCK_TRAINER_CUDA_GPU_RANKS_H_
#define PENSTOCK_TRAINER_CUDA_GPU_RANKS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_group.h"

namespace penstock {

// A communicator of the memory of `device`, which is the calling thread's GPU, on its stream of
// exchanges: as ConnectDevices() has it. Null: one rank is alone. Both must outlive it.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup& group, Device& device,
                                                          bool allow_shared_gpu,
                                                          const WaitOptions& waits);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_GPU_RANKS_H_
