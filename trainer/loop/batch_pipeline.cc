#include "trainer/loop/batch_pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/loop/agreement.h"

namespace penstock {

BatchPipeline::BatchPipeline(Backend& backend, BatchReader& reader, Input& input,
                             Communicator& ranks, StepRecorder& recorder, PipelineOptions options)
    : backend_(backend),
      reader_(reader),
      input_(input),
      ranks_(ranks),
      recorder_(recorder),
      options_(std::move(options)) {}

// Batches that are staged together are begun together.
bool BatchPipeline::HasRoom() const {
  return backend_.room() > 0 && (staged_.empty() || !staged_.back().due);
}

bool BatchPipeline::CanStage() const {
  if (ended_.has_value() || !held_.empty() || !HasRoom()) return false;
  return options_.total_steps == 0 || next_step_ <= options_.total_steps;
}

absl::Status BatchPipeline::Stage() {
  PipelinedBatch next;
  recorder_.Enter(Phase::kInput);
  const Intent intent = ReadBatch(input_, options_.should_stop, next.batch, input_status_);
  recorder_.Enter(Phase::kOther);
  if (intent != Intent::kGo) {
    ended_ = intent;
    return absl::OkStatus();
  }
  const absl::StatusOr<BatchRows> rows = reader_.Read(next.batch);
  if (!rows.ok()) {  // Treated like a batch that could not be read: any label may be wrong.
    input_status_ = rows.status();
    ended_ = Intent::kFailed;
    return absl::OkStatus();
  }
  next.update = options_.update(next_step_ - 1, next_batch_);
  next.update.global_rows = next.batch.global_rows;
  next.update.batches = options_.accumulate;
  next.last = next_batch_ == options_.accumulate;
  next.due = next.last && options_.is_due(next_step_);
  const bool last = next.last;
  PENSTOCK_RETURN_IF_ERROR(Give(std::move(next), *rows));
  next_step_ += last;
  next_batch_ = last ? 1 : next_batch_ + 1;
  return absl::OkStatus();
}

absl::Status BatchPipeline::Give(PipelinedBatch next) {
  PENSTOCK_ASSIGN_OR_RETURN(const BatchRows rows, reader_.Read(next.batch));
  return Give(std::move(next), rows);
}

absl::Status BatchPipeline::Give(PipelinedBatch next, const BatchRows& rows) {
  PENSTOCK_RETURN_IF_ERROR(backend_.Stage(rows, next.update, next.last));
  staged_.push_back(std::move(next));
  return absl::OkStatus();
}

absl::Status BatchPipeline::SendHeld() {
  while (!held_.empty() && HasRoom()) {
    PipelinedBatch next = std::move(held_.front());
    held_.pop_front();
    PENSTOCK_RETURN_IF_ERROR(Give(std::move(next)));
  }
  return absl::OkStatus();
}

absl::Status BatchPipeline::StageWhatIsReady() {
  if (!held_.empty()) PENSTOCK_RETURN_IF_ERROR(DoBeside([this] { return SendHeld(); }));
  while (CanStage() && input_.Ready()) {
    PENSTOCK_RETURN_IF_ERROR(DoBeside([this] { return Stage(); }));
  }
  return absl::OkStatus();
}

absl::Status BatchPipeline::DoBeside(absl::FunctionRef<absl::Status()> work) {
  recorder_.Enter(Phase::kOther);
  const PhaseTimes before = recorder_.current();
  const absl::Status status = work();
  recorder_.Enter(Phase::kOther);
  if (backend_.IsBusy()) recorder_.MoveSince(before, Phase::kCompute);
  return status;
}

absl::Status BatchPipeline::Begin() {
  PENSTOCK_RETURN_IF_ERROR(backend_.Begin());
  std::move(staged_.begin(), staged_.end(), std::back_inserter(begun_));
  staged_.clear();
  return absl::OkStatus();
}

// Batches that other ranks do not have yet are sent again later, to the slots of the next launch.
absl::Status BatchPipeline::BeginOnly(uint64_t batches) {
  if (staged_.size() > batches) backend_.Unstage(batches);
  while (staged_.size() > batches) {
    held_.push_front(std::move(staged_.back()));
    staged_.pop_back();
  }
  return Begin();
}

bool BatchPipeline::DueUnderWay() const {
  return current_.due || std::any_of(begun_.begin(), begun_.end(),
                                     [](const PipelinedBatch& batch) { return batch.due; });
}

// All ranks have equally many batches in flight, so there is room on all or on none.
bool BatchPipeline::MayBeginAhead() const {
  if (ranks_.size() > 1 && !backend_.RanksBeginAhead()) return false;
  return !DueUnderWay() && (!staged_.empty() || backend_.room() > 0);
}

// Waits for a full launch, because the device is busy. The end of the input is reported once
// nothing is in flight.
uint64_t BatchPipeline::BatchesToBegin() const {
  if (staged_.empty() || CanStage() || ended_ == Intent::kStop || Stops()) return 0;
  return staged_.size();
}

absl::Status BatchPipeline::BeginAhead() {
  const uint64_t own = BatchesToBegin();
  if (ranks_.size() > 1) recorder_.Enter(Phase::kCollective);
  const absl::StatusOr<uint64_t> agreed = AgreeOnBatches(ranks_, position(), own);
  recorder_.Enter(Phase::kOther);
  PENSTOCK_RETURN_IF_ERROR(agreed.status());
  return *agreed == 0 ? absl::OkStatus() : BeginOnly(*agreed);
}

absl::Status BatchPipeline::GoAhead() {
  PENSTOCK_RETURN_IF_ERROR(StageWhatIsReady());
  if (!MayBeginAhead()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(DoBeside([this] { return BeginAhead(); }));
  return StageWhatIsReady();
}

absl::StatusOr<Intent> BatchPipeline::OwnIntent() {
  if (!staged_.empty()) {  // The next batch was read earlier.
    return ended_ == Intent::kStop || Stops() ? Intent::kStop : Intent::kGo;
  }
  if (!ended_.has_value()) PENSTOCK_RETURN_IF_ERROR(Stage());
  return staged_.empty() ? *ended_ : Intent::kGo;
}

absl::StatusOr<Agreed> BatchPipeline::AgreeOnNext() {
  PENSTOCK_RETURN_IF_ERROR(SendHeld());
  PENSTOCK_ASSIGN_OR_RETURN(const Intent own, OwnIntent());
  if (own == Intent::kGo) PENSTOCK_RETURN_IF_ERROR(StageWhatIsReady());
  if (ranks_.size() > 1) recorder_.Enter(Phase::kCollective);
  absl::StatusOr<Agreed> agreed = Agree(ranks_, own, position(), input_status_, staged_.size());
  recorder_.Enter(Phase::kOther);
  return agreed;
}

absl::StatusOr<Agreed> BatchPipeline::Advance(uint64_t steps) {
  current_ = {};
  if (begun_.empty()) {
    if (staged_.empty() && held_.empty() && next_batch_ == 1) next_step_ = steps + 1;
    PENSTOCK_ASSIGN_OR_RETURN(Agreed agreed, AgreeOnNext());
    if (agreed.intent != Intent::kGo) return agreed;
    PENSTOCK_RETURN_IF_ERROR(BeginOnly(agreed.batches));
  }
  current_ = std::move(begun_.front());
  begun_.pop_front();
  PENSTOCK_RETURN_IF_ERROR(GoAhead());
  return Agreed{Intent::kGo, ""};
}

absl::StatusOr<StepResult> BatchPipeline::Finish() { return backend_.Finish(); }

}  // namespace penstock
