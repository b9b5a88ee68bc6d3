#include "trainer/loop/train_loop.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/status.h"

namespace penstock {
namespace {

// Keeps the keys of dropout apart from other keys of the same seed.
constexpr uint64_t kDropoutTag = 0x64726f70;  // "drop"

// Takes the place of holdout records that this rank could not open. All ranks then learn of the
// error as they do of a batch's.
class NoInput final : public Input {
 public:
  explicit NoInput(absl::Status why) : why_(std::move(why)) {}
  absl::StatusOr<bool> Next(InputBatch&) override { return why_; }

 private:
  const absl::Status why_;
};

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// Whether the square of a weight overflows a float; the next products would overflow.
bool IsTooLarge(float value) { return !std::isfinite(value * value); }

// Keeps a diverged training from removing good checkpoints. The next step would detect it too, but
// too late.
absl::Status CheckCanGoOn(const ParameterTable& table, const TrainState& state) {
  std::string what;
  if (!AllFinite(state.m) || !AllFinite(state.v)) what = "AdamW's moments are not finite";
  for (const Parameter& parameter : table.parameters()) {
    const auto begin = state.parameters.begin() + static_cast<ptrdiff_t>(parameter.offset);
    const auto end = begin + static_cast<ptrdiff_t>(parameter.count);
    const auto found = std::find_if(begin, end, IsTooLarge);
    if (found == end) continue;
    what = absl::StrCat("a weight of ", parameter.name, " is ", *found);
    break;
  }
  if (what.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("after step ", state.step, ": ", what,
                   ": the training diverged; this state is not saved; lower ",
                   "--lr or --clip-norm, or raise --warmup-steps"));
}

}  // namespace

uint64_t DropoutKey(uint64_t seed, uint64_t steps, uint64_t batch) {
  return DeriveKey(DeriveKey(DeriveKey(seed, kDropoutTag), steps), batch);
}

double TrainSummary::rows_per_second() const {
  return seconds() > 0 ? static_cast<double>(rows) / seconds() : 0;
}

double TrainSummary::wait_share() const {
  return seconds() > 0 ? std::chrono::duration<double>(wait).count() / seconds() : 0;
}

TrainLoop::TrainLoop(Backend& backend, BatchReader& reader, Input& input, CheckpointInfo info,
                     TrainLoopOptions options)
    : backend_(backend),
      reader_(reader),
      info_(std::move(info)),
      options_(std::move(options)),
      ranks_(options_.ranks == nullptr ? alone_ : *options_.ranks),
      recorder_(options_.recorder == nullptr ? own_recorder_ : *options_.recorder),
      pipeline_(backend, reader, input, ranks_, recorder_, ForPipeline()) {
  if (options_.digest) digest_.emplace();
  summary_.first_step = summary_.step = info_.step;
  summary_.cursor = info_.cursor;
  summary_.best = info_.best;
}

bool TrainLoop::EarlyStopped() const {
  return options_.early_stop != 0 && info_.best.has_value() &&
         info_.best->evaluations_since >= options_.early_stop;
}

bool TrainLoop::IsDone() const {
  return (options_.total_steps != 0 && info_.step >= options_.total_steps) || EarlyStopped();
}

absl::StatusOr<TrainSummary> TrainLoop::Run() {
  recorder_.Start(info_.step + 1);
  backend_.set_recorder(&recorder_);
  absl::Status status = RunSteps();
  if (status.ok()) status = Finish();
  backend_.set_recorder(nullptr);
  recorder_.Stop();
  PENSTOCK_RETURN_IF_ERROR(status);
  if (digest_) summary_.digest = digest_->Hex();
  summary_.times = recorder_.total();
  return summary_;
}

absl::Status TrainLoop::RunSteps() {
  if (!IsDone()) PENSTOCK_RETURN_IF_ERROR(CatchUp());
  while (!IsDone() && !summary_.stopped) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, RunStep());
    if (!more) break;
    recorder_.Enter(Phase::kOutput);
    if (absl::Status due = IsDone() ? absl::OkStatus() : RunSchedules(); !due.ok()) {
      // Other ranks may not have failed, and would not take part in saving.
      if (Alone()) PENSTOCK_RETURN_IF_ERROR(Annotate(Save(), due.message()));
      return due;
    }
    recorder_.EndStep(info_.step);
  }
  return absl::OkStatus();
}

absl::Status TrainLoop::Finish() {
  recorder_.Enter(Phase::kOutput);
  PENSTOCK_RETURN_IF_ERROR(Save());
  summary_.early_stopped = EarlyStopped();
  if (!summary_.stopped && !summary_.early_stopped && evaluated_step_ != info_.step) {
    PENSTOCK_RETURN_IF_ERROR(RunEvaluation());
    PENSTOCK_RETURN_IF_ERROR(Save());  // Includes the evaluation's result.
  }
  return absl::OkStatus();
}

