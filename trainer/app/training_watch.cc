#include "trainer/app/training_watch.h"
#include "base/bytes_of.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/io/atomic_file.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "trainer/profile/device_spans.h"

namespace penstock {

TrainingWatch::TrainingWatch(const ProfileOptions& options, size_t threads, uint32_t rank)
    : options_(options), rank_(rank), recorder_(options.steps.empty() ? nullptr : &tracer_) {
  if (options.steps.empty()) return;
  const auto [first, last] = *ParseStepRange(options.steps);
  recorder_.TraceSteps(first, last);
  tracer_.NameTrack(0, "training");
  for (size_t i = 0; i < threads; ++i) {
    tracer_.NameTrack(static_cast<uint32_t>(i + 1), absl::StrCat("worker ", i));
  }
}

TrainingWatch::~TrainingWatch() {
  if (watched_ == nullptr) return;
  watched_->set_device_profile(nullptr);
  watched_->set_tracer(nullptr);
}

void TrainingWatch::Tell(const std::string& note) const {
  if (note.empty()) return;
  PrintEscaped(stderr, "penstock-train: %s--profile-steps: %s\n",
               rank_ == 0 ? "" : absl::StrCat("rank ", rank_, ": "), note);
}

void TrainingWatch::TellOfNoSteps(uint64_t first, uint64_t last) const {
  if (options_.steps.empty() || rank_ != 0) return;
  const auto [from, to] = *ParseStepRange(options_.steps);
  if (from <= last && to > first) return;
  Tell(absl::StrCat(options_.steps, " will not be traced, because this run has ",
                    first > last ? "no steps" : absl::StrCat("steps ", first, " to ", last)));
}

void TrainingWatch::Watch(Backend& backend) {
  if (options_.steps.empty()) return;
  watched_ = &backend;
  backend.set_tracer(&tracer_);
  const auto [first, last] = *ParseStepRange(options_.steps);
  device_.emplace(first, last);
  backend.set_device_profile(&*device_);
  told_ = device_->problem();
  Tell(told_);
  if (device_->has_recorder()) {
    tracer_.NameTrack(1, "steps under way");
  } else {
    backend.set_device_profile(nullptr);
    device_.reset();
  }
}

void TrainingWatch::AddDevice() {
  if (!device_.has_value()) return;
  watched_->set_device_profile(nullptr);
  if (device_->problem() != told_) Tell(device_->problem());
  if (const std::optional<DeviceRecords>& records = device_->records()) {
    AddDeviceSpans(*records, device_->launches(), tracer_);
    device_times_ = MeasureGaps(*records, device_->launches());
    for (const std::string& note : DeviceNotes(*records)) Tell(note);
  }
}

std::unique_ptr<Input> TrainingWatch::Diagnose(Input& inner, uint64_t total_steps) {
  normal_steps_ = NormalSteps(total_steps);
  if (options_.no_allreduce) return nullptr;
  const uint64_t keep = options_.synthetic_data ? 1 : options_.replay_batches;
  return std::make_unique<DiagnosticInput>(
      inner, DiagnosticInput::Options{.normal_steps = normal_steps_,
                                      .memory_steps = total_steps - normal_steps_,
                                      .keep = std::min(keep, normal_steps_),
                                      .synthetic = options_.synthetic_data});
}

void TrainingWatch::Count(const StepReport& report) {
  if (!options_.diagnoses()) return;
  RunRate& run = normal_steps_ > 0 ? normal_ : other_;
  if (!first_) {
    run.rows += report.rows;
    run.times += report.times;
  }
  first_ = normal_steps_ == 1;
  if (normal_steps_ > 0) --normal_steps_;
}

std::string TrainingWatch::Comparison() const {
  if (!options_.diagnoses()) return "";
  if (options_.no_allreduce) {
    return CompareRuns(normal_, other_, "no exchange of gradients", Phase::kCollective);
  }
  return CompareRuns(normal_, other_,
                     options_.synthetic_data
                         ? "synthetic data"
                         : absl::StrCat(options_.replay_batches, " batches from memory"));
}

absl::Status TrainingWatch::CheckTraceFile() const {
  if (options_.steps.empty()) return absl::OkStatus();
  return Annotate(AtomicFile::Create(options_.FileOf(rank_)).status(), "--profile-file");
}

absl::Status TrainingWatch::WriteTrace() {
  if (options_.steps.empty()) return absl::OkStatus();
  AddDevice();
  const std::string name =
      rank_ == 0 ? "penstock-train" : absl::StrCat("penstock-train, rank ", rank_);
  const std::string json = tracer_.ToJson(name, rank_ + 1);
  const std::string file = options_.FileOf(rank_);
  PENSTOCK_RETURN_IF_ERROR(Annotate(WriteFileAtomically(file, BytesOf(json)), "--profile-file"));
  if (rank_ == 0) trace_lines_ = DescribeTrace(file);
  return absl::OkStatus();
}

bool TrainingWatch::TracedAny() const {
  const std::vector<StepRecorder::Step> newest = recorder_.Newest(1);
  if (newest.empty()) return false;
  const auto [from, to] = *ParseStepRange(options_.steps);
  return from <= newest[0].step && to + recorder_.steps() > newest[0].step + 1;
}

std::string TrainingWatch::DescribeTrace(const std::string& file) const {
  if (!TracedAny()) {
    return absl::StrFormat("no trace: no step of %s was run, so %s has no steps\n", options_.steps,
                           file);
  }
  std::string lines =
      absl::StrFormat("trace of steps %s: %d spans in %s; ui.perfetto.dev opens it\n",
                      options_.steps, tracer_.num_spans(), file);
  if (tracer_.num_left_out() > 0) {
    absl::StrAppendFormat(&lines,
                          "%d more spans did not fit into the trace; give fewer --profile-steps\n",
                          tracer_.num_left_out());
  }
  if (device_times_.has_value()) absl::StrAppend(&lines, DeviceTimesLine(*device_times_), "\n");
  return lines;
}

}  // namespace penstock
