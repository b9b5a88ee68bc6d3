// The streams' tracks from marks in the streams, where nothing better is at hand.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_EVENT_RECORDER_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_EVENT_RECORDER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// Not thread-safe.
class StreamMarks {
 public:
  virtual ~StreamMarks() = default;

  // Queues a mark behind the work of stream `stream`, a DeviceQueue's number; marks are counted
  // from 0.
  virtual absl::StatusOr<size_t> Mark(size_t stream) = 0;
  // No more marks. REQUIRES: all have happened.
  virtual absl::Status Finish() = 0;
  // REQUIRES: Finish().
  virtual absl::StatusOr<Tracer::Clock::time_point> TimeOf(size_t mark) = 0;
};

// A launch is one piece of work: what lies between a mark before and one behind it. As a stream
// takes a mark before what it waits for, that is waited for within it.
class EventRecorder final : public DeviceRecorder {
 public:
  static constexpr size_t kMaxLaunches = 16384;  // More are counted as dropped.

  EventRecorder(std::unique_ptr<StreamMarks> marks, std::string source);

  absl::Status Start() override { return absl::OkStatus(); }
  absl::Status Begin(size_t launch, size_t stream, const char* what) override;
  absl::Status End() override;
  absl::StatusOr<DeviceRecords> Stop() override;

 private:
  struct Launch {
    size_t number, stream;
    const char* what;
    size_t begin, end;  // Marks.
  };
  const std::unique_ptr<StreamMarks> marks_;
  const std::string source_;
  std::vector<Launch> launches_;
  uint64_t dropped_ = 0;
  bool has_room_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_EVENT_RECORDER_H_
