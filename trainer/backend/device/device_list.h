// A list of operations that runs repeatedly.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LIST_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_LIST_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// One entry of a list.
struct ListedWork {
  enum class Kind : uint8_t { kRun, kRecord, kWait } kind = Kind::kRun;
  DeviceQueue queue = DeviceQueue::kCompute;
  DeviceOp op = {};
  std::function<absl::Status()> foreign = {};  // Queues `op` if it is a kExchange.
  DeviceEvent event = 0;
};

// Not thread-safe.
class DeviceList {
 public:
  DeviceList() = default;
  explicit DeviceList(std::vector<DeviceOp> ops) { Add(std::move(ops)); }

  void Add(std::vector<DeviceOp> ops, DeviceQueue queue = DeviceQueue::kCompute);
  void AddForeign(DeviceOp op, DeviceQueue queue, std::function<absl::Status()> foreign);
  // Makes later work on `behind` wait for the work queued on `before` so far.
  void AddOrder(DeviceQueue before, DeviceQueue behind, DeviceEvent event);

  // Queues all entries in order. The first run queues them one by one, because a library may still
  // load code and allocate memory. With `graphs`, the second run captures them as a graph, which
  // then begins and ends on kCompute.
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
