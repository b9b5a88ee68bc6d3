// The functions of trainer/cuda with an emulated GPU behind them. A program that links this file
// treats the emulation as its only GPU: `--device cuda` trains on it.
// tests/deploy/gpu_contact_test.py runs such programs.
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/cuda/connect_devices.h"
#include "trainer/cuda/cuda_device.h"
#include "trainer/cuda/gpu_ranks.h"
#include "trainer/cuda/testing/host_stream.h"

namespace penstock {
namespace {

// Returns a stream for one communicator. Streams must outlive communicators, so all of them stay.
HostStream& NewStream() {
  static Mutex mutex;
  static std::vector<std::unique_ptr<HostStream>> streams;
  MutexLock lock(&mutex);
  streams.push_back(std::make_unique<HostStream>());
  return *streams.back();
}

}  // namespace

absl::StatusOr<size_t> CountGpus() { return 1; }

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(size_t, bool) {
  return std::make_unique<EmulatedDevice>();
}

// Ranks exchange only when all queued work is done, so the stream may copy at once.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup& group, Device&,
                                                          DeviceOptions options) {
  if (group.store() == nullptr) return nullptr;
  options.gpu = "emulated";
  return ConnectDevices(group, NewStream(), options);
}

}  // namespace penstock
