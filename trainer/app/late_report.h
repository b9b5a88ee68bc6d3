// Messages about ranks that keep others waiting.
#ifndef PENSTOCK_TRAINER_APP_LATE_REPORT_H_
#define PENSTOCK_TRAINER_APP_LATE_REPORT_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {

// A training's recent work: "step 411 took 0.152 s (compute 0.149, collective 0.003), ...; since
// then 61.2 s (compute 1.01, collective 60.1), now in collective for 60.1 s". Covers the last four
// steps, and phases of at least a hundredth of a step. Empty before recorder.Start().
std::string DescribeRecentSteps(const StepRecorder& recorder,
                                StepRecorder::Clock::time_point now = StepRecorder::Clock::now());

// Adds this rank's last steps and its current phase to reports of late ranks. Thread-safe.
class LateReport {
 public:
  // `mark` names this rank: RankMark().
  explicit LateReport(std::string mark) : mark_(std::move(mark)) {}

  // Null means that there are no steps. `recorder` must stay alive until Watch(nullptr).
  void Watch(const StepRecorder* recorder) {
    MutexLock lock(&mutex_);
    recorder_ = recorder;
  }

  // Returns `late`, as LateWatch passes it, and a second line about the steps if there are any.
  std::string Lines(absl::string_view late) const;
  // Prints these lines on stderr.
  void Tell(absl::string_view late) const;

 private:
  const std::string mark_;
  mutable Mutex mutex_;
  const StepRecorder* recorder_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_LATE_REPORT_H_
