// A device that runs lists of operations on streams. There are two kinds: a GPU, and one emulated
// on the CPU for tests.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "trainer/backend/device/device_op.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// Work on one stream runs in order. Work on different streams runs in any order unless one waits
// for an event.
enum class DeviceQueue : uint8_t { kCompute, kCopy, kExchange };
inline constexpr size_t kDeviceQueues = 3;
inline constexpr const char* kDeviceQueueNames[kDeviceQueues] = {"compute", "copies", "exchange"};

using DeviceEvent = size_t;  // [0, kDeviceEvents)
inline constexpr size_t kDeviceEvents = 6;
using DeviceGraph = size_t;

struct DeviceInfo {
  std::string name;          // "NVIDIA H200, cuda:0"
  std::string numerics;      // Everything that bits depend on: "cuda sm_90 H200 driver 13.0".
  std::string math_library;  // "cuBLASLt 13.0.2"
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;          // Free bytes when the device was opened.
  uint64_t block_shared_bytes = 0;  // Most shared memory of a block; 0 means no limit.
};

// Queued work is done once Synchronize() or Await() returns OK. An error of queued work is returned
// by that call or by any later one. Memory lives as long as the device. Not thread-safe, but
// successive calls may come from different threads.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  // Other processes that use this device's memory: "2,048 MiB by process 4711". Empty if there are
  // none or they are unknown.
  virtual std::string OtherUsers() const { return ""; }

  // Bytes that are free now: fewer than info().free_bytes once libraries have taken memory.
  virtual absl::StatusOr<uint64_t> FreeBytes() { return info().free_bytes; }

  // Bytes of DeviceOp::workspace that an operation of this kind and these sizes needs.
  virtual size_t Workspace(const DeviceOp& op) = 0;
  // Determines how to run a matrix product of these sizes. Call this before queuing it.
  // kUnimplemented: the device cannot run it.
  virtual absl::Status Prepare(const DeviceOp& op) = 0;
  // Queues a prepared product once on kCompute. A library may refuse a product only when it runs;
  // the product is then run in another way from now on. kUnimplemented: there is no other way.
  virtual absl::Status Try(const DeviceOp& op) {
    (void)op;
    return absl::OkStatus();
  }
  // Times the ways in which a prepared product can run, with these operands, whose contents are
  // lost, and uses the fastest from now on. Waits for the work.
  virtual absl::Status ChooseFastest(const DeviceOp& op) {
    (void)op;
    return absl::OkStatus();
  }
  // The products prepared so far and the way each is run. Equal plans, libraries and GPUs give
  // equal bits.
  virtual std::string GemmPlan() const = 0;
  // Runs the products prepared so far according to `plan`, the GemmPlan() of another device.
  // kFailedPrecondition: the plan lacks one, or this device or library cannot run it; nothing
  // changes.
  virtual absl::Status AdoptGemmPlan(absl::string_view plan) = 0;

  // Returns device memory at a multiple of 256 bytes. kResourceExhausted: there is not enough.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  // Returns page-locked memory of the host.
  virtual absl::StatusOr<void*> AllocateHost(size_t bytes) = 0;
  // Call this before the device is destroyed. REQUIRES: no queued work uses the memory.
  virtual void FreeHost(void* memory) = 0;

  // The handle of a stream in the device's libraries: a cudaStream_t.
  virtual void* StreamOf(DeviceQueue stream) = 0;

  virtual absl::Status Run(const DeviceOp& op, DeviceQueue stream) = 0;
  // Lets another library queue a kExchange: calls `queue`, which queues the work on
  // StreamOf(stream). `op` describes the memory that it uses.
  virtual absl::Status RunForeign(const DeviceOp& op, DeviceQueue stream,
                                  absl::FunctionRef<absl::Status()> queue) = 0;
  virtual absl::Status Record(DeviceEvent event, DeviceQueue stream) = 0;
  // Makes the stream wait for the last record of the event. There is no wait if it was never
  // recorded.
  virtual absl::Status Wait(DeviceEvent event, DeviceQueue stream) = 0;
  virtual absl::Status Synchronize(DeviceQueue stream) = 0;
  // Blocks the host until the last record of the event is reached. There is no wait if it was never
  // recorded.
  virtual absl::Status Await(DeviceEvent event) = 0;
  // Whether Await() would return at once.
  virtual absl::StatusOr<bool> Done(DeviceEvent event) = 0;
  // Whether Synchronize() would return at once.
  virtual absl::StatusOr<bool> Done(DeviceQueue stream) = 0;
  // Shortens the limit of waits to `limit` if that is shorter, because the awaited work is known to
  // have failed. nullopt restores the device's own limit. No effect on devices without a limit.
  virtual void LimitWaits(std::optional<absl::Duration> limit) { (void)limit; }
  // Whether a wait was given up. Queued work may then run at any time or never.
  virtual bool stuck() const { return false; }

  // Between these calls, work queued on kCompute becomes a graph and is not run. Another stream
  // joins the graph when it waits for one of the graph's events. It leaves the graph when kCompute
  // waits for an event that follows its work, and kCompute must wait for one.
  virtual absl::Status BeginCapture() = 0;
  virtual absl::StatusOr<DeviceGraph> EndCapture() = 0;
  virtual absl::Status Launch(DeviceGraph graph) = 0;  // Launches on kCompute.
  // Destroys all graphs and their references to other libraries. REQUIRES: no graph is launched
  // again.
  virtual void EndGraphs() = 0;

  // The recorders for the streams' work while the device lives, the best first. Sets `problem` to
  // the reason if a better one is unavailable; else leaves it unchanged.
  virtual std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) {
    (void)problem;
    return {};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_H_
