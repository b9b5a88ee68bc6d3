// The ranks of a training as their GPUs are connected. A build without CUDA has this too, and says
// so.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_GPU_RANKS_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_GPU_RANKS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_group.h"

namespace penstock {

// A communicator of the memory of the calling thread's GPU, on a stream of its own, which it owns:
// as ConnectDevices() has it. Null: one rank is alone. `group` must outlive it.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup& group, bool allow_shared_gpu,
                                                          const WaitOptions& waits);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_GPU_RANKS_H_
