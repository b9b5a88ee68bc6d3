#include "trainer/app/training_metrics.h"

#include "absl/time/time.h"

namespace penstock {

void TrainingMetrics::ExpectCheckpoints() { NoteCheckpoint(); }

void TrainingMetrics::NoteStep(const StepReport& report) {
  MutexLock lock(&mutex_);
  last_ = report;
  steps_.Add(absl::FromChrono(report.wait + report.compute));
}

void TrainingMetrics::NoteCheckpoint() {
  MutexLock lock(&mutex_);
  saved_ = std::chrono::steady_clock::now();
}

void TrainingMetrics::AddTo(MetricFamilies& families) const {
  MutexLock lock(&mutex_);
  families.AddGauge("penstock_trainer_step",
                    "Steps applied, including those before the training was resumed.",
                    static_cast<double>(last_.step));
  families.AddGauge("penstock_trainer_total_steps",
                    "Steps of the whole training; 0 before the first step.",
                    static_cast<double>(last_.total_steps));
  families.AddGauge("penstock_trainer_loss", "Training loss of the last step, over all ranks.",
                    last_.loss);
  families.AddHistogram("penstock_trainer_step_seconds",
                        "Time of each step, including its wait for input.", steps_);
  if (!saved_.has_value()) return;
  families.AddGauge(
      "penstock_trainer_checkpoint_age_seconds",
      "Time since this run saved its last checkpoint, or since it began.",
      absl::ToDoubleSeconds(absl::FromChrono(std::chrono::steady_clock::now() - *saved_)));
}

}  // namespace penstock
