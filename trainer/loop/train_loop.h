// The training of one rank: reads batches and applies updates.
#ifndef PENSTOCK_TRAINER_LOOP_TRAIN_LOOP_H_
#define PENSTOCK_TRAINER_LOOP_TRAIN_LOOP_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/backend/backend.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/comm/communicator.h"
#include "trainer/input/batch_reader.h"
#include "trainer/input/input.h"
#include "trainer/loop/batch_digest.h"
#include "trainer/loop/batch_pipeline.h"
#include "trainer/loop/evaluate.h"
#include "trainer/optimizer/learning_rate.h"
#include "trainer/profile/phase.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {

// A step that was not applied, because its loss or gradient is not finite; or a step whose weights
// are not saved, because no training can continue after it. Borrows the batch.
struct Divergence {
  uint64_t step = 0;  // Number of steps applied before it.
  const InputBatch& batch;
  std::span<const float> predictions;  // Backend::results() numbers for each row of the batch.
  absl::string_view problem;
};

// A finished step.
struct StepReport {
  uint64_t step = 0;         // Applied steps including this one, over all runs of the training.
  uint64_t total_steps = 0;  // Steps of the whole training; 0 if unknown.
  size_t rows = 0;           // Rows of all ranks; the loss is also over all ranks.
  double loss = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  std::chrono::nanoseconds wait{};     // Time spent waiting for input.
  std::chrono::nanoseconds compute{};  // The rest of the step's time.
  PhaseTimes times = {};               // Both times, by phase. Output that follows is not included.
};

// The state of a run so far.
struct TrainSummary {
  uint64_t first_step = 0;  // Steps applied before this run.
  uint64_t step = 0;        // Steps applied, over all runs.
  uint64_t rows = 0;        // Rows trained on in this run, on all ranks.
  double loss_start = 0;    // Mean over the run's first steps, at most kLossSteps.
  double loss_end = 0;      // Mean over the run's last steps, at most kLossSteps.
  std::chrono::nanoseconds wait{};
  std::chrono::nanoseconds compute{};
  PhaseTimes times;            // Times of all of Run(), including evaluations and saving.
  std::string digest;          // BatchDigest of this rank's rows in this run; "" unless enabled.
  std::string cursor;          // Position after the last applied step.
  bool stopped = false;        // Whether should_stop() ended the run.
  bool early_stopped = false;  // Whether evaluations without improvement ended it.
  std::optional<BestEvaluation> best;    // The best evaluation of all runs.
  std::optional<Evaluation> evaluation;  // The last evaluation.

  double seconds() const { return std::chrono::duration<double>(wait + compute).count(); }
  double rows_per_second() const;
  double wait_share() const;
};

struct TrainLoopOptions {
  LearningRateSchedule schedule = {};
  double decay_rate = 0.01;
  double clip_norm = 0;
  uint64_t total_steps = 0;  // Steps over all runs; 0 means until the input ends.
  // Batches per step. Batches left at the end that do not make a step count only in the digest.
  uint64_t accumulate = 1;
  bool digest = false;

  uint64_t checkpoint_every = 0;  // Interval in steps; 0 means only at the end.
  uint64_t eval_every = 0;        // Interval in steps; 0 means only at the end.
  // The number of evaluations in a row without improvement that ends the training; 0 means that
  // none does.
  uint64_t early_stop = 0;
  const CheckpointFolder* checkpoints = nullptr;  // If null, this rank writes none.
  // The ranks of the training, which all run this loop; must outlive it. Null means a single rank.
  Communicator* ranks = nullptr;
  bool rank_0_saves = false;  // If true, all ranks first compare their states.
  // Combines all ranks' cursors for a checkpoint. All ranks call it. If it is empty, rank 0's
  // cursor is used, because all are equal.
  std::function<absl::StatusOr<std::string>(const std::string& own)> gather_cursors = {};
  // Whether weights differ between ranks, so that one may diverge alone.
  bool ranks_differ = false;
  bool holdout_apart = false;  // Whether every rank reads its own holdout records.
  // Opens the holdout records anew. If it is empty, there is no evaluation.
  std::function<absl::StatusOr<std::unique_ptr<Input>>()> open_holdout = {};

