// The metrics of a training besides its loader's, for Prometheus.
#ifndef PENSTOCK_TRAINER_APP_TRAINING_METRICS_H_
#define PENSTOCK_TRAINER_APP_TRAINING_METRICS_H_

#include <chrono>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/duration_histogram.h"
#include "base/mutex.h"
#include "metrics/metric_families.h"
#include "trainer/loop/train_loop.h"

namespace penstock {

// Thread-safe.
class TrainingMetrics {
 public:
  // Call this before the first step, on the rank that writes checkpoints. Until a checkpoint is
  // saved, its age is the time since this call.
  void ExpectCheckpoints();
  void NoteStep(const StepReport& report);
  void NoteCheckpoint();

  // Adds penstock_trainer_*.
  void AddTo(MetricFamilies& families) const;

 private:
  mutable Mutex mutex_;
  StepReport last_ ABSL_GUARDED_BY(mutex_);
  DurationHistogram steps_ ABSL_GUARDED_BY(mutex_);
  // The time of the last checkpoint; unset on a rank that writes none.
  std::optional<std::chrono::steady_clock::time_point> saved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_TRAINING_METRICS_H_