PipelineOptions TrainLoop::ForPipeline() {
  PipelineOptions options{.accumulate = options_.accumulate,
                          .total_steps = options_.total_steps,
                          .should_stop = options_.should_stop};
  options.update = [this](uint64_t steps, uint64_t batch) {
    return UpdateOptions{.learning_rate = options_.schedule.At(steps),
                         .decay_rate = options_.decay_rate,
                         .clip_norm = options_.clip_norm,
                         .random_key = DropoutKey(info_.seed, steps, batch)};
  };
  options.is_due = [this](uint64_t step) { return IsDue(step); };
  return options;
}

bool TrainLoop::IsDue(uint64_t step) const {
  auto every = [&](uint64_t steps) { return steps != 0 && step % steps == 0; };
  return step == options_.total_steps || every(options_.eval_every) ||
         every(options_.checkpoint_every);
}

absl::StatusOr<bool> TrainLoop::NextBatch() {
  PENSTOCK_ASSIGN_OR_RETURN(const Agreed agreed, pipeline_.Advance(info_.step));
  if (agreed.intent == Intent::kFailed) {
    const absl::Status& own = pipeline_.input_status();
    return InputFailed(own.ok() ? absl::UnavailableError(agreed.why) : own);
  }
  if (agreed.intent == Intent::kStop) summary_.stopped = true;
  return agreed.intent == Intent::kGo;
}

absl::Status TrainLoop::InputFailed(const absl::Status& status) {
  if (absl::Status saved = Save(); !saved.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("the input failed: ", status.message(),
                                     "; the state could not be saved either: ", saved.message()));
  }
  return status;
}

absl::StatusOr<bool> TrainLoop::RunStep() {
  StepReport report{.total_steps = options_.total_steps};
  score_sum_ = info_.score_sum;
  for (uint64_t i = 1; i <= options_.accumulate; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, NextBatch());
    if (!more) return false;
    PENSTOCK_RETURN_IF_ERROR(TrainOn(pipeline_.current(), report));
  }
  recorder_.Enter(Phase::kOutput);
  report.step = info_.step;
  report.times = recorder_.current();
  report.wait = report.times[Phase::kInput];
  report.compute = report.times.total() - report.wait;
  Record(report);
  return true;
}

absl::Status TrainLoop::TrainOn(const PipelinedBatch& next, StepReport& report) {
  if (digest_) digest_->Add(next.batch);
  report.learning_rate = next.update.learning_rate;
  recorder_.Enter(Phase::kCompute);
  const absl::StatusOr<StepResult> result = pipeline_.Finish();
  recorder_.Enter(Phase::kOther);
  if (!result.ok()) return Diverged(result.status(), next.batch);
  report.loss += result->loss / static_cast<double>(options_.accumulate);
  report.gradient_norm = result->gradient_norm;
  const std::span<const float> targets = backend_.global_targets();
  report.rows += targets.size();
  if (!info_.model.is_image()) {
    score_sum_ = std::accumulate(targets.begin(), targets.end(), score_sum_);
  }
  if (!next.last) return absl::OkStatus();
  info_.step = backend_.steps();
  info_.cursor = next.batch.cursor;
  info_.score_sum = score_sum_;
  info_.score_count += report.rows;
  unsaved_ = true;
  return absl::OkStatus();
}

// Ranks that exchange gradients diverge on the same batch. The first rank that ends also ends the
// others, so no rank ends before all have listed their rows.
std::string TrainLoop::ListRecords(const InputBatch& batch, uint64_t step,
                                   absl::string_view problem) {
  if (!options_.on_divergence) return "";
  std::string note;
  if (batch.rows > 0) {
    note = options_.on_divergence({step, batch, backend_.predictions(), problem});
  }
  // If a rank is lost meanwhile, that is not the reason why this one ends.
  if (!options_.ranks_differ) ranks_.Barrier().IgnoreError();
  return note;
}

absl::Status TrainLoop::Diverged(const absl::Status& status, const InputBatch& batch) {
  const std::string where =
      absl::StrCat("training on the ", batch.rows, " rows from position ", batch.first_position);
  if (!absl::IsFailedPrecondition(status)) return Annotate(status, where);
  const std::string note = ListRecords(batch, info_.step, status.message());
  return absl::FailedPreconditionError(absl::StrCat(where, ": ", status.message(), note));
}

void TrainLoop::Record(const StepReport& report) {
  const uint64_t steps = info_.step - summary_.first_step;
  if (steps <= kLossSteps) {
    first_losses_ += report.loss;
    summary_.loss_start = first_losses_ / static_cast<double>(steps);
  }
  last_losses_.push_back(report.loss);
  if (last_losses_.size() > kLossSteps) last_losses_.pop_front();
  summary_.loss_end = std::accumulate(last_losses_.begin(), last_losses_.end(), 0.0) /
                      static_cast<double>(last_losses_.size());
  summary_.step = info_.step;
  summary_.cursor = info_.cursor;
  summary_.rows += report.rows;
  summary_.wait += report.wait;
  summary_.compute += report.compute;
  if (options_.on_step) options_.on_step(report);
}

