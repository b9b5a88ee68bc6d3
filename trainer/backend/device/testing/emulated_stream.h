// A stream of the emulated device as communicators use it.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_EMULATED_STREAM_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_EMULATED_STREAM_H_

#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/cuda/device_stream.h"

namespace penstock {

// The stream of exchanges. `device` is `emulated`, or what watches it. Borrows both.
class EmulatedStream final : public DeviceStream {
 public:
  EmulatedStream(Device& device, EmulatedDevice& emulated) : device_(device), emulated_(emulated) {}

  void* handle() const override { return device_.StreamOf(DeviceQueue::kExchange); }
  absl::StatusOr<Memory> Allocate(Place, size_t bytes) override {
    return Memory(new uint8_t[bytes](), [](uint8_t* memory) { delete[] memory; });
  }
  absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) override {
    return device_.Run({.kind = DeviceOpKind::kCopy,
                        .operands = {{const_cast<uint8_t*>(from), bytes, Access::kRead},
                                     {to, bytes, Access::kWrite}}},
                       DeviceQueue::kExchange);
  }
  absl::StatusOr<bool> Done() override { return emulated_.Done(DeviceQueue::kExchange); }

 private:
  Device& device_;
  EmulatedDevice& emulated_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_EMULATED_STREAM_H_
