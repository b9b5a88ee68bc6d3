// A device that does nothing, so a step on it takes only the host's own work.
#ifndef PENSTOCK_BENCH_IDLE_DEVICE_H_
#define PENSTOCK_BENCH_IDLE_DEVICE_H_

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backend/device/device.h"

namespace penstock {

// All queued work is done at once and changes nothing. Device memory is reserved addresses that
// must not be read or written. Host memory begins as zeros, so predictions and norms stay zero.
class IdleDevice final : public Device {
 public:
  IdleDevice() {
    info_.name = "idle device";
    info_.numerics = "none";
    info_.total_bytes = info_.free_bytes = uint64_t{1} << 45;
  }

  const DeviceInfo& info() const override { return info_; }
  size_t Workspace(const DeviceOp&) override { return 0; }
  absl::Status Prepare(const DeviceOp&) override { return absl::OkStatus(); }
  std::string GemmPlan() const override { return "none"; }
  absl::Status AdoptGemmPlan(absl::string_view) override { return absl::OkStatus(); }

  absl::StatusOr<void*> Allocate(size_t bytes) override {
    void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        /*fd=*/-1, /*offset=*/0);
    if (memory == MAP_FAILED) return absl::ResourceExhaustedError("no addresses");
    memory_.emplace_back(memory, Unmap{bytes});
    return memory;
  }
  absl::StatusOr<void*> AllocateHost(size_t bytes) override {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        /*fd=*/-1, /*offset=*/0);
    if (memory == MAP_FAILED) return absl::ResourceExhaustedError("no memory");
    memory_.emplace_back(memory, Unmap{bytes});
    return memory;
  }
  void FreeHost(void*) override {}  // The memory is freed with the device.

  void* StreamOf(DeviceQueue) override { return nullptr; }
  absl::Status Run(const DeviceOp&, DeviceQueue) override { return absl::OkStatus(); }
  absl::Status RunForeign(const DeviceOp&, DeviceQueue,
                          absl::FunctionRef<absl::Status()>) override {
    return absl::OkStatus();
  }
  absl::Status Record(DeviceEvent, DeviceQueue) override { return absl::OkStatus(); }
  absl::Status Wait(DeviceEvent, DeviceQueue) override { return absl::OkStatus(); }
  absl::Status Synchronize(DeviceQueue) override { return absl::OkStatus(); }
  absl::Status Await(DeviceEvent) override { return absl::OkStatus(); }
  absl::StatusOr<bool> Done(DeviceEvent) override { return true; }
  absl::StatusOr<bool> Done(DeviceQueue) override { return true; }

  absl::Status BeginCapture() override { return absl::OkStatus(); }
  absl::StatusOr<DeviceGraph> EndCapture() override { return graphs_++; }
  absl::Status Launch(DeviceGraph) override { return absl::OkStatus(); }
  void EndGraphs() override {}

 private:
  struct Unmap {
    size_t bytes;
    void operator()(void* memory) const { munmap(memory, bytes); }
  };

  DeviceInfo info_;
  DeviceGraph graphs_ = 0;
  std::vector<std::unique_ptr<void, Unmap>> memory_;
};

}  // namespace penstock

#endif  // PENSTOCK_BENCH_IDLE_DEVICE_H_
