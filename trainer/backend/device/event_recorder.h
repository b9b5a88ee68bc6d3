// Records the streams' tracks by marks in the streams. Used if no better recorder is available.
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

  // Queues a mark behind the work of stream `stream`, the number of a DeviceQueue. Returns the
  // mark's number, counting from 0.
  virtual absl::StatusOr<size_t> Mark(size_t stream) = 0;
  // Ends the marks. REQUIRES: all marks have been reached.
  virtual absl::Status Finish() = 0;
  // REQUIRES: Finish().
  virtual absl::StatusOr<Tracer::Clock::time_point> TimeOf(size_t mark) = 0;
};

// Records a launch as one piece of work, between a mark before it and a mark behind it. A stream
// reaches the first mark before it waits for an event, so that the piece includes the wait.
class EventRecorder final : public DeviceRecorder {
 public:
  static constexpr size_t kMaxLaunches = 16384;  // Further launches are counted as dropped.

  EventRecorder(std::unique_ptr<StreamMarks> marks, std::string source);

  absl::Status Start() override { return absl::OkStatus(); }
  absl::Status Begin(size_t launch, size_t stream, const char* what) override;
  absl::Status End() override;
  absl::StatusOr<DeviceRecords> Stop() override;

 private:
  struct Launch {
    size_t number, stream;
    const char* what;
    size_t begin, end;  // Numbers of the marks at both ends.
  };
  const std::unique_ptr<StreamMarks> marks_;
  const std::string source_;
  std::vector<Launch> launches_;
  uint64_t dropped_ = 0;
  bool has_room_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_EVENT_RECORDER_H_
