#include "trainer/cuda/connect_devices.h"

#include <vector>

#include "base/status.h"
#include "trainer/comm/local_address.h"
#include "trainer/cuda/device_place.h"
#include "trainer/cuda/nccl_communicator.h"
#include "trainer/cuda/staged_communicator.h"

namespace penstock {

// A rank without NCCL still publishes its place, because shared GPUs do not need NCCL.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectDevices(RankGroup& group, DeviceStream& stream,
                                                             const DeviceOptions& options) {
  if (group.store() == nullptr) return nullptr;
  const absl::StatusOr<NcclLibrary> nccl = NcclLibrary::Load();
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::vector<DevicePlace> places,
      ShareDevicePlaces(group.info(), *group.store(),
                        {LocalHostName(), options.gpu, nccl.ok() ? nccl->version : "missing"},
                        options.waits.connect_timeout));
  if (options.allow_shared_gpu && SharesGpus(places)) {
    return std::make_unique<StagedCommunicator>(group.communicator(), stream,
                                                options.waits.timeout);
  }
  if (SharesGpus(places)) return CheckForNccl(places);  // NCCL would not help.
  PENSTOCK_RETURN_IF_ERROR(nccl.status());
  PENSTOCK_RETURN_IF_ERROR(CheckForNccl(places));
  if (!options.graphs) {
    return ConnectNccl(group.info(), *group.store(), *nccl, stream, options.waits);
  }
  return ConnectNcclTested(group.info(), *group.store(), *nccl, stream, options.waits,
                           options.nccl);
}

}  // namespace penstock
