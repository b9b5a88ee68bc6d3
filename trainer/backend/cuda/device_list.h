// A list of operations that runs again and again.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_LIST_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_LIST_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/cuda/device.h"

namespace penstock {

// Not thread-safe.
class DeviceList {
 public:
  DeviceList() = default;
  explicit DeviceList(std::vector<DeviceOp> ops) : ops_(std::move(ops)) {}

  // Queues the operations on kCompute, in order: one by one the first time, in which a library may
  // still load code and memory; then, with `graphs`, as a graph that the second time captures.
  absl::Status Run(Device& device, bool graphs);

  const std::vector<DeviceOp>& ops() const { return ops_; }

 private:
  absl::Status RunEach(Device& device) const;

  std::vector<DeviceOp> ops_;
  bool has_run_ = false;
  std::optional<DeviceGraph> graph_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_LIST_H_
