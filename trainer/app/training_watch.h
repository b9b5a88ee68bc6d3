// What a person is told of a training while it runs and at its end.
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

// The recorder of the steps, the trace of some, and the diagnosis that leaves input out.
// Not thread-safe, except for what it lends.
class TrainingWatch {
 public:
  // REQUIRES: options.Validate(). `threads` compute beside the one that drives the steps.
  TrainingWatch(const ProfileOptions& options, size_t threads, uint32_t rank = 0);
  // The backend is told nothing more to record, once what it has queued is done.
  ~TrainingWatch();
  TrainingWatch(const TrainingWatch&) = delete;
  TrainingWatch& operator=(const TrainingWatch&) = delete;

  StepRecorder& recorder() { return recorder_; }
  // Of threads that are neither the training's nor the backend's. Null: no steps are to be traced.
  SpanSink* spans() { return options_.steps.empty() ? nullptr : &tracer_; }

  // Traces `backend`, if steps are to be, and a device's streams, or a line on stderr says why not.
  // It must outlive this.
  void Watch(Backend& backend);

  // Says on stderr where none of the steps from `first` to `last` is to be traced, on rank 0.
  void TellOfNoSteps(uint64_t first, uint64_t last) const;

  // Of a diagnosis: half of `total_steps` are normal. The others take no batches of `inner`, or
  // exchange no gradients; then Diagnose() is null.
  uint64_t NormalSteps(uint64_t total_steps) const { return (total_steps + 1) / 2; }
  uint64_t InputSteps(uint64_t total_steps) const {
    return options_.no_allreduce ? total_steps : NormalSteps(total_steps);
  }
  std::unique_ptr<Input> Diagnose(Input& inner, uint64_t total_steps);
  void Count(const StepReport& report);

  // The diagnosis as a line; empty if there was none.
  std::string Comparison() const;
  // Whether this rank's file can be written is better known before the training than after it.
  absl::Status CheckTraceFile() const;
  // Writes this rank's file, if steps were to be traced; what a device's recorder had to say is
  // told on stderr. REQUIRES: the training has ended.
  absl::Status WriteTrace();
  // What rank 0's file holds, as lines; empty: WriteTrace() wrote none.
  const std::string& trace_lines() const { return trace_lines_; }
  // Of the steps that were traced on a device; none before WriteTrace(), or without one.
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
  std::string told_;  // Of its problems.
  std::optional<DeviceTimes> device_times_;
  std::string trace_lines_;
  uint64_t normal_steps_ = 0;  // Of a diagnosis; counted down.
  bool first_ = true;          // Of its kind: warms caches up, and counts for nothing.
  RunRate normal_, other_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_TRAINING_WATCH_H_
