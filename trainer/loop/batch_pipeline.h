// Moves batches from the input to the backend. Reads and sends the next ones while one is computed.
#ifndef PENSTOCK_TRAINER_LOOP_BATCH_PIPELINE_H_
#define PENSTOCK_TRAINER_LOOP_BATCH_PIPELINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/backend.h"
#include "trainer/comm/communicator.h"
#include "trainer/input/batch_reader.h"
#include "trainer/input/input.h"
#include "trainer/loop/agreement.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {

struct PipelineOptions {
  uint64_t accumulate = 1;   // Number of batches per step.
  uint64_t total_steps = 0;  // Steps of the whole training; 0 means until the input ends.
  // Options of batch `batch` (counted from 1) of the step that follows `steps` steps.
  std::function<UpdateOptions(uint64_t steps, uint64_t batch)> update = {};
  // Whether something is due after step `step`; no later step begins before that is done.
  std::function<bool(uint64_t step)> is_due = {};
  std::function<bool()> should_stop = {};
};

// A batch that was begun.
struct PipelinedBatch {
  InputBatch batch = {};
  UpdateOptions update = {};
  bool last = true;  // Whether it is the last of its step, which updates.
  bool due = false;  // Whether something is due after its step.
};

// Borrows its arguments. Batches that were read ahead and not begun are not applied. Not
// thread-safe.
class BatchPipeline {
 public:
  BatchPipeline(Backend& backend, BatchReader& reader, Input& input, Communicator& ranks,
                StepRecorder& recorder, PipelineOptions options);

  // Waits for input only if nothing is in flight. kGo means that the next batch of a training that
  // has done `steps` steps is in flight, and that current() returns it. kFailed means that
  // input_status() has the reason. Returns an error if the backend does not accept a batch, or if a
  // rank ended.
  absl::StatusOr<Agreed> Advance(uint64_t steps);
  // Valid until the next Advance().
  const PipelinedBatch& current() const { return current_; }
  // Returns the result of current(). Call it once.
  absl::StatusOr<StepResult> Finish();
  // The error of this rank's input; OK if the input of another rank failed.
  const absl::Status& input_status() const { return input_status_; }

 private:
  bool Stops() const { return options_.should_stop && options_.should_stop(); }
  bool HasRoom() const;
  // Whether another batch may be read and staged.
  bool CanStage() const;
  // Reads a batch and stages it, or finds the end of the input.
  absl::Status Stage();
  absl::Status StageWhatIsReady();
  absl::Status SendHeld();
  // Stages a batch that was read.
  absl::Status Give(PipelinedBatch next);
  absl::Status Give(PipelinedBatch next, const BatchRows& rows);
  absl::Status Begin();
  // Begins the first `batches` staged batches, and holds the others.
  absl::Status BeginOnly(uint64_t batches);
  // This rank's intent for the next batch.
  absl::StatusOr<Intent> OwnIntent();
  absl::StatusOr<Agreed> AgreeOnNext();
  // Position of the next batch.
  uint64_t position() const { return staged_.empty() ? 0 : staged_.front().batch.first_position; }
  // Prepares the batches after current() as far as possible.
  absl::Status GoAhead();
  bool DueUnderWay() const;
  // Whether batches may be begun ahead; the same on all ranks.
  bool MayBeginAhead() const;
  // The number of batches that this rank would begin ahead: all staged ones, or none.
  uint64_t BatchesToBegin() const;
  absl::Status BeginAhead();
  // Does `work` for a later batch. The time counts as compute if the device is busy until the end.
  absl::Status DoBeside(absl::FunctionRef<absl::Status()> work);

  Backend& backend_;
  BatchReader& reader_;
  Input& input_;
  Communicator& ranks_;
  StepRecorder& recorder_;
  const PipelineOptions options_;
  PipelinedBatch current_;
  // The batches that were read, in this order. Held batches wait because other ranks did not have
  // theirs yet.
  std::deque<PipelinedBatch> begun_, staged_, held_;
  uint64_t next_step_ = 0;       // Step of the next batch to stage; counts from 1.
  uint64_t next_batch_ = 1;      // Number of that batch in its step; counts from 1.
  std::optional<Intent> ended_;  // The intent with which reading ended.
  absl::Status input_status_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_BATCH_PIPELINE_H_
