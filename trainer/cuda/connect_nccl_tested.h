// Connects GPUs with NCCL in the mode that works in graphs.
#ifndef PENSTOCK_TRAINER_CUDA_CONNECT_NCCL_TESTED_H_
#define PENSTOCK_TRAINER_CUDA_CONNECT_NCCL_TESTED_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/comm/communicator.h"
#include "trainer/cuda/nccl_communicator.h"

namespace penstock {

struct NcclCallbacks {
  std::function<void(const absl::Status&)> on_stuck = nullptr;  // See NcclMode.
  // Called with a line that says why calls of NCCL block.
  std::function<void(absl::string_view)> on_blocking = nullptr;
};

// Connects without blocking and tries a graph. If that fails on any rank, all ranks connect again
// with a communicator that blocks. All ranks must call this. Errors are those of ConnectNccl(), and
// kUnavailable: a graph fails in both modes.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectNcclTested(
    const RankInfo& info, StoreClient& store, const NcclLibrary& nccl, DeviceStream& stream,
    const WaitOptions& options, const NcclCallbacks& callbacks);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CONNECT_NCCL_TESTED_H_
