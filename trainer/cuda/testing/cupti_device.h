// The emulated device, recorded by the fake CUPTI.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_CUPTI_DEVICE_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_CUPTI_DEVICE_H_

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/cuda/cupti_recorder.h"
#include "trainer/cuda/testing/fake_cupti.h"

namespace penstock {

// Reports queuing as a call, and each operation that runs as a kernel or copy with its duration.
class CuptiDevice final : public ForwardingDevice {
 public:
  // If `cupti` is an error, the recorder is the emulated device's own, and the error is the reason.
  CuptiDevice(std::unique_ptr<EmulatedDevice> device, FakeCupti& fake,
              absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti);

  absl::Status Run(const DeviceOp& op, DeviceQueue queue) override;
  absl::Status BeginCapture() override;
  absl::StatusOr<DeviceGraph> EndCapture() override;
  absl::Status Launch(DeviceGraph graph) override;
  std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) override;

 private:
  struct Queued {
    uint32_t correlation;
    uint64_t node;  // Node in a graph; 0 if it is in none.
  };
  // Braces evaluate from left to right.
  CuptiDevice(EmulatedDevice& watched, std::unique_ptr<Device> device, FakeCupti& fake,
              absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti);
  absl::Status RunRecorded(const DeviceOp& op, DeviceQueue queue,
                           absl::FunctionRef<absl::Status()> execute);

  FakeCupti& fake_;
  absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti_;
  // Operations in the order in which they run.
  std::array<std::deque<Queued>, kDeviceQueues> queued_;
  std::optional<size_t> captured_;  // Operations in the graph being captured.
  std::vector<size_t> graphs_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_CUPTI_DEVICE_H_
