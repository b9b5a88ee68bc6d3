// A device on the CPU. It runs the source of our own kernels on the emulation of kernels/simt.
// Matrix products are plain ones in place of cuBLASLt, or those of a given library. Queued work
// runs late (late_streams.h).
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_EMULATED_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_EMULATED_DEVICE_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/testing/late_streams.h"
#include "trainer/cuda/testing/fake_stream.h"

namespace penstock {

struct EmulatedDeviceOptions {
  uint64_t total_bytes = uint64_t{1} << 30;
  uint64_t used_by_others = 0;
  uint64_t used_by_libraries = 0;
  bool has_products = true;
  uint64_t most_host_bytes = uint64_t{1} << 30;  // Most host memory locked at a time.
  uint64_t block_shared_bytes = 0;               // See DeviceInfo.
  std::optional<uint64_t> seed = std::nullopt;   // The seed of LateStreams.
};

// A library's matrix products, which may differ from the plain ones.
class EmulatedProducts {
 public:
  virtual ~EmulatedProducts() = default;
  // These are as in Device, but are called for products only.
  virtual size_t Workspace(const DeviceOp& op) = 0;
  virtual absl::Status Prepare(const DeviceOp& op) = 0;
  // Queues one product on `stream`, like Run().
  virtual absl::Status Try(const DeviceOp& op, FakeStream& stream) = 0;
  virtual absl::Status ChooseFastest(const DeviceOp& op, FakeStream& stream) = 0;
  virtual std::string Plan() const = 0;
  virtual absl::Status Adopt(absl::string_view plan) = 0;
  // Queues one product on `stream`.
  virtual absl::Status Run(const DeviceOp& op, FakeStream& stream) = 0;
};

// Memory starts as NaNs. Several devices may run on separate threads: the emulation takes one
// launch at a time.
class EmulatedDevice final : public Device {
 public:
  // Without `products`, uses plain ones.
  explicit EmulatedDevice(const EmulatedDeviceOptions& options = {},
                          std::unique_ptr<EmulatedProducts> products = nullptr);

  const DeviceInfo& info() const override { return info_; }
  std::string OtherUsers() const override;
  absl::StatusOr<uint64_t> FreeBytes() override {
    return info_.free_bytes - options_.used_by_libraries;
  }
  size_t Workspace(const DeviceOp& op) override;
  absl::Status Prepare(const DeviceOp& op) override;
  absl::Status Try(const DeviceOp& op) override;
  absl::Status ChooseFastest(const DeviceOp& op) override;
  std::string GemmPlan() const override { return products_ ? products_->Plan() : gemm_plan_; }
  // Plain products accept any plan that begins with "plain", and compute the same as before.
  absl::Status AdoptGemmPlan(absl::string_view plan) override;
  absl::StatusOr<void*> Allocate(size_t bytes) override;
  absl::StatusOr<void*> AllocateHost(size_t bytes) override;
  void FreeHost(void* memory) override;
  // Returns the FakeStream of kExchange, in which a fake library's work takes its turn.
  void* StreamOf(DeviceQueue queue) override;
  absl::Status Run(const DeviceOp& op, DeviceQueue queue) override;
  absl::Status RunForeign(const DeviceOp&, DeviceQueue,
                          absl::FunctionRef<absl::Status()> work) override {
    return work();
  }
  absl::Status Record(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override;
  absl::Status Synchronize(DeviceQueue queue) override { return streams_.Synchronize(queue); }
  absl::Status Await(DeviceEvent event) override { return streams_.Synchronize(event); }
  absl::StatusOr<bool> Done(DeviceEvent event) override { return streams_.Done(event); }
  absl::StatusOr<bool> Done(DeviceQueue queue) override { return streams_.Done(queue); }
  absl::Status BeginCapture() override;
  absl::StatusOr<DeviceGraph> EndCapture() override;
  absl::Status Launch(DeviceGraph graph) override;
  void EndGraphs() override { graphs_.clear(); }
  std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) override;

  // Called instead of each operation when it runs; `execute` runs the operation.
  using Watch = std::function<absl::Status(const DeviceOp& op, DeviceQueue queue,
                                           absl::FunctionRef<absl::Status()> execute)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }

  // Runs an operation now.
  static absl::Status Execute(const DeviceOp& op);

 private:
  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Work = std::function<absl::Status()>;
  // The work to do when the operation's turn comes.
  absl::StatusOr<Work> WorkOf(const DeviceOp& op);
  // Work in a graph; calling it queues the work.
  using Captured = std::function<void()>;
  struct Capture {
    std::vector<Captured> work;
    // For each stream: whether it is part of the graph, how many pieces of work it has there, and
    // how many of those kCompute has waited for.
    std::array<bool, kDeviceQueues> has = {true};
    std::array<size_t, kDeviceQueues> count = {}, joined = {};
    struct Mark {
      DeviceQueue queue;
      size_t count;
    };
    std::map<DeviceEvent, Mark> marks;
  };
  bool Captures(DeviceQueue queue) const {
    return capture_.has_value() && capture_->has[static_cast<size_t>(queue)];
  }
  // Queues `work` now, or adds it to the graph.
  void Do(DeviceQueue queue, Captured work);
  absl::Status CaptureWait(DeviceEvent event, DeviceQueue queue);
  void Push(const DeviceOp& op, DeviceQueue queue, const Work& work);

  const EmulatedDeviceOptions options_;
  const std::unique_ptr<EmulatedProducts> products_;
  DeviceInfo info_;
  std::vector<std::unique_ptr<void, Freer>> memory_;
  std::optional<Capture> capture_;
  std::vector<std::vector<Captured>> graphs_;
  std::string gemm_plan_ = "plain";
  Watch watch_;
  FakeStream exchange_;
  LateStreams streams_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_EMULATED_DEVICE_H_
