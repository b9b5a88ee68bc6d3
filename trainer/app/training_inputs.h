// The records of a training: those that it trains on, and the holdout split.
#ifndef PENSTOCK_TRAINER_APP_TRAINING_INPUTS_H_
#define PENSTOCK_TRAINER_APP_TRAINING_INPUTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/loader/slot_allocator.h"
#include "client/metrics/loader_metrics.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"
#include "trainer/app/host_shards.h"
#include "trainer/app/options.h"
#include "trainer/app/spec_checks.h"
#include "trainer/app/stopper.h"
#include "trainer/app/training_metrics.h"
#include "trainer/app/training_watch.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/input/loader_input.h"

namespace penstock {

// Opens the manifest of the training data. --manifest is a file, a folder (indexed if necessary) or
// server:PATH. Prints a line about steps that take time. Polls `may_go_on` meanwhile, and returns
// its error. REQUIRES: options.Validate().
absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifest(
    const TrainerOptions& options, const v1::DecodeSpec& spec,
    const std::function<absl::Status()>& may_go_on);

// Closes its inputs when the training stops. All arguments of its constructor and of OpenTrain()
// must outlive this object. Not thread-safe.
class TrainingInputs {
 public:
  // `metrics` is served with the loader's.
  TrainingInputs(const TrainerOptions& options, Stopper& stopper, const TrainingMetrics& metrics)
      : options_(options), stopper_(stopper), training_metrics_(metrics) {}

  // Call this first. Polls `may_go_on` meanwhile, and returns its error.
  absl::Status OpenManifest(const std::function<absl::Status()>& may_go_on);
  // Opens the batches from the position of `info` on. `watch` records the work of the threads of
  // this loader and of the loaders of OpenHoldout(). kInvalidArgument: the batches do not make one
  // step.
  absl::Status OpenTrain(const CheckpointInfo& info, const HostShards& shards, TrainingWatch& watch,
                         SlotAllocator* slots);
  // Opens a new input each time.
  absl::StatusOr<std::unique_ptr<Input>> OpenHoldout(const HostShards& shards) const;

  const v1::DecodeSpec& spec() const { return spec_; }
  const v1::DecodeSpec& eval_spec() const { return eval_spec_; }
  TrainingSpecs specs() const {
    return {spec_, eval_spec_, SpecTitle(options_, spec_name_),
            EvalSpecTitle(options_, spec_name_)};
  }
  const Manifest& manifest() const { return *manifest_; }
  bool has_holdout() const { return manifest_->num_records(Split::kHoldout) > 0; }
  LoaderInput& train() const { return *train_; }
  const Loader& loader() const { return train_->loader(); }
  // The number of steps of the whole training, including those before it was resumed. In a
  // diagnosis it is known before OpenTrain().
  uint64_t TotalSteps() const;

 private:
  absl::StatusOr<std::unique_ptr<LoaderInput>> Open(LoaderOptions loader) const;
  absl::Status ChooseEvalSpec();
  absl::Status CheckSteps() const;
  absl::Status StartMetrics();

  const TrainerOptions& options_;
  Stopper& stopper_;
  const TrainingMetrics& training_metrics_;
  v1::DecodeSpec spec_, eval_spec_;
  std::string spec_name_;                     // The value of SpecChoice::name.
  std::shared_ptr<const Manifest> manifest_;  // Shared with the loaders.
  SpanSink* spans_ = nullptr;                 // Receives the loaders' spans. May be null.
  std::unique_ptr<LoaderInput> train_;
  uint64_t steps_before_ = 0;                 // Steps done before the training was resumed.
  std::unique_ptr<MetricsEndpoint> metrics_;  // Metrics of train_. May be null.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_TRAINING_INPUTS_H_
