// The interface between a training and the backend that computes its steps.
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

// The options of one update.
struct UpdateOptions {
  double learning_rate = 1e-3;
  double decay_rate = 0.01;  // Weight decay per step, times the learning rate; for matrices only.
  double clip_norm = 0;      // Global norm that gradients are scaled down to; 0 means no limit.
  size_t global_rows = 0;    // Rows of all ranks together; 0 means that this rank has all rows.
  size_t batches = 1;        // Batches that the update averages, including Step()'s own.
  uint64_t random_key = 0;   // Key of this batch's dropout: a hash of seed, step and batch.
};

struct StepResult {
  double loss = 0;  // Mean over the rows, before the update; summed in double in row order.
  double gradient_norm = 0;  // Global norm of the gradient before clipping.
};

// Describes the place of the work, and everything that the bits of a step depend on besides the
// state and the batch.
struct BackendDescription {
  std::string place;         // "2 threads"
  std::string numerics;      // "cpu onednn avx512"
  std::string math_library;  // "oneDNN 2.6.3"
  std::string gemm_plan;     // "onednn sgemm, isa 0xfef"
  size_t block_rows = 0;     // Number of samples that are computed together.
  size_t threads = 0;        // Number of the tracer's tracks besides track 0.
  bool gpu = false;          // Whether a device computes, besides the host.
};

// Not thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // Does the forward, the backward and the update. `rows` are this rank's rows. All ranks must call
  // this, and all get the same result. kInvalidArgument: no rows, no targets, or rows that the
  // backend was not made for. kFailedPrecondition: the loss or a gradient is not finite; the state
  // is unchanged. If batches may be begun ahead, every later step also fails, until SetState().
  // kUnavailable: another rank ended; the state is unchanged.
  virtual absl::StatusOr<StepResult> Step(const BatchRows& rows, const UpdateOptions& update) = 0;

  // Does the forward and the backward of one of the update.batches batches of a step. Step() takes
  // the last of them. Every batch has the same weight, whatever its number of rows. Returns its
  // loss. Errors are those of Step(), and kUnimplemented: this backend cannot accumulate.
  virtual absl::StatusOr<double> Accumulate(const BatchRows& rows, const UpdateOptions& update) {
    (void)rows, (void)update;
    return absl::UnimplementedError("this backend cannot accumulate batches (--accumulate)");
  }

  // These calls split a step, so that a device is sent the next batch while it computes. Stage()
  // takes a batch: its input is borrowed until its Finish(), its targets only during the call;
  // `last` marks the batch that updates. Begin() starts all staged batches. Finish() waits for the
  // oldest one begun. One rank alone may begin batches before older ones are finished. Several
  // ranks may if RanksBeginAhead() is true, and all must begin the same batches. Errors are those
  // of Step(). Step(), Predict(), SetState() and State() may be called only while no batch is under
  // way.
  virtual absl::Status Stage(const BatchRows& rows, const UpdateOptions& update, bool last);
  virtual absl::Status Begin() { return absl::OkStatus(); }
  // Forgets the batches that are staged and not begun, except for the first `batches`.
  virtual void Unstage(size_t batches) {
    if (batches == 0) staged_.reset();
  }
  virtual absl::StatusOr<StepResult> Finish();
  // Whether a device still computes the batch that the next Finish() waits for. False while it only
  // waits for other ranks.
  virtual bool IsBusy() { return false; }
  // Whether several ranks may begin batches before older ones are finished. All ranks return the
  // same.
  virtual bool RanksBeginAhead() const { return false; }
  // Allocator for the slots of the input: batches in its memory are sent without a copy on the
  // host. Null means that any memory will do. The allocator lives as long as the backend.
  virtual SlotAllocator* slot_allocator() { return nullptr; }
  // Number of batches that can be staged now.
  virtual size_t room() const { return staged_.has_value() ? 0 : 1; }

  // Numbers per row in predictions: ModelConfig::results().
  virtual size_t results() const { return 1; }
  // Number of classes of an image model; 0 for a model of boards.
  virtual size_t classes() const { return 0; }

  // Does the forward only, and writes predictions (rows.rows, results()). If a result is a loss,
  // `rows` needs targets. Does not involve other ranks: with its part of `global_rows` a rank
  // computes the same bits that one rank alone would.
  virtual absl::Status Predict(const BatchRows& rows, std::span<float> predictions,
                               size_t global_rows) = 0;

  // Sets the state, whose arenas are laid out by table().
  virtual absl::Status SetState(TrainState state) = 0;
  // The returned state is valid until the next call of Step() or SetState().
  virtual absl::StatusOr<const TrainState*> State() = 0;
  virtual uint64_t steps() const = 0;  // Number of applied updates: the state's step.

  // Notified when a step waits for other ranks or a device; may be null.
  virtual void set_recorder(StepRecorder* recorder) = 0;
  // `tracer` may be null; then nothing is traced.
  virtual void set_tracer(Tracer* tracer) = 0;
  // Gives `profile` a recorder of the device, and reports queued work to it. The recorder must not
  // outlive the backend. Null ends the current recording and the reports. Call it with null only
  // after the last step, because it abandons an exchange that is under way.
  virtual void set_device_profile(DeviceProfile* profile) { (void)profile; }

  // Bytes of host memory that training on rows of this format takes, by purpose.
  virtual std::vector<MemoryUse> MemoryUses(InputFormat format, size_t global_rows) = 0;

  virtual const ParameterTable& table() const = 0;
  virtual size_t shards() const = 0;  // Number of virtual shards of all ranks.
  virtual BackendDescription Describe() const = 0;
  // Chooses how to compute products. May time them if results may depend on that. One rank calls
  // this, and the others adopt its plan. Call it before the state is set and before the first step.
  virtual absl::Status ChooseGemmPlan() { return absl::OkStatus(); }
  // Makes later products use `plan`, the gemm_plan that another rank or run described. Call it
  // before the first step. kFailedPrecondition: this backend cannot follow the plan; nothing
  // changes.
  virtual absl::Status AdoptGemmPlan(const std::string& plan);
  // The last step's predictions of this rank's rows, and its targets of all ranks' rows in row
  // order.
  virtual std::span<const float> predictions() const = 0;
  virtual std::span<const float> global_targets() const = 0;

 private:
  // A staged batch of a backend that sends nothing ahead. Finish() then does all the work.
  struct Staged {
    BatchRows rows;
    UpdateOptions update;
    bool last;
    std::vector<float> targets;  // A copy, because Stage() borrows targets only during the call.
  };
  std::optional<Staged> staged_;
};

// kFailedPrecondition unless the loss of step `step` is finite and its gradient's norm at most
// reference::kLargestGradientNorm.
absl::Status CheckFinite(uint64_t step, const StepResult& result);

// Sums the losses of rows in double, in row order. Each row has `results` numbers.
template <typename T>
double LossSum(size_t results, const std::vector<T>& predictions, const std::vector<T>& targets) {
  if (results == 1) {
    return reference::SquaredErrorSum(predictions.data(), targets.data(), targets.size());
  }
  double sum = 0;
  for (size_t i = 0; i < targets.size(); ++i) sum += predictions[i * results];
  return sum;
}

// kInvalidArgument: a result is a loss, but `rows` has no targets.
absl::Status CheckJudged(size_t results, const BatchRows& rows);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_BACKEND_H_
