// A device that runs lists of operations on streams. There are two: a GPU, and one emulated on the
// CPU for tests.
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

// Work of one stream runs in order; of two, in any, except where one waits for an event.
enum class DeviceQueue : uint8_t { kCompute, kCopy, kExchange };
inline constexpr size_t kDeviceQueues = 3;
inline constexpr const char* kDeviceQueueNames[kDeviceQueues] = {"compute", "copies", "exchange"};

using DeviceEvent = size_t;  // [0, kDeviceEvents)
inline constexpr size_t kDeviceEvents = 6;
using DeviceGraph = size_t;

struct DeviceInfo {
  std::string name;          // "NVIDIA H200, cuda:0"
  std::string numerics;      // What bits depend on: "cuda sm_90 H200 driver 13.0".
  std::string math_library;  // "cuBLASLt 13.0.2"
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;          // When it was opened.
  uint64_t block_shared_bytes = 0;  // Shared memory that a block can have; 0: any.
};

// What is queued has happened once Synchronize() or Await() returns OK; an error of queued work is
// returned by it or by any later call. Memory lives as long as the device. Not thread-safe; every
// call may come from another thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  // "2,048 MiB by process 4711": who else has memory of this device; empty if nobody or unknown.
  virtual std::string OtherUsers() const { return ""; }

  // Bytes of DeviceOp::workspace for an operation of this kind and these numbers.
  virtual size_t Workspace(const DeviceOp& op) = 0;
  // Finds out how to run a matrix product of these numbers, before anything is queued.
  // kUnimplemented: the device has no way.
  virtual absl::Status Prepare(const DeviceOp& op) = 0;
  // The products prepared so far and how each is run; equal plans, library and GPU give equal bits.
  virtual std::string GemmPlan() const = 0;
  // Runs the products prepared so far as `plan`, another device's GemmPlan(), has it.
  // kFailedPrecondition: the plan lacks one, or this device or library cannot; nothing is changed.
  virtual absl::Status AdoptGemmPlan(absl::string_view plan) = 0;

  // At a multiple of 256 bytes. kResourceExhausted: there is no more.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  // Page-locked, of the host.
  virtual absl::StatusOr<void*> AllocateHost(size_t bytes) = 0;
  // Before the device ends. REQUIRES: no queued work uses it.
  virtual void FreeHost(void* memory) = 0;

  // What its libraries call a stream: a cudaStream_t.
  virtual void* StreamOf(DeviceQueue stream) = 0;

  virtual absl::Status Run(const DeviceOp& op, DeviceQueue stream) = 0;
  // Has `queue`, of a library that knows StreamOf(), queue there what `op` says of its memory: a
  // kExchange.
  virtual absl::Status RunForeign(const DeviceOp& op, DeviceQueue stream,
                                  absl::FunctionRef<absl::Status()> queue) = 0;
  virtual absl::Status Record(DeviceEvent event, DeviceQueue stream) = 0;
  // Until what was last recorded; at once if nothing was.
  virtual absl::Status Wait(DeviceEvent event, DeviceQueue stream) = 0;
  virtual absl::Status Synchronize(DeviceQueue stream) = 0;
  // The host waits until what was last recorded has happened; not at all if nothing was.
  virtual absl::Status Await(DeviceEvent event) = 0;
  // Whether Await() would not have to wait.
  virtual absl::StatusOr<bool> Done(DeviceEvent event) = 0;
  // Whether Synchronize() would not.
  virtual absl::StatusOr<bool> Done(DeviceQueue stream) = 0;
  // What is waited for is known to have failed: where there is a limit to waits, from now on it is
  // this one if that is shorter. nullopt: its own again.
  virtual void LimitWaits(std::optional<absl::Duration> limit) { (void)limit; }
  // Whether a wait was given up: what is queued may happen at any time or never.
  virtual bool stuck() const { return false; }

  // What is queued on kCompute in between becomes a graph, and does not happen; from when it waits
  // for an event of the graph what is queued on another stream too, until kCompute waits for an
  // event behind it, which must come.
  virtual absl::Status BeginCapture() = 0;
  virtual absl::StatusOr<DeviceGraph> EndCapture() = 0;
  virtual absl::Status Launch(DeviceGraph graph) = 0;  // On kCompute.
  // Ends all graphs, and what they hold of other libraries. REQUIRES: none is launched any more.
  virtual void EndGraphs() = 0;

  // What can record the streams' work while the device lives, the best first. `problem`: why there
  // is no better one; else left as it is.
  virtual std::vector<std::unique_ptr<DeviceRecorder>> MakeRecorders(std::string& problem) {
    (void)problem;
    return {};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_H_
