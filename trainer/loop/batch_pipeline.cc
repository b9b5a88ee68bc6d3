#include "trainer/loop/batch_pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "trainer/loop/read_batch.h"

namespace penstock {

BatchPipeline::BatchPipeline(Backend& backend, BatchReader& reader, Input& input,
                             Communicator& ranks, StepRecorder& recorder, PipelineOptions options)
    : backend_(backend),
      reader_(reader),
      input_(input),
      ranks_(ranks),
      recorder_(recorder),
      options_(std::move(options)) {}

bool BatchPipeline::CanStage() const {
  if (ended_.has_value() || backend_.room() == 0) return false;
  if (options_.total_steps != 0 && next_step_ > options_.total_steps) return false;
  // What is staged together is begun together.
  return staged_.empty() || !staged_.back().due;
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
  next.update = options_.update(next_step_ - 1, next_batch_);
  next.update.global_rows = next.batch.global_rows;
  next.update.batches = options_.accumulate;
  next.last = next_batch_ == options_.accumulate;
  next.due = next.last && options_.is_due(next_step_);
  const bool last = next.last;
  PENSTOCK_RETURN_IF_ERROR(Give(std::move(next)));
  next_step_ += last;
  next_batch_ = last ? 1 : next_batch_ + 1;
  return absl::OkStatus();
}

absl::Status BatchPipeline::Give(PipelinedBatch next) {
  PENSTOCK_ASSIGN_OR_RETURN(const BatchRows rows, reader_.Read(next.batch));
  PENSTOCK_RETURN_IF_ERROR(backend_.Stage(rows, next.update, next.last));
  staged_.push_back(std::move(next));
  return absl::OkStatus();
}

absl::Status BatchPipeline::StageWhatIsReady() {
  while (CanStage() && input_.Ready()) {
    PENSTOCK_RETURN_IF_ERROR(DoBeside([this] { return Stage(); }));
  }
  return absl::OkStatus();
}

// Of several ranks what the device waits for is the exchange, as well.
absl::Status BatchPipeline::DoBeside(absl::FunctionRef<absl::Status()> work) {
  if (ranks_.size() > 1) return work();
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

// What other ranks do not have yet is sent once more, to where the next launch expects it.
absl::Status BatchPipeline::BeginOnly(uint64_t batches) {
  std::deque<PipelinedBatch> others;
  while (staged_.size() > batches) {
    others.push_front(std::move(staged_.back()));
    staged_.pop_back();
  }
  if (!others.empty()) backend_.Unstage(batches);
  PENSTOCK_RETURN_IF_ERROR(Begin());
  for (PipelinedBatch& other : others) PENSTOCK_RETURN_IF_ERROR(Give(std::move(other)));
  return absl::OkStatus();
}

bool BatchPipeline::DueUnderWay() const {
  return current_.due || std::any_of(begun_.begin(), begun_.end(),
                                     [](const PipelinedBatch& batch) { return batch.due; });
}

// One rank alone asks no other before it begins a batch; it waits for a launch to be full, because
// the device is busy.
absl::Status BatchPipeline::GoAhead() {
  PENSTOCK_RETURN_IF_ERROR(StageWhatIsReady());
  if (ranks_.size() > 1 || staged_.empty() || CanStage() || DueUnderWay()) return absl::OkStatus();
  if (ended_ == Intent::kStop) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(DoBeside([this] { return Begin(); }));
  return StageWhatIsReady();
}

absl::StatusOr<Intent> BatchPipeline::OwnIntent() {
  if (!staged_.empty()) {  // It was read earlier.
    return ended_ == Intent::kStop || Stops() ? Intent::kStop : Intent::kGo;
  }
  if (!ended_.has_value()) PENSTOCK_RETURN_IF_ERROR(Stage());
  return staged_.empty() ? *ended_ : Intent::kGo;
}

absl::StatusOr<Agreed> BatchPipeline::AgreeOnNext() {
  PENSTOCK_ASSIGN_OR_RETURN(const Intent own, OwnIntent());
  if (own == Intent::kGo) PENSTOCK_RETURN_IF_ERROR(StageWhatIsReady());
  const uint64_t position = staged_.empty() ? 0 : staged_.front().batch.first_position;
  if (ranks_.size() > 1) recorder_.Enter(Phase::kCollective);
  absl::StatusOr<Agreed> agreed = Agree(ranks_, own, position, input_status_, staged_.size());
  recorder_.Enter(Phase::kOther);
  return agreed;
}

absl::StatusOr<Agreed> BatchPipeline::Advance(uint64_t steps) {
  current_ = {};
  if (begun_.empty()) {
    if (staged_.empty() && next_batch_ == 1) next_step_ = steps + 1;
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
