// A device on the CPU: our kernels' own source on the emulation of kernels/simt, and plain matrix
// products in place of cuBLASLt.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_TESTING_EMULATED_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_TESTING_EMULATED_DEVICE_H_

#include <memory>
#include <optional>
#include <vector>

#include "trainer/backend/cuda/device.h"

namespace penstock {

struct EmulatedDeviceOptions {
  uint64_t total_bytes = uint64_t{1} << 30;
  uint64_t used_by_others = 0;
  bool ends_in_gelu = true;  // Its matrix products can.
  bool has_products = true;
};

// Everything happens at once, in the order of the calls. Memory begins as NaNs. Several may run in
// threads of their own: the emulation takes one launch at a time.
class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(const EmulatedDeviceOptions& options = {});

  const DeviceInfo& info() const override { return info_; }
  std::string OtherUsers() const override;
  size_t Workspace(const DeviceOp& op) override;
  absl::Status Prepare(const DeviceOp& op) override;
  std::string GemmPlan() const override { return "plain"; }
  absl::StatusOr<void*> Allocate(size_t bytes) override;
  absl::StatusOr<void*> AllocateHost(size_t bytes) override;
  absl::Status Run(const DeviceOp& op, DeviceQueue stream) override;
  absl::Status Record(DeviceEvent, DeviceQueue) override { return absl::OkStatus(); }
  absl::Status Wait(DeviceEvent, DeviceQueue) override { return absl::OkStatus(); }
  absl::Status Synchronize(DeviceQueue) override { return absl::OkStatus(); }
  absl::Status BeginCapture() override;
  absl::StatusOr<DeviceGraph> EndCapture() override;
  absl::Status Launch(DeviceGraph graph) override;

 private:
  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  absl::Status Execute(const DeviceOp& op);

  const EmulatedDeviceOptions options_;
  DeviceInfo info_;
  std::vector<std::unique_ptr<void, Freer>> memory_;
  std::optional<std::vector<DeviceOp>> capture_;
  std::vector<std::vector<DeviceOp>> graphs_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_TESTING_EMULATED_DEVICE_H_
