// What is said while ranks keep others waiting.
#ifndef PENSTOCK_TRAINER_APP_LATE_REPORT_H_
#define PENSTOCK_TRAINER_APP_LATE_REPORT_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {

// What a training has been doing: "step 411 took 0.152 s (compute 0.149, collective 0.003), ...;
// since then 61.2 s (compute 1.01, collective 60.1), now in collective for 60.1 s": the last four
// steps, and phases of a hundredth of a step or more. Empty before recorder.Start().
std::string DescribeRecentSteps(const StepRecorder& recorder,
                                StepRecorder::Clock::time_point now = StepRecorder::Clock::now());

// Adds to who is late what this rank's last steps were, and what it is at. Thread-safe.
class LateReport {
 public:
  // `mark` says which rank this is: RankMark().
  explicit LateReport(std::string mark) : mark_(std::move(mark)) {}

  // Null: there are no steps. `recorder` must stay until null is watched.
  void Watch(const StepRecorder* recorder) {
    MutexLock lock(&mutex_);
    recorder_ = recorder;
  }

  // `late` as LateWatch has it, and a second line of the steps if there are any.
  std::string Lines(absl::string_view late) const;
  // Those on stderr.
  void Tell(absl::string_view late) const;

 private:
  const std::string mark_;
  mutable Mutex mutex_;
  const StepRecorder* recorder_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_LATE_REPORT_H_
