// Batches in, updates out: one rank's training.
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

// A step whose loss or gradient is not finite; it was not applied. Or one that left weights that no
// step can go on from; they are not saved. Borrows the batch.
struct Divergence {
  uint64_t step = 0;  // Steps applied before it.
  const InputBatch& batch;
  std::span<const float> predictions;  // Of the batch's rows, Backend::results() each.
  absl::string_view problem;
};

// One finished step.
struct StepReport {
  uint64_t step = 0;         // Steps applied, this one included; over all runs of the training.
  uint64_t total_steps = 0;  // 0: unknown.
  size_t rows = 0;           // Of all ranks, as is the loss.
  double loss = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  std::chrono::nanoseconds wait{};     // For input.
  std::chrono::nanoseconds compute{};  // Everything else of the step.
  PhaseTimes times = {};               // The same by phase. Its output is still to come.
};

// A run so far.
struct TrainSummary {
  uint64_t first_step = 0;  // Steps applied before this run.
  uint64_t step = 0;        // Steps applied.
  uint64_t rows = 0;        // Trained on in this run, by all ranks.
  double loss_start = 0;    // Mean over the run's first steps, at most kLossSteps of them.
  double loss_end = 0;      // And over its last.
  std::chrono::nanoseconds wait{};
  std::chrono::nanoseconds compute{};
  PhaseTimes times;                      // All of Run(), evaluations and saving included.
  std::string digest;                    // Of this run's rows of this rank, in order, if asked.
  std::string cursor;                    // After the last applied step.
  bool stopped = false;                  // should_stop() ended it.
  bool early_stopped = false;            // Evaluations that were no better did.
  std::optional<BestEvaluation> best;    // Over all runs.
  std::optional<Evaluation> evaluation;  // The last one.

  double seconds() const { return std::chrono::duration<double>(wait + compute).count(); }
  double rows_per_second() const;
  double wait_share() const;
};

struct TrainLoopOptions {
  LearningRateSchedule schedule = {};
  double decay_rate = 0.01;
  double clip_norm = 0;
  uint64_t total_steps = 0;  // Over all runs; 0: until the input ends.
  // Batches of a step; those that are left at the end and make none count in the digest alone.
  uint64_t accumulate = 1;
  bool digest = false;

  uint64_t checkpoint_every = 0;  // Steps; 0: at the end alone.
  uint64_t eval_every = 0;        // Steps; 0: at the end alone.
  uint64_t early_stop = 0;        // Evaluations in a row that are no better end it; 0: none do.
  const CheckpointFolder* checkpoints = nullptr;  // Null: none are written here.
  // The ranks of the training, which all run this loop; must outlive it. Null: one alone.
  Communicator* ranks = nullptr;
  bool rank_0_saves = false;  // Then all compare their state first.
  // Of all ranks' cursors what a checkpoint holds; called by all. Empty: rank 0's, as all are
  // alike.
  std::function<absl::StatusOr<std::string>(const std::string& own)> gather_cursors = {};
  bool ranks_differ = false;   // Their weights do, so that one may diverge alone.
  bool holdout_apart = false;  // Every rank reads held-out records of its own.
  // Opens the held-out records anew; empty: no evaluation.
  std::function<absl::StatusOr<std::unique_ptr<Input>>()> open_holdout = {};

  std::function<void(const StepReport&)> on_step = {};
  std::function<void(uint64_t step, const Evaluation&)> on_evaluation = {};
  // Told of the batch that a training diverges on; what it returns is added to the error. No rank
  // ends before it has returned on all, unless ranks_differ.
  std::function<std::string(const Divergence&)> on_divergence = {};
  StepRecorder* recorder = nullptr;  // Null: one of the loop's own.
  // Asked between steps, and between the batches of an evaluation. What is in progress, a step or
  // those that were begun together, is always finished.
  std::function<bool()> should_stop = {};
};

inline constexpr size_t kLossSteps = 10;

// Borrows everything it is given. `info` is what a checkpoint says besides the state: of the one
// resumed from, or with zero steps. Not thread-safe.
class TrainLoop {
 public:
  TrainLoop(Backend& backend, BatchReader& reader, Input& input, CheckpointInfo info,
            TrainLoopOptions options);

  // Trains to the end of the input, to total_steps, until evaluations get no better or until
  // should_stop(); saves and evaluates at the end (a stopped run is saved, not evaluated). A run
  // that its input or the held-out records end with an error is saved too; one that diverged, by a
  // step, an evaluation or its weights, is not, so that it pushes out no good checkpoint. The
  // lowest held-out loss is saved as the best.
  absl::StatusOr<TrainSummary> Run();

 private:
  // Steps and what is due between them; then what is due at the end.
  absl::Status RunSteps();
  absl::Status Finish();
  absl::StatusOr<bool> RunStep();
  // False: no more, agreed by all ranks.
  absl::StatusOr<bool> NextBatch();
  absl::Status InputFailed(const absl::Status& status);
  // The pipeline's one: one of a step's batches.
  absl::Status TrainOn(const PipelinedBatch& next, StepReport& report);
  PipelineOptions ForPipeline();
  bool IsDue(uint64_t step) const;
  bool EvaluationIsDue() const;
  // What the run before this one was to do after its last step, and was stopped in.
  absl::Status CatchUp();
  absl::Status RunSchedules();
  absl::Status RunEvaluation();
  // `together` as Evaluate() has it.
  absl::StatusOr<Evaluation> EvaluateHoldout(bool& together);
  absl::Status EvaluationDiverged(const Evaluation& evaluation);
  // Keeps the best, and counts how often in a row there was none better.
  absl::Status Judge(const Evaluation& evaluation);
  absl::Status Diverged(const absl::Status& status, const InputBatch& batch);
  // What to tell of the records that the training diverged on; nothing if `batch` is no longer
  // there, or has no row of this rank.
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
  double score_sum_ = 0;  // info_'s, with the batches of a step that is under way.
  double first_losses_ = 0;
  std::deque<double> last_losses_;
  bool unsaved_ = false;
  uint64_t evaluated_step_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_TRAIN_LOOP_H_
