// What the streams of a device did, told by whoever records it.
#ifndef PENSTOCK_TRAINER_PROFILE_DEVICE_RECORDER_H_
#define PENSTOCK_TRAINER_PROFILE_DEVICE_RECORDER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/profile/tracer.h"

namespace penstock {

inline constexpr size_t kNoLaunch = SIZE_MAX;

// A kernel, a copy, or all that lies between two marks on a stream.
struct DeviceWork {
  uint32_t name = 0;          // Of DeviceRecords::names.
  uint32_t stream = 0;        // Of DeviceRecords::streams.
  uint32_t correlation = 0;   // That of the host's call that queued it; 0: unknown.
  bool in_graph = false;      // Queued as a part of one.
  bool communicates = false;  // With other ranks; waiting for them is a part of it.
  size_t launch = kNoLaunch;  // DeviceRecorder::Begin()'s.
  uint64_t bytes = 0;         // Of copies.
  Tracer::Clock::time_point begin = {}, end = {};
};

// A call of the host that queued work.
struct DeviceCall {
  uint32_t name = 0;  // Of DeviceRecords::names.
  uint64_t thread = 0;
  uint32_t correlation = 0;
  Tracer::Clock::time_point begin = {}, end = {};
};

struct DeviceRecords {
  std::string source = {};    // "CUPTI API 130001"
  bool every_kernel = false;  // Else a launch is one piece of work.
  std::vector<std::string> names = {}, streams = {};
  std::vector<DeviceWork> work = {};    // In no order.
  std::vector<DeviceCall> calls = {};   // In no order.
  uint64_t dropped = 0;                 // Records that found no room.
  uint64_t untimed = 0;                 // Records that lack their times.
  std::chrono::nanoseconds overhead{};  // What recording says it took of the host's threads.
  std::vector<std::string> notes = {};  // What a person should know besides.
};

// Not thread-safe; calls may come from several threads, Begin() and its End() from one.
class DeviceRecorder {
 public:
  virtual ~DeviceRecorder() = default;

  virtual absl::Status Start() = 0;
  // What the calling thread queues on stream `stream`, a DeviceQueue's number, until End() is
  // launch `launch`, and called `what` where it has no better name.
  virtual absl::Status Begin(size_t launch, size_t stream, const char* what) = 0;
  virtual absl::Status End() = 0;
  // REQUIRES: all that was queued in between is done. Records nothing from then on.
  virtual absl::StatusOr<DeviceRecords> Stop() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_RECORDER_H_
