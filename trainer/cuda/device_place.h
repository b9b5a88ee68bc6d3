// Which GPU each rank has.
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
  std::string gpu;   // Its UUID, "GPU-1b2c...": the same in every container.
  std::string nccl;  // Version of the library that this rank found; "missing": it found none.
};

// Every rank's, by rank, through the store. kDeadlineExceeded, kUnavailable: as StoreClient::Get().
absl::StatusOr<std::vector<DevicePlace>> ShareDevicePlaces(const RankInfo& info, StoreClient& store,
                                                           const DevicePlace& own,
                                                           absl::Duration timeout);

// Whether two ranks have one GPU.
bool SharesGpus(std::span<const DevicePlace> places);

// kInvalidArgument: two ranks have one GPU, naming them and what to do. kFailedPrecondition: they
// found different versions of NCCL.
absl::Status CheckForNccl(std::span<const DevicePlace> places);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_DEVICE_PLACE_H_
