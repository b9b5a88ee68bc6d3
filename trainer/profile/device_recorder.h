// The records that any recorder makes of the work of a device's streams.
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

// A kernel, a copy, or all work between two marks on a stream.
struct DeviceWork {
  uint32_t name = 0;          // Index into DeviceRecords::names.
  uint32_t stream = 0;        // Index into DeviceRecords::streams.
  uint32_t correlation = 0;   // Number of the host call that queued it; 0 if unknown.
  bool in_graph = false;      // Whether it was queued as part of a graph.
  bool communicates = false;  // Whether it exchanges data with other ranks, or waits for them.
  size_t launch = kNoLaunch;  // Number passed to DeviceRecorder::Begin().
  uint64_t bytes = 0;         // Size of a copy.
  Tracer::Clock::time_point begin = {}, end = {};
};

// A host call that queued work.
struct DeviceCall {
  uint32_t name = 0;  // Index into DeviceRecords::names.
  uint64_t thread = 0;
  uint32_t correlation = 0;
  Tracer::Clock::time_point begin = {}, end = {};
};

struct DeviceRecords {
  std::string source = {};    // "CUPTI API 130001"
  bool every_kernel = false;  // If false, a launch is one piece of work.
  std::vector<std::string> names = {}, streams = {};
  std::vector<DeviceWork> work = {};    // Unordered.
  std::vector<DeviceCall> calls = {};   // Unordered.
  uint64_t dropped = 0;                 // Records that were dropped for lack of room.
  uint64_t untimed = 0;                 // Records without times.
  std::chrono::nanoseconds overhead{};  // Reported cost of recording on the host's threads.
  std::vector<std::string> notes = {};  // Further notes for the user.
};

// Not thread-safe. Calls may come from several threads in turn, but Begin() and its End() must come
// from the same thread.
class DeviceRecorder {
 public:
  virtual ~DeviceRecorder() = default;

  virtual absl::Status Start() = 0;
  // Work that the calling thread queues on stream `stream` (the number of a DeviceQueue) until
  // End() belongs to launch `launch`, and is named `what` unless a better name is known.
  virtual absl::Status Begin(size_t launch, size_t stream, const char* what) = 0;
  virtual absl::Status End() = 0;
  // Ends the recording. REQUIRES: all work queued between Begin() and End() is done.
  virtual absl::StatusOr<DeviceRecords> Stop() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_RECORDER_H_
