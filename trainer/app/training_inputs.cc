#include "trainer/app/training_inputs.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "client/flags/source_flags.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader_plan.h"
#include "client/loader/sample_names.h"
#include "client/loader/served_manifest.h"
#include "records/dataset/open_dataset.h"
#include "records/decode/spec.h"
#include "trainer/app/eval_spec.h"
#include "trainer/app/input_options.h"

namespace penstock {

absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifest(
    const TrainerOptions& options, const v1::DecodeSpec& spec,
    const std::function<absl::Status()>& may_go_on) {
  if (IsServedManifest(options.manifest)) {
    return FetchManifest(options.manifest, ToLoaderOptions(options, nullptr, spec), may_go_on);
  }
  PENSTOCK_RETURN_IF_ERROR(CheckManifestExists(options.manifest));
  IndexOptions index;
  index.listing.check = may_go_on;
  index.progress = [&may_go_on](uint64_t) { return may_go_on(); };
  index.on_total = [&options](uint64_t bytes) {
    PrintEscaped(stderr, "indexing %s: %s bytes\n", options.manifest, Grouped(bytes));
  };
  index.on_wait = [&options, &may_go_on, told = false]() mutable {
    if (!std::exchange(told, true)) {
      PrintEscaped(stderr, "another run is indexing %s; waiting for it\n", options.manifest);
    }
    return may_go_on();
  };
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(options.manifest, std::move(index)));
  if (dataset.indexed) PrintEscaped(stdout, "indexed; saved %s\n", dataset.manifest_path);
  return std::make_shared<const Manifest>(std::move(dataset.manifest));
}

namespace {

constexpr uint64_t kDiagnosisSteps = 200;  // The default without --steps.

}  // namespace

absl::Status TrainingInputs::OpenManifest(const std::function<absl::Status()>& may_go_on) {
  PENSTOCK_ASSIGN_OR_RETURN(spec_, LoadNamedSpec(options_.source.spec));
  PENSTOCK_ASSIGN_OR_RETURN(manifest_, penstock::OpenManifest(options_, spec_, may_go_on));
  PENSTOCK_ASSIGN_OR_RETURN(SpecChoice choice, ChooseSpec(std::move(spec_), *manifest_));
  if (!choice.note.empty()) PrintEscaped(stderr, "penstock-train: %s\n", choice.note);
  spec_ = std::move(choice.spec);
  spec_name_ = std::move(choice.name);
  return Annotate(ChooseEvalSpec(), EvalSpecTitle(options_, spec_name_));
}

absl::Status TrainingInputs::ChooseEvalSpec() {
  if (!options_.eval_spec.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(v1::DecodeSpec named, LoadSpec(options_.eval_spec));
    eval_spec_ = WithSampleNames(std::move(named), manifest_->features());
    return CheckSpecFits(eval_spec_, manifest_->features(), manifest_->format());
  }
  eval_spec_ = EvalSpecOf(spec_);
  const std::string random = RandomOperationsOf(eval_spec_);
  if (!random.empty() && has_holdout() && options_.rank.rank == 0) {
    PrintEscaped(
        stderr,
        "penstock-train: evaluations have random operations, too: %s; give an --eval-spec without "
        "them\n",
        random);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LoaderInput>> TrainingInputs::Open(LoaderOptions options) const {
  options.spans = spans_;
  options.spec_name = spec_name_;
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(std::move(options)));
  return std::make_unique<StoppableInput>(std::move(loader), stopper_);
}

absl::Status TrainingInputs::OpenTrain(const CheckpointInfo& info, const HostShards& shards,
                                       TrainingWatch& watch, SlotAllocator* slots) {
  steps_before_ = info.step;
  spans_ = watch.spans();
  LoaderOptions loader = ToLoaderOptions(options_, manifest_, spec_);
  loader.plan.split = Split::kTrain;
  // An epoch has at least one step, so this many epochs are enough for --steps alone.
  loader.epochs =
      options_.EpochLimit() == 0 ? options_.steps * options_.accumulate : options_.EpochLimit();
  // Never fetches data that will not be trained on.
  if (options_.steps > info.step) {
    loader.max_steps = (options_.steps - info.step) * options_.accumulate;
  }
  if (options_.profile.diagnoses()) {
    loader.epochs = 0;
    loader.max_steps = watch.InputSteps(TotalSteps());
  }
  if (!info.cursor.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(loader.start, shards.OwnCursor(info.cursor));
    // Evaluations continue with that manifest too.
    if (!IsServedManifest(options_.manifest)) {
      manifest_ = loader.manifest = ManifestOfCursor(options_.manifest, loader);
    }
  }
  shards.Divide(loader);
  loader.slot_allocator = slots;
  PENSTOCK_ASSIGN_OR_RETURN(train_, Open(std::move(loader)));
  WarnOfFewSlots(options_, train_->loader().stats());
  PENSTOCK_RETURN_IF_ERROR(StartMetrics());
  return CheckSteps();
}

absl::Status TrainingInputs::StartMetrics() {
  MetricsFlags flags = options_.metrics;
  flags.offset = options_.rank.local_rank;  // Each rank of a host has its own endpoint.
  PENSTOCK_ASSIGN_OR_RETURN(
      metrics_, penstock::StartMetrics(flags, [this](MetricFamilies& families) {
        AddLoaderMetrics(loader().stats(), options_.source.network.tls_files.cert_file, families);
        training_metrics_.AddTo(families);
      }));
  if (metrics_ != nullptr) {
    PrintEscaped(stderr, "metrics on http://%s/metrics\n", metrics_->address());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Input>> TrainingInputs::OpenHoldout(const HostShards& shards) const {
  LoaderOptions loader = ToLoaderOptions(options_, manifest_, eval_spec_);
  ReadOnceInOrder(Split::kHoldout, loader);
  HalveForEvaluation(loader);
  shards.Divide(loader);
  return Open(std::move(loader));
}

uint64_t TrainingInputs::TotalSteps() const {
  if (options_.profile.diagnoses()) return options_.steps == 0 ? kDiagnosisSteps : options_.steps;
  if (options_.EpochLimit() == 0) return options_.steps;
  // Counts from the resumed step on: earlier steps may have had another size.
  const uint64_t by_epochs = steps_before_ + loader().steps_left() / options_.accumulate;
  return options_.steps == 0 ? by_epochs : std::min(options_.steps, by_epochs);
}

absl::Status TrainingInputs::CheckSteps() const {
  if (TotalSteps() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--accumulate ", options_.accumulate, ": a step needs more batches than the ",
      loader().steps_left(), " that --epochs ", options_.EpochLimit(),
      " provides; give a smaller --accumulate, a smaller --global-batch-size or more --epochs"));
}

}  // namespace penstock