bool TrainLoop::EvaluationIsDue() const {
  return options_.eval_every != 0 && info_.step % options_.eval_every == 0;
}

absl::Status TrainLoop::CatchUp() {
  if (!EvaluationIsDue() || info_.judged_step == info_.step) return absl::OkStatus();
  recorder_.Enter(Phase::kOutput);
  return RunEvaluation();
}

// The evaluation comes first, so that the checkpoint includes its result.
absl::Status TrainLoop::RunSchedules() {
  if (EvaluationIsDue()) PENSTOCK_RETURN_IF_ERROR(RunEvaluation());
  if (options_.checkpoint_every != 0 && info_.step % options_.checkpoint_every == 0) return Save();
  return absl::OkStatus();
}

absl::StatusOr<Evaluation> TrainLoop::EvaluateHoldout(bool& together) {
  absl::StatusOr<std::unique_ptr<Input>> opened = options_.open_holdout();
  const std::unique_ptr<Input> holdout =
      opened.ok() ? *std::move(opened) : std::make_unique<NoInput>(opened.status());
  const double mean = info_.score_sum / static_cast<double>(info_.score_count);
  if (options_.holdout_apart) {
    return EvaluateApart(backend_, reader_, *holdout, mean, options_.should_stop, ranks_,
                         &together);
  }
  return Evaluate(backend_, reader_, *holdout, mean, options_.should_stop, &ranks_, &together);
}

absl::Status TrainLoop::RunEvaluation() {
  if (!options_.open_holdout || info_.score_count == 0) return absl::OkStatus();
  bool together = false;
  const absl::StatusOr<Evaluation> evaluation = EvaluateHoldout(together);
  if (together) return InputFailed(evaluation.status());
  if (absl::IsCancelled(evaluation.status())) {  // should_stop() ended it on some rank.
    summary_.stopped = true;
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(evaluation.status());
  if (!std::isfinite(evaluation->loss)) return EvaluationDiverged(*evaluation);
  summary_.evaluation = *evaluation;
  evaluated_step_ = info_.step;
  if (options_.on_evaluation) options_.on_evaluation(info_.step, *summary_.evaluation);
  // The previous run may have evaluated these weights already.
  return info_.judged_step == info_.step ? absl::OkStatus() : Judge(*evaluation);
}

absl::Status TrainLoop::EvaluationDiverged(const Evaluation& evaluation) {
  unsaved_ = false;  // Saving would remove a good checkpoint.
  return absl::FailedPreconditionError(absl::StrCat(
      "after step ", info_.step, ": the held-out loss is ", evaluation.loss, ": the training ",
      "diverged; no further checkpoint is saved; lower --lr or --clip-norm, or raise "
      "--warmup-steps"));
}

absl::Status TrainLoop::Judge(const Evaluation& evaluation) {
  const bool better = !info_.best.has_value() || evaluation.loss < info_.best->loss;
  if (better) {
    info_.best = BestEvaluation{.step = info_.step, .loss = evaluation.loss};
  } else if (info_.best.has_value()) {
    ++info_.best->evaluations_since;
  }
  info_.judged_step = info_.step;
  unsaved_ = true;
  summary_.best = info_.best;
  return better ? SaveBy(&CheckpointFolder::SaveBest) : absl::OkStatus();
}

absl::Status TrainLoop::Save() {
  if (!unsaved_) return absl::OkStatus();
  unsaved_ = false;
  PENSTOCK_RETURN_IF_ERROR(SaveBy(&CheckpointFolder::Save));
  if (options_.checkpoints != nullptr && options_.on_checkpoint) options_.on_checkpoint();
  return absl::OkStatus();
}

// No rank continues, or ends and thereby ends the others, before rank 0 has written the file.
absl::Status TrainLoop::SaveBy(SaveMethod save) {
  if (!options_.rank_0_saves && options_.checkpoints == nullptr) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const TrainState* state, backend_.State());
  if (options_.rank_0_saves) PENSTOCK_RETURN_IF_ERROR(CompareStates(ranks_, *state));
  if (const absl::Status good = CheckCanGoOn(backend_.table(), *state); !good.ok()) {
    unsaved_ = false;  // Saving would remove a good checkpoint.
    const std::string note = ListRecords(pipeline_.current().batch, info_.step - 1, good.message());
    return absl::FailedPreconditionError(absl::StrCat(good.message(), note));
  }
  CheckpointInfo info = info_;
  if (options_.gather_cursors) {
    PENSTOCK_ASSIGN_OR_RETURN(info.cursor, options_.gather_cursors(info_.cursor));
  }
  if (options_.checkpoints != nullptr) {
    PENSTOCK_RETURN_IF_ERROR((options_.checkpoints->*save)(info, backend_.table(), *state));
  }
  return options_.rank_0_saves ? ranks_.Barrier() : absl::OkStatus();
}

}  // namespace penstock
