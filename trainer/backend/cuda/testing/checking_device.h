// Watches what is queued on another device, and finds what only luck would make right.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_TESTING_CHECKING_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_TESTING_CHECKING_DEVICE_H_

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/backend/cuda/device.h"

namespace penstock {

// What a run queued and what was wrong with it. Outlives the device.
struct DeviceLog {
  // Every operation that ran, in order, with places counted from the beginning of their
  // allocations: "layer norm 128x32 r 3+0 ...".
  std::vector<std::string> ops;
  std::vector<std::string> problems;
  size_t launched_graphs = 0;
};

// Finds: two operations on common memory, one writing, that neither a stream nor an event nor the
// host puts in order; an operand outside of every allocation; a read of what was never written; a
// write outside of the operands that say so. Not thread-safe.
class CheckingDevice final : public Device {
 public:
  // Both must outlive it, the device being owned.
  CheckingDevice(std::unique_ptr<Device> device, DeviceLog& log)
      : device_(std::move(device)), log_(log) {}

  const DeviceInfo& info() const override { return device_->info(); }
  std::string OtherUsers() const override { return device_->OtherUsers(); }
  size_t Workspace(const DeviceOp& op) override { return device_->Workspace(op); }
  absl::Status Prepare(const DeviceOp& op) override { return device_->Prepare(op); }
  std::string GemmPlan() const override { return device_->GemmPlan(); }
  absl::StatusOr<void*> Allocate(size_t bytes) override;
  absl::StatusOr<void*> AllocateHost(size_t bytes) override;
  absl::Status Run(const DeviceOp& op, DeviceQueue stream) override;
  absl::Status Record(DeviceEvent event, DeviceQueue stream) override;
  absl::Status Wait(DeviceEvent event, DeviceQueue stream) override;
  absl::Status Synchronize(DeviceQueue stream) override;
  absl::Status BeginCapture() override;
  absl::StatusOr<DeviceGraph> EndCapture() override;
  absl::Status Launch(DeviceGraph graph) override;

 private:
  // How far each stream is known to have come.
  using Clock = std::array<size_t, kDeviceQueues>;
  struct Allocation {
    char* begin;
    std::vector<bool> written;
  };
  struct Done {
    DeviceOp op;
    size_t stream, number;
  };

  static void Advance(Clock& clock, const Clock& other);
  std::vector<DeviceOperand> OperandsOf(const DeviceOp& op) const;
  std::string Describe(const DeviceOp& op);
  // Null: it lies in none.
  Allocation* Find(const DeviceOperand& operand);
  void CheckPlaces(const DeviceOp& op);
  void CheckOrder(const DeviceOp& op, size_t stream);
  void Note(const DeviceOp& op, DeviceQueue stream);
  absl::Status RunWatched(const DeviceOp& op, DeviceQueue stream);

  const std::unique_ptr<Device> device_;
  DeviceLog& log_;
  std::vector<Allocation> allocations_;
  std::array<Clock, kDeviceQueues> streams_ = {};
  std::array<Clock, kDeviceEvents> events_ = {};
  Clock host_ = {};
  std::vector<Done> done_;
  bool capturing_ = false;
  std::vector<DeviceOp> captured_;
  std::map<DeviceGraph, std::vector<DeviceOp>> graphs_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_TESTING_CHECKING_DEVICE_H_
