// A device that forwards everything to another device. Devices that watch or disturb some calls
// derive from it.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_FORWARDING_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_FORWARDING_DEVICE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/backend/device/device.h"

namespace penstock {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceInfo& info() const override { return device_->info(); }
  std::string OtherUsers() const override { return device_->OtherUsers(); }
  absl::StatusOr<uint64_t> FreeBytes() override { return device_->FreeBytes(); }
  size_t Workspace(const DeviceOp& op) override { return device_->Workspace(op); }
  absl::Status Prepare(const DeviceOp& op) override { return device_->Prepare(op); }
  absl::Status Try(const DeviceOp& op) override { return device_->Try(op); }
  absl::Status ChooseFastest(const DeviceOp& op) override { return device_->ChooseFastest(op); }
  std::string GemmPlan() const override { return device_->GemmPlan(); }
  absl::Status AdoptGemmPlan(absl::string_view plan) override {
    return device_->AdoptGemmPlan(plan);
  }
  absl::StatusOr<void*> Allocate(size_t bytes) override { return device_->Allocate(bytes); }
  absl::StatusOr<void*> AllocateHost(size_t bytes) override { return device_->AllocateHost(bytes); }
  void FreeHost(void* memory) override { device_->FreeHost(memory); }
  void* StreamOf(DeviceQueue queue) override { return device_->StreamOf(queue); }
  absl::Status Run(const DeviceOp& op, DeviceQueue queue) override {
    return device_->Run(op, queue);
  }
  absl::Status RunForeign(const DeviceOp& op, DeviceQueue queue,
                          absl::FunctionRef<absl::Status()> work) override {
    return device_->RunForeign(op, queue, work);
  }
  absl::Status Record(DeviceEvent event, DeviceQueue queue) override {
    return device_->Record(event, queue);
  }
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override {
    return device_->Wait(event, queue);
  }
  absl::Status Synchronize(DeviceQueue queue) override { return device_->Synchronize(queue); }
  absl::Status Await(DeviceEvent event) override { return device_->Await(event); }
  absl::StatusOr<bool> Done(DeviceEvent event) override { return device_->Done(event); }
  absl::StatusOr<bool> Done(DeviceQueue queue) override { return device_->Done(queue); }
  void LimitWaits(std::optional<absl::Duration> limit) override { device_->LimitWaits(limit); }
  bool stuck() const override { return device_->stuck(); }
  absl::Status BeginCapture() override { return device_->BeginCapture(); }
  absl::StatusOr<DeviceGraph> EndCapture() override { return device_->EndCapture(); }
  absl::Status Launch(DeviceGraph graph) override { return device_->Launch(graph); }
  void EndGraphs() override { device_->EndGraphs(); }
  std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) override {
    return device_->MakeRecorders(problem);
  }

 protected:
  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  // Leaks the wrapped device instead of destroying it.
  void Forsake() { (void)device_.release(); }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_FORWARDING_DEVICE_H_
