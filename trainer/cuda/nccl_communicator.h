// Ranks on GPUs, a GPU each, by NCCL.
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

// A communicator of device memory (kDevice). Each exchange is one group of NCCL's on `stream`,
// after what is on it already; it returns when the stream is done. NCCL's own errors are looked at
// meanwhile, and a rank that the store reports lost aborts NCCL, so that nothing waits for it.
// `store` and `stream` must outlive it; the stream's device must be the calling thread's. Once a
// training.
// kUnavailable: NCCL does not connect within the time, with its reason or the lost rank's.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectNccl(const RankInfo& info, StoreClient& store,
                                                          const NcclLibrary& nccl,
                                                          DeviceStream& stream,
                                                          const WaitOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
