// A device that may hang without the host's hanging with it.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_PATIENT_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_PATIENT_DEVICE_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/comm/wait_options.h"

namespace penstock {

class Patience;

// Waits by asking, and for options.timeout at most: then the wait is kUnavailable, as is every one
// after it, and the device is stuck(). What is stuck is never ended, nor is its memory freed: that
// would wait for what hangs. A wait of options.late_after is reported, once, by the thread that
// waits. Thread safety: as Device.
class PatientDevice final : public ForwardingDevice {
 public:
  // `on_stuck` is called once, with the error, before it is returned: what holds the device may not
  // come to its end any more.
  PatientDevice(std::unique_ptr<Device> device, const WaitOptions& options,
                std::function<void(const absl::Status&)> on_stuck);
  ~PatientDevice() override;

  absl::Status Record(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Synchronize(DeviceQueue queue) override;
  absl::Status Await(DeviceEvent event) override;
  void LimitWaits(std::optional<absl::Duration> limit) override;
  bool stuck() const override { return !stuck_.ok(); }

  void FreeHost(void* memory) override;
  void EndGraphs() override;

 private:
  absl::Status WaitFor(DeviceQueue queue, absl::FunctionRef<absl::StatusOr<bool>()> done);
  void TellIfLate(DeviceQueue queue, const Patience& late, bool& told) const;

  const WaitOptions options_;
  const std::function<void(const absl::Status&)> on_stuck_;
  absl::Duration timeout_;
  std::array<DeviceQueue, kDeviceEvents> queues_ = {};  // Each event's, when recorded last.
  absl::Status stuck_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PATIENT_DEVICE_H_
