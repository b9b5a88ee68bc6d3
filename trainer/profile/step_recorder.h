// Measures how the time of every step is spent; always on.
#ifndef PENSTOCK_TRAINER_PROFILE_STEP_RECORDER_H_
#define PENSTOCK_TRAINER_PROFILE_STEP_RECORDER_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "trainer/profile/phase.h"
#include "trainer/profile/tracer.h"

namespace penstock {

// Charges time to the phase that was entered last, so that the phases of all steps add up to the
// time since Start(). A step ends where the next one begins. Each phase costs one read of the
// clock. Steps and phases are also NVTX ranges (nvtx.h). Not thread-safe: only the thread that
// drives the steps may use it, but any thread may call Newest() and Underway().
class StepRecorder {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kRing = 4096;  // Number of steps kept.

  struct Step {
    uint64_t step = 0;
    PhaseTimes times;
  };

  // The step in progress.
  struct Now {
    PhaseTimes times;                     // Times from the end of the last step until now.
    Phase phase = Phase::kOther;          // The phase that was entered last.
    std::chrono::nanoseconds in_it = {};  // Time since that phase was entered.
  };

  // Track 0 of `tracer`, which may be null, gets the phases.
  explicit StepRecorder(Tracer* tracer = nullptr) : tracer_(tracer) {}

  // Traces steps [first, last); without this call, none are traced. If `first` is the run's first
  // step, tracing begins now, and includes what the run does before that step.
  void TraceSteps(uint64_t first, uint64_t last);

  // `next_step` is the number of the step that begins.
  void Start(uint64_t next_step, Clock::time_point now = Clock::now());
  // Returns the previous phase. REQUIRES: Start().
  Phase Enter(Phase phase, Clock::time_point now = Clock::now());
  // Moves the time charged since current() returned `before`, in the same step, to `to`.
  void MoveSince(const PhaseTimes& before, Phase to);
  // Ends step `step`; step + 1 begins, in Phase::kOther.
  void EndStep(uint64_t step, Clock::time_point now = Clock::now());
  // Charges the remaining time to total(), but to no step.
  void Stop(Clock::time_point now = Clock::now());

  // Times of the step in progress, up to the last Enter().
  PhaseTimes current() const;
  // Times since Start(), up to the last call.
  const PhaseTimes& total() const { return total_; }
  uint64_t steps() const;
  // The newest `most` finished steps, oldest first.
  std::vector<Step> Newest(size_t most = kRing) const;
  // Unset before Start().
  std::optional<Now> Underway(Clock::time_point now = Clock::now()) const;

 private:
  void Trace(uint64_t next_step, Clock::time_point now);
  // Begins the range of a step, and Phase::kOther within it.
  void BeginRanges(uint64_t step);
  void EndRanges();

  Tracer* tracer_;
  uint64_t trace_first_ = 0, trace_last_ = 0;
  bool in_ranges_ = false;
  Clock::time_point step_began_{};
  PhaseTimes total_;
  // Hardly ever contended: a lock costs as much as a read of the clock.
  mutable Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kOther;
  Clock::time_point entered_ ABSL_GUARDED_BY(mutex_) = {};
  PhaseTimes current_ ABSL_GUARDED_BY(mutex_);
  uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Step> ring_ ABSL_GUARDED_BY(mutex_) = std::vector<Step>(kRing);
};

// Enters a phase, and re-enters the previous one on destruction. `recorder` may be null.
class PhaseScope {
 public:
  PhaseScope(StepRecorder* recorder, Phase phase)
      : recorder_(recorder), before_(recorder == nullptr ? phase : recorder->Enter(phase)) {}
  ~PhaseScope() {
    if (recorder_ != nullptr) recorder_->Enter(before_);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  StepRecorder* recorder_;
  Phase before_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_STEP_RECORDER_H_
