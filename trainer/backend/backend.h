// What a training needs of whatever computes its steps.
#ifndef PENSTOCK_TRAINER_BACKEND_BACKEND_H_
#define PENSTOCK_TRAINER_BACKEND_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/loader/slot_allocator.h"
#include "kernels/reference/loss.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/backend/train_state.h"
#include "trainer/model/parameter_table.h"
#include "trainer/profile/device_profile.h"
#include "trainer/profile/memory_table.h"
#include "trainer/profile/step_recorder.h"
#include "trainer/profile/tracer.h"

namespace penstock {

// One update's numbers.
struct UpdateOptions {
  double learning_rate = 1e-3;
  double decay_rate = 0.01;  // Times the learning rate; on matrices only.
  double clip_norm = 0;      // Global norm that gradients are scaled down to; 0: no limit.
  size_t global_rows = 0;    // Of all ranks together; 0: those of this one are all.
  size_t batches = 1;        // Whose mean gradient the update takes: Accumulate()'s and Step()'s.
  uint64_t random_key = 0;   // Of what this batch leaves out; a hash: of seed, step and batch.
};

struct StepResult {
  double loss = 0;           // Mean over the rows before the update; summed in double in row order.
  double gradient_norm = 0;  // Before clipping.
};

// Where the work is done, and what the bits of a step depend on besides the state and the batch.
struct BackendDescription {
  std::string place;         // "2 threads"
  std::string numerics;      // "cpu onednn avx512"
  std::string math_library;  // "oneDNN 2.6.3"
  std::string gemm_plan;     // "onednn sgemm, isa 0xfef"
  size_t block_rows = 0;     // Samples computed together.
  size_t threads = 0;        // Tracks of the tracer beside track 0.
  bool gpu = false;          // A device's, beside the host.
};

// Not thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // Forward, backward, update. `rows` are this rank's. All ranks call it, and get the same result.
  // kInvalidArgument: no rows or no targets, or rows that the backend was not made for.
  // kFailedPrecondition: the loss or a gradient is not finite; the state is unchanged.
  // Where batches may be begun ahead every later step fails then too, until SetState().
  // kUnavailable: another rank ended; the state is unchanged.
  virtual absl::StatusOr<StepResult> Step(const BatchRows& rows, const UpdateOptions& update) = 0;

  // Forward and backward of one of update.batches batches, each of which counts alike, whatever its
  // rows; the last is Step()'s. Its loss. Errors as Step(); kUnimplemented: this backend cannot.
  virtual absl::StatusOr<double> Accumulate(const BatchRows& rows, const UpdateOptions& update) {
    (void)rows, (void)update;
    return absl::UnimplementedError("this backend adds up no batches");
  }

  // A batch in three parts, so that a device is sent the next one while it computes. Stage() takes
  // one, whose rows are borrowed until its Finish(), targets only in the call; `last`: of its step,
  // the one that updates. Begin() has all computed that are staged. Finish() waits for the oldest
  // that was begun. One rank alone may begin batches before older ones are finished; several where
  // RanksBeginAhead() says so, all the same ones. Errors as Step(), which like Predict(),
  // SetState() and State() is called while none is under way.
  virtual absl::Status Stage(const BatchRows& rows, const UpdateOptions& update, bool last);
  virtual absl::Status Begin() { return absl::OkStatus(); }
  // Forgets what is staged and not begun, but for the first `batches`.
  virtual void Unstage(size_t batches) {
    if (batches == 0) staged_.reset();
  }
  virtual absl::StatusOr<StepResult> Finish();
  // Whether a device still computes the batch whose Finish() is next; not that it waits for ranks.
  virtual bool IsBusy() { return false; }
  // Whether several ranks may begin batches before older ones are finished. The same on all.
  virtual bool RanksBeginAhead() const { return false; }
  // For the slots of the input: batches are sent from its memory without a copy on the host. Null:
  // any memory is as good. Lives as long as the backend.
  virtual SlotAllocator* slot_allocator() { return nullptr; }
  // Batches that can be staged now.
  virtual size_t room() const { return staged_.has_value() ? 0 : 1; }

  // Numbers of a row in predictions: ModelConfig::results().
  virtual size_t results() const { return 1; }
  virtual size_t classes() const { return 0; }  // Of images; 0: boards.

  // Forward alone: predictions (rows.rows, results()); where a result is a loss, of the targets.
  // Needs no other rank; with its part of `global_rows` a
  // rank computes the bits that one rank alone would.
  virtual absl::Status Predict(const BatchRows& rows, std::span<float> predictions,
                               size_t global_rows) = 0;

  // Arenas laid out by table().
  virtual absl::Status SetState(TrainState state) = 0;
  // Valid until the next call of Step() or SetState().
  virtual absl::StatusOr<const TrainState*> State() = 0;
  virtual uint64_t steps() const = 0;  // Updates applied: the state's step.

  // Told when a step waits for other ranks or a device. Null: nobody is.
  virtual void set_recorder(StepRecorder* recorder) = 0;
  // Null: nothing is traced.
  virtual void set_tracer(Tracer* tracer) = 0;
  // Gives a device's recorder, which lives as long as the backend at most, and tells what it
  // queues. Null: ends what is recorded still, and tells nobody any more; after the last step, for
  // an exchange that is under way is given up.
  virtual void set_device_profile(DeviceProfile* profile) { (void)profile; }

  // Bytes of host memory that training on rows of this format takes, by what they are for.
  virtual std::vector<MemoryUse> MemoryUses(InputFormat format, size_t global_rows) = 0;

  virtual const ParameterTable& table() const = 0;
  virtual size_t shards() const = 0;  // Virtual ones, of all ranks.
  virtual BackendDescription Describe() const = 0;
  // From now on multiplies as `plan` says, the gemm_plan that another rank or run described. Before
  // the first step. kFailedPrecondition: it cannot; nothing is changed.
  virtual absl::Status AdoptGemmPlan(const std::string& plan);
  // Of the last step: of this rank's rows, and the targets of all ranks' rows in their order.
  virtual std::span<const float> predictions() const = 0;
  virtual std::span<const float> global_targets() const = 0;

 private:
  // Where nothing is sent ahead: Finish() does it all.
  struct Staged {
    BatchRows rows;
    UpdateOptions update;
    bool last;
    std::vector<float> targets;  // Copied.
  };
  std::optional<Staged> staged_;
};

// kFailedPrecondition unless the loss of step `step` is finite and its gradient's norm at most
// reference::kLargestGradientNorm.
absl::Status CheckFinite(uint64_t step, const StepResult& result);

// The losses of rows, summed in double in their order: of `results` numbers a row.
template <typename T>
double LossSum(size_t results, const std::vector<T>& predictions, const std::vector<T>& targets) {
  if (results == 1) {
    return reference::SquaredErrorSum(predictions.data(), targets.data(), targets.size());
  }
  double sum = 0;
  for (size_t i = 0; i < targets.size(); ++i) sum += predictions[i * results];
  return sum;
}

// kInvalidArgument unless rows whose results are a loss have targets.
absl::Status CheckJudged(size_t results, const BatchRows& rows);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_BACKEND_H_
