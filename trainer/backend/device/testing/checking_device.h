// Watches the work queued on another device, and finds work that is right only by luck.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_CHECKING_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_CHECKING_DEVICE_H_

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/testing/emulated_device.h"

namespace penstock {

// The operations that a run queued, and the problems found. Must outlive the device.
struct DeviceLog {
  // Every operation that ran, in order. Addresses are allocation numbers plus offsets: "layer norm
  // 128x32 r 3+0 ...".
  std::vector<std::string> ops;
  std::vector<std::string> problems;
  size_t launched_graphs = 0;
};

// Finds these errors: two operations on common memory, at least one of which writes, that no
// stream, event or host wait puts in order; an operand outside every allocation; a read of memory
// that was never written; a write outside the operands declared as written; host memory that
// changes between the call that queues its copy and the copy. Not thread-safe.
class CheckingDevice final : public ForwardingDevice {
 public:
  // `log` must outlive this object.
  CheckingDevice(std::unique_ptr<EmulatedDevice> device, DeviceLog& log);

  absl::StatusOr<void*> Allocate(size_t bytes) override;
  absl::StatusOr<void*> AllocateHost(size_t bytes) override;
  void FreeHost(void* memory) override;
  absl::Status Run(const DeviceOp& op, DeviceQueue queue) override;
  absl::Status RunForeign(const DeviceOp& op, DeviceQueue queue,
                          absl::FunctionRef<absl::Status()> work) override;
  absl::Status Record(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Synchronize(DeviceQueue queue) override;
  absl::Status Await(DeviceEvent event) override;
  absl::StatusOr<bool> Done(DeviceEvent event) override;
  absl::StatusOr<bool> Done(DeviceQueue queue) override;
  absl::Status BeginCapture() override;
  absl::StatusOr<DeviceGraph> EndCapture() override;
  absl::Status Launch(DeviceGraph graph) override;
  void EndGraphs() override;

 private:
  // The known progress of each stream.
  using Clock = std::array<size_t, kDeviceQueues>;
  struct Allocation {
    char* begin = nullptr;
    std::vector<bool> written = {};
  };
  struct Noted {
    DeviceOp op;
    size_t stream, number;
  };

  CheckingDevice(EmulatedDevice& watched, std::unique_ptr<Device> device, DeviceLog& log);
  static void Advance(Clock& clock, const Clock& other);
  std::vector<DeviceOperand> OperandsOf(const DeviceOp& op) const;
  std::string Describe(const DeviceOp& op);
  // Returns the allocation of the operand, or null if it lies in none.
  Allocation* Find(const DeviceOperand& operand);
  void CheckPlaces(const DeviceOp& op);
  void CheckOrder(const DeviceOp& op, size_t stream);
  // Runs `note` now, or when the graph being captured is launched.
  void Note(DeviceQueue queue, std::function<void()> note);
  void NoteOp(const DeviceOp& op, DeviceQueue queue);
  void NoteRecord(DeviceEvent event, DeviceQueue queue);
  absl::Status RunWatched(const DeviceOp& op, DeviceQueue queue,
                          absl::FunctionRef<absl::Status()> execute);
  void CheckSource(const DeviceOp& op, DeviceQueue queue);

  DeviceLog& log_;
  std::vector<Allocation> allocations_;
  std::array<Clock, kDeviceQueues> streams_ = {};
  std::array<Clock, kDeviceEvents> events_ = {};
  Clock host_ = {};
  std::vector<Noted> done_;
  // For each queued operation, the host memory that it reads, as it was when queued.
  std::array<std::deque<std::string>, kDeviceQueues> sources_;
  bool capturing_ = false;
  std::vector<std::function<void()>> captured_;
  std::map<DeviceGraph, std::vector<std::function<void()>>> graphs_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_CHECKING_DEVICE_H_
