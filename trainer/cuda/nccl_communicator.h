// Connects ranks on GPUs with NCCL, one GPU per rank.
#ifndef PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/wait_options.h"
#include "trainer/cuda/device_stream.h"
#include "trainer/cuda/nccl_library.h"

namespace penstock {

struct NcclMode {
  // NCCL's calls then return when they are done, and launch from the calling thread. Otherwise they
  // return at once, and another thread of NCCL may launch. Equal on all ranks.
  bool blocking = false;
  // Called on another thread if NCCL blocks in a call that nothing can end. By default the process
  // ends soon after.
  std::function<void(const absl::Status&)> on_stuck = nullptr;
};

// A communicator that can test whether its exchanges work in a graph.
class CapturingCommunicator : public Communicator {
 public:
  // Exchanges a few bytes within a graph. All ranks must call this before anything else. An error
  // ends the communicator: NCCL refuses, the graph does not finish within `timeout`, or the bytes
  // are wrong.
  virtual absl::Status TryGraph(absl::Duration timeout) = 0;
};

// A communicator for device memory (kDevice). Each exchange is one NCCL group on `stream`, after
// the work already queued there, and returns when the stream is done. Meanwhile it polls NCCL's
// errors. If the store reports a lost rank, it aborts NCCL, so that nothing waits for that rank.
// `store` and `stream` must outlive it, and the stream's device must be the calling thread's. Call
// this once per training and mode. kUnavailable: NCCL does not connect in time; the message has its
// reason or that of the lost rank.
absl::StatusOr<std::unique_ptr<CapturingCommunicator>> ConnectNccl(
    const RankInfo& info, StoreClient& store, const NcclLibrary& nccl, DeviceStream& stream,
    const WaitOptions& options, const NcclMode& mode = {});

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
