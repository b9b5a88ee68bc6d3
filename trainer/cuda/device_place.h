// The GPU of each rank.
#ifndef PENSTOCK_TRAINER_CUDA_DEVICE_PLACE_H_
#define PENSTOCK_TRAINER_CUDA_DEVICE_PLACE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"

namespace penstock {

struct DevicePlace {
  std::string host;
  std::string gpu;   // UUID, "GPU-1b2c...": the same in every container.
  std::string nccl;  // Version of NCCL that this rank found; "missing" if none.
};

// Returns every rank's place, by rank, through the store. kDeadlineExceeded, kUnavailable: see
// StoreClient::Get().
absl::StatusOr<std::vector<DevicePlace>> ShareDevicePlaces(const RankInfo& info, StoreClient& store,
                                                           const DevicePlace& own,
                                                           absl::Duration timeout);

// Whether two ranks share a GPU.
bool SharesGpus(std::span<const DevicePlace> places);

// kInvalidArgument: two ranks share a GPU; the message names them and says what to do.
// kFailedPrecondition: ranks found different versions of NCCL.
absl::Status CheckForNccl(std::span<const DevicePlace> places);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_DEVICE_PLACE_H_
