// A list of operations that runs again and again.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LIST_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LIST_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// What a list has done, in order.
struct ListedWork {
  enum class Kind : uint8_t { kRun, kRecord, kWait } kind = Kind::kRun;
  DeviceQueue queue = DeviceQueue::kCompute;
  DeviceOp op = {};
  std::function<absl::Status()> foreign = {};  // Queues `op`, a kExchange.
  DeviceEvent event = 0;
};

// Not thread-safe.
class DeviceList {
 public:
  DeviceList() = default;
  explicit DeviceList(std::vector<DeviceOp> ops) { Add(std::move(ops)); }

  void Add(std::vector<DeviceOp> ops, DeviceQueue queue = DeviceQueue::kCompute);
  void AddForeign(DeviceOp op, DeviceQueue queue, std::function<absl::Status()> foreign);
  // `behind` goes on after what is on `before` by then.
  void AddOrder(DeviceQueue before, DeviceQueue behind, DeviceEvent event);

  // Queues all, in order: one by one the first time, in which a library may still load code and
  // memory; then, with `graphs`, as a graph that the second time captures. It begins on kCompute
  // and ends there.
  absl::Status Run(Device& device, bool graphs);

  bool empty() const { return work_.empty(); }

 private:
  absl::Status RunEach(Device& device) const;

  std::vector<ListedWork> work_;
  bool has_run_ = false;
  std::optional<DeviceGraph> graph_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LIST_H_
