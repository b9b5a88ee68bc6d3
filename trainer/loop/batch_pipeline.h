// Batches from the input to the backend: the next ones are read and sent while one is computed.
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
  uint64_t accumulate = 1;   // Batches of a step.
  uint64_t total_steps = 0;  // 0: until the input ends.
  // Of batch `batch` (counted from 1) of the step after `steps` of them.
  std::function<UpdateOptions(uint64_t steps, uint64_t batch)> update = {};
  // Whether something is due after step `step`: none is begun before that is done.
  std::function<bool(uint64_t step)> is_due = {};
  std::function<bool()> should_stop = {};
};

// One that was begun.
struct PipelinedBatch {
  InputBatch batch = {};
  UpdateOptions update = {};
  bool last = true;  // Of its step: it updates.
  bool due = false;  // Something is, after its step.
};

// Borrows everything it is given. What is read ahead and not begun is not applied. Not thread-safe.
class BatchPipeline {
 public:
  BatchPipeline(Backend& backend, BatchReader& reader, Input& input, Communicator& ranks,
                StepRecorder& recorder, PipelineOptions options);

  // Waits for input only where nothing is under way. kGo: the next batch of a training of `steps`
  // steps is under way, and current(). kFailed: see input_status(). An error: of a batch that the
  // backend does not take, or of a rank that ended.
  absl::StatusOr<Agreed> Advance(uint64_t steps);
  // Until the next Advance().
  const PipelinedBatch& current() const { return current_; }
  // What its computation gave. Call it once.
  absl::StatusOr<StepResult> Finish();
  // Why this rank's input failed; OK if another's did.
  const absl::Status& input_status() const { return input_status_; }

 private:
  bool Stops() const { return options_.should_stop && options_.should_stop(); }
  bool HasRoom() const;
  // Another one may be read and staged.
  bool CanStage() const;
  // Reads a batch and has the backend take it; or finds the end.
  absl::Status Stage();
  absl::Status StageWhatIsReady();
  absl::Status SendHeld();
  // Has the backend take one that was read.
  absl::Status Give(PipelinedBatch next);
  absl::Status Give(PipelinedBatch next, const BatchRows& rows);
  absl::Status Begin();
  // Begins the first `batches` of those that are staged, and holds the others.
  absl::Status BeginOnly(uint64_t batches);
  // What this rank has to say of the next batch.
  absl::StatusOr<Intent> OwnIntent();
  absl::StatusOr<Agreed> AgreeOnNext();
  // Where the next batch is.
  uint64_t position() const { return staged_.empty() ? 0 : staged_.front().batch.first_position; }
  // What can be done for the batches after current().
  absl::Status GoAhead();
  bool DueUnderWay() const;
  // The same on all ranks.
  bool MayBeginAhead() const;
  // What this rank would begin ahead: all that are staged, or none.
  uint64_t BatchesToBegin() const;
  absl::Status BeginAhead();
  // Does `work` for a later batch, in time that a device which is busy to its end does not miss.
  absl::Status DoBeside(absl::FunctionRef<absl::Status()> work);

  Backend& backend_;
  BatchReader& reader_;
  Input& input_;
  Communicator& ranks_;
  StepRecorder& recorder_;
  const PipelineOptions options_;
  PipelinedBatch current_;
  // In this order. Those that are held were read, and other ranks did not have them yet.
  std::deque<PipelinedBatch> begun_, staged_, held_;
  uint64_t next_step_ = 0;       // Whose batch is staged next; counted from 1.
  uint64_t next_batch_ = 1;      // Of that step; counted from 1.
  std::optional<Intent> ended_;  // What reading ended with.
  absl::Status input_status_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_BATCH_PIPELINE_H_
