// A device wrapper that keeps the host from hanging if the device hangs.
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

// Waits by polling, for options.timeout at most. A wait that exceeds it is kUnavailable, as is
// every later wait, and the device is then stuck(). A stuck device is never destroyed and its
// memory never freed, because that would wait for the hanging work. A wait of options.late_after is
// reported once, by the waiting thread. Thread safety is that of Device.
class PatientDevice final : public ForwardingDevice {
 public:
  // `on_stuck` is called once with the error, before a wait returns it: the owner of the device may
  // be unable to finish after that.
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
  std::array<DeviceQueue, kDeviceEvents> queues_ = {};  // The queue that last recorded each event.
  absl::Status stuck_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PATIENT_DEVICE_H_
