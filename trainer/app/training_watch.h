// Reports to the user on a training while it runs and at its end.
#ifndef PENSTOCK_TRAINER_APP_TRAINING_WATCH_H_
#define PENSTOCK_TRAINER_APP_TRAINING_WATCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/span_sink.h"
#include "trainer/app/profile_options.h"
#include "trainer/backend/backend.h"
#include "trainer/input/diagnostic_input.h"
#include "trainer/loop/train_loop.h"
#include "trainer/profile/comparison.h"
#include "trainer/profile/device_gaps.h"
#include "trainer/profile/device_profile.h"
#include "trainer/profile/step_recorder.h"
#include "trainer/profile/tracer.h"

namespace penstock {

// Holds the recorder of the steps, the trace of some of them, and the diagnosis that leaves input
// out. Not thread-safe, except for the objects that it lends.
class TrainingWatch {
 public:
  // REQUIRES: options.Validate(). `threads` threads compute besides the one that drives the steps.
  TrainingWatch(const ProfileOptions& options, size_t threads, uint32_t rank = 0);
  // Waits for the work that the backend has queued, and then detaches from the backend.
  ~TrainingWatch();
  TrainingWatch(const TrainingWatch&) = delete;
  TrainingWatch& operator=(const TrainingWatch&) = delete;

  StepRecorder& recorder() { return recorder_; }
  // The sink for the spans of threads that belong neither to the training nor to the backend. Null
  // if no steps are traced.
  SpanSink* spans() { return options_.steps.empty() ? nullptr : &tracer_; }

  // If steps are to be traced, traces `backend` and a device's streams, or prints on stderr why it
  // cannot trace the streams. `backend` must outlive this object.
  void Watch(Backend& backend);

  // On rank 0, says on stderr if none of the steps from `first` to `last` is to be traced.
  void TellOfNoSteps(uint64_t first, uint64_t last) const;

  // The number of normal steps in a diagnosis: half of `total_steps`. The other steps take no
  // batches of `inner`, or exchange no gradients; in the latter case Diagnose() is null.
  uint64_t NormalSteps(uint64_t total_steps) const { return (total_steps + 1) / 2; }
  uint64_t InputSteps(uint64_t total_steps) const {
    return options_.no_allreduce ? total_steps : NormalSteps(total_steps);
  }
  std::unique_ptr<Input> Diagnose(Input& inner, uint64_t total_steps);
  void Count(const StepReport& report);

  // The diagnosis as a line; empty if there was none.
  std::string Comparison() const;
  // Checks before the training that this rank's trace file can be written.
  absl::Status CheckTraceFile() const;
  // Writes this rank's file if steps were to be traced, and prints the notes of a device's recorder
  // on stderr. REQUIRES: the training has ended.
  absl::Status WriteTrace();
  // Lines that describe rank 0's file; empty if WriteTrace() wrote none.
  const std::string& trace_lines() const { return trace_lines_; }
  // Times of the steps that were traced on a device. Unset before WriteTrace(), or without a
  // device.
  const std::optional<DeviceTimes>& device_times() const { return device_times_; }

 private:
  void AddDevice();
  void Tell(const std::string& note) const;
  // Whether a step that was to be traced has ended.
  bool TracedAny() const;
  std::string DescribeTrace(const std::string& file) const;

  const ProfileOptions& options_;
  const uint32_t rank_;
  Tracer tracer_;
  StepRecorder recorder_;
  Backend* watched_ = nullptr;
  std::optional<DeviceProfile> device_;
  std::string told_;  // The recorder's problem that was already printed.
  std::optional<DeviceTimes> device_times_;
  std::string trace_lines_;
  uint64_t normal_steps_ = 0;  // Remaining normal steps of a diagnosis.
  bool first_ = true;          // The first step of a half warms caches up, and does not count.
  RunRate normal_, other_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_TRAINING_WATCH_H_
