// Connects the GPUs of the ranks: with NCCL, or through the host if ranks share a GPU.
#ifndef PENSTOCK_TRAINER_CUDA_CONNECT_DEVICES_H_
#define PENSTOCK_TRAINER_CUDA_CONNECT_DEVICES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_group.h"
#include "trainer/cuda/connect_nccl_tested.h"
#include "trainer/cuda/device_stream.h"

namespace penstock {

struct DeviceOptions {
  std::string gpu = {};           // UUID of this rank's GPU.
  bool allow_shared_gpu = false;  // Equal on all ranks.
  bool graphs = true;             // Whether exchanges will be part of graphs. Equal on all ranks.
  WaitOptions waits = {};
  NcclCallbacks nccl = {};
};

// Creates a communicator for device memory, besides the group's own, which stays in use for host
// memory. With allow_shared_gpu, it goes through the host (StagedCommunicator) if two ranks share a
// GPU; otherwise it uses NCCL. Null if there is only one rank. All ranks must call this. `group`
// and `stream` must outlive the communicator. kInvalidArgument: two ranks share a GPU without
// permission. kNotFound, kFailedPrecondition: NCCL is missing, too old, or of another version than
// rank 0's. Other errors are those of ConnectNcclTested().
absl::StatusOr<std::unique_ptr<Communicator>> ConnectDevices(RankGroup& group, DeviceStream& stream,
                                                             const DeviceOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CONNECT_DEVICES_H_
