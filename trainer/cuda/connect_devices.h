// How the GPUs of the ranks are connected: by NCCL, or through the host where ranks share one.
#ifndef PENSTOCK_TRAINER_CUDA_CONNECT_DEVICES_H_
#define PENSTOCK_TRAINER_CUDA_CONNECT_DEVICES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_group.h"
#include "trainer/cuda/device_stream.h"

namespace penstock {

struct DeviceOptions {
  std::string gpu;                // UUID of this rank's.
  bool allow_shared_gpu = false;  // Of all ranks alike.
  WaitOptions waits = {};
};

// A communicator of device memory beside the group's own, which stays for what lies on the host.
// With allow_shared_gpu it is one through the host (StagedCommunicator) if two ranks have one GPU;
// else it is NCCL's. Null: one rank is alone. All ranks call it. `group` and `stream` must outlive
// it.
// kInvalidArgument: two ranks have one GPU and may not; kNotFound, kFailedPrecondition: there is no
// NCCL, or one that is too old or another than rank 0's; else as ConnectNccl().
absl::StatusOr<std::unique_ptr<Communicator>> ConnectDevices(RankGroup& group, DeviceStream& stream,
                                                             const DeviceOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CONNECT_DEVICES_H_
