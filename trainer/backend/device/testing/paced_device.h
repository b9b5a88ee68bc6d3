// Devices that are slow when a test wants them to be.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_PACED_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_PACED_DEVICE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "trainer/backend/device/forwarding_device.h"

namespace penstock {

// While `stalls` returns true, no queued work runs for callers of Done(). Blocking waits still
// block.
class StallingDevice final : public ForwardingDevice {
 public:
  StallingDevice(std::unique_ptr<Device> device, std::function<bool()> stalls)
      : ForwardingDevice(std::move(device)), stalls_(std::move(stalls)) {}
  absl::StatusOr<bool> Done(DeviceEvent event) override {
    return stalls_() ? false : device().Done(event);
  }
  absl::StatusOr<bool> Done(DeviceQueue queue) override {
    return stalls_() ? false : device().Done(queue);
  }

 private:
  const std::function<bool()> stalls_;
};

// Done() returns once the device is done or has failed, or `reached` returns true. Time that a slow
// machine needs before that does not count.
class HastyDevice final : public ForwardingDevice {
 public:
  HastyDevice(std::unique_ptr<Device> device, std::function<bool()> reached)
      : ForwardingDevice(std::move(device)), reached_(std::move(reached)) {}
  absl::StatusOr<bool> Done(DeviceEvent event) override {
    while (true) {
      absl::StatusOr<bool> done = device().Done(event);
      if (!done.ok() || *done || reached_()) return done;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  const std::function<bool()> reached_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_PACED_DEVICE_H_