  std::function<void(const StepReport&)> on_step = {};
  std::function<void(uint64_t step, const Evaluation&)> on_evaluation = {};
  std::function<void()> on_checkpoint = {};  // Called after this rank has written a checkpoint.
  // Called with the batch on which a training diverges. The result is appended to the error. Unless
  // ranks_differ, no rank ends before the call has returned on all ranks.
  std::function<std::string(const Divergence&)> on_divergence = {};
  StepRecorder* recorder = nullptr;  // If null, the loop uses its own.
  // Polled between steps, and between the batches of an evaluation. Steps in progress, including
  // those begun together, are always finished.
  std::function<bool()> should_stop = {};
};

inline constexpr size_t kLossSteps = 10;

// Returns the key of the numbers that dropout draws in batch `batch` of the update that follows
// `steps` applied ones.
uint64_t DropoutKey(uint64_t seed, uint64_t steps, uint64_t batch);

// Borrows its arguments. `info` has a checkpoint's data besides the state. It is that of the
// resumed checkpoint, or has zero steps. Not thread-safe.
class TrainLoop {
 public:
  TrainLoop(Backend& backend, BatchReader& reader, Input& input, CheckpointInfo info,
            TrainLoopOptions options);

  // Trains until the end of the input, total_steps, evaluations without improvement, or
  // should_stop(). Saves and evaluates at the end; a stopped run is saved, but not evaluated. A run
  // that ends with an error of its input or of the holdout records is saved too. A run that
  // diverged (by a step, an evaluation or its weights) is not saved, so that it removes no good
  // checkpoint. The model with the lowest holdout loss is saved as the best.
  absl::StatusOr<TrainSummary> Run();

 private:
  // RunSteps() runs the steps with the schedules between them; Finish() does the work at the end.
  absl::Status RunSteps();
  absl::Status Finish();
  absl::StatusOr<bool> RunStep();
  // Returns false if all ranks agree that there are no more batches.
  absl::StatusOr<bool> NextBatch();
  absl::Status InputFailed(const absl::Status& status);
  // Trains on one batch of a step, from the pipeline.
  absl::Status TrainOn(const PipelinedBatch& next, StepReport& report);
  PipelineOptions ForPipeline();
  bool IsDue(uint64_t step) const;
  bool EvaluationIsDue() const;
  // Does the evaluation after the previous run's last step, if that run was stopped during it.
  absl::Status CatchUp();
  absl::Status RunSchedules();
  absl::Status RunEvaluation();
  // `together` is as in Evaluate().
  absl::StatusOr<Evaluation> EvaluateHoldout(bool& together);
  absl::Status EvaluationDiverged(const Evaluation& evaluation);
  // Keeps the best evaluation, and counts the later ones without improvement.
  absl::Status Judge(const Evaluation& evaluation);
  absl::Status Diverged(const absl::Status& status, const InputBatch& batch);
  // Returns text about the records that the training diverged on. It is empty if `batch` is gone,
  // or has no row of this rank.
  std::string ListRecords(const InputBatch& batch, uint64_t step, absl::string_view problem);
  using SaveMethod = absl::Status (CheckpointFolder::*)(const CheckpointInfo&,
                                                        const ParameterTable&,
                                                        const TrainState&) const;
  absl::Status SaveBy(SaveMethod save);
  absl::Status Save();
  bool Alone() const { return ranks_.size() == 1; }
  void Record(const StepReport& report);
  bool EarlyStopped() const;
  bool IsDone() const;

  Backend& backend_;
  BatchReader& reader_;
  CheckpointInfo info_;
  TrainLoopOptions options_;
  SingleCommunicator alone_;
  Communicator& ranks_;
  StepRecorder own_recorder_;
  StepRecorder& recorder_;
  BatchPipeline pipeline_;
  std::optional<BatchDigest> digest_;
  TrainSummary summary_;
  double score_sum_ = 0;  // The sum in info_, plus the batches of the step in progress.
  double first_losses_ = 0;
  std::deque<double> last_losses_;
  bool unsaved_ = false;
  uint64_t evaluated_step_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_TRAIN_LOOP_H_
