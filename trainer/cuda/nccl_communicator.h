// Connects ranks on GPUs with NCCL, one GPU per rank.
#ifndef PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/wait_options.h"
#include "trainer/cuda/device_stream.h"
#include "trainer/cuda/nccl_library.h"

namespace penstock {

// A communicator for device memory (kDevice). Each exchange is one NCCL group on `stream`, after
// the work already queued there, and returns when the stream is done. Meanwhile it polls NCCL's
// errors. If the store reports a lost rank, it aborts NCCL, so that nothing waits for that rank.
// `store` and `stream` must outlive it, and the stream's device must be the calling thread's. Call
// this once per training. kUnavailable: NCCL does not connect in time; the message has its reason
// or that of the lost rank.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectNccl(const RankInfo& info, StoreClient& store,
                                                          const NcclLibrary& nccl,
                                                          DeviceStream& stream,
                                                          const WaitOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
