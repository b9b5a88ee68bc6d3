// Trains and evaluates a model on a device.
//
// As on the CPU a global batch is cut into V virtual shards whose gradients are merged in a fixed
// tree; a shard is one block here. Every shard is computed with the same shapes, rows that it lacks
// being padding of no weight, so that a step is always the same list of operations: it becomes a
// graph, and its bits depend neither on graphs nor on how ranks share the shards.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_BACKEND_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_BACKEND_H_

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/backend.h"
#include "trainer/backend/device/batch_sender.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_layout.h"
#include "trainer/backend/device/device_program.h"
#include "trainer/backend/device/device_state.h"
#include "trainer/backend/device/exchange_progress.h"
#include "trainer/backend/device/gradient_merge.h"
#include "trainer/backend/device/launch_thread.h"
#include "trainer/backend/device/pinned_slots.h"
#include "trainer/backend/device/step_lists.h"
#include "trainer/backend/device/training_memory.h"
#include "trainer/comm/communicator.h"

namespace penstock {

struct DeviceBackendOptions {
  size_t shards = 8;                   // V.
  size_t global_rows = 0;              // Of a batch of all ranks, at most.
  InputFormat format = kPackedBoards;  // Of all batches.
  bool bf16 = false;                   // Of activations and matrix products.
  bool graphs = true;
  size_t steps_per_launch = 1;   // K: so many steps may become one graph.
  double memory_fraction = 0.9;  // Of the device's memory that may be taken.
  // Shares the shards, as CpuBackendOptions has it; of host memory. Must outlive the backend. Null:
  // this process has all.
  Communicator* ranks = nullptr;
  bool fast_reduction = false;
  WireFloat wire = WireFloat::kFp32;  // How gradients travel with fast_reduction.
  // Gradients of so many floats or somewhat more travel as soon as they are computed, where
  // exchanges can be queued (Communicator::CanQueue()); 0: all at once. The bits are the same.
  size_t bucket_floats = 0;
  // Told what will be taken of the device, before it is. Empty: nobody is.
  std::function<void(const std::vector<MemoryUse>&)> on_memory = {};
};

// Two groups of K batches have slots: one is sent, and begun, while the other is computed. Ranks
// whose exchanges cannot be queued begin it later. Not thread-safe.
class DeviceBackend final : public Backend {
 public:
  // `gradient_ranks` are the same ranks as options.ranks, and carry the gradients; of either
  // memory; null: options.ranks do. kInvalidArgument: an impossible model, or one the kernels are
  // not made for, no shards or rows, ranks that cannot share them, or several steps a launch and
  // ranks whose exchanges cannot be queued. kResourceExhausted: not enough memory. kUnimplemented:
  // the device's library lacks a matrix product.
  static absl::StatusOr<std::unique_ptr<DeviceBackend>> Create(
      const ModelConfig& config, const DeviceBackendOptions& options,
      std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks = nullptr);
  ~DeviceBackend() override;

  // kInvalidArgument as well: rows of another format, or more of them than the backend is for.
  // After a batch that is not finite those that were begun change nothing either. Of one rank, or
  // where exchanges are queued, every later step fails then too, until SetState(). After an
  // exchange that was queued and broke off there is no state either.
  absl::StatusOr<StepResult> Step(const BatchRows& rows, const UpdateOptions& update) override;
  absl::StatusOr<double> Accumulate(const BatchRows& rows, const UpdateOptions& update) override;
  size_t results() const override { return config_.results(); }
  size_t classes() const override { return config_.classes; }
  // kInvalidArgument as well: images without their classes.
  absl::Status Predict(const BatchRows& rows, std::span<float> predictions,
                       size_t global_rows) override;

  absl::Status Stage(const BatchRows& rows, const UpdateOptions& update, bool last) override;
  absl::Status Begin() override;
  void Unstage(size_t batches) override;
  absl::StatusOr<StepResult> Finish() override;
  bool IsBusy() override;
  bool RanksBeginAhead() const override { return Overlaps(); }
  size_t room() const override;
  // Page-locked where that can be had.
  SlotAllocator* slot_allocator() override { return &pinned_slots_; }

  absl::Status SetState(TrainState state) override;
  absl::StatusOr<const TrainState*> State() override;
  uint64_t steps() const override { return state_.step; }

  void set_recorder(StepRecorder* recorder) override { recorder_ = recorder; }
  // Track 1 gets the device's steps, as the host sees them; the thread of launches has its own.
  void set_tracer(Tracer* tracer) override;

  std::vector<MemoryUse> MemoryUses(InputFormat format, size_t global_rows) override;
  const ParameterTable& table() const override { return layout_.model(); }
  size_t shards() const override { return shards_; }
  BackendDescription Describe() const override;
  absl::Status AdoptGemmPlan(const std::string& plan) override;
  std::span<const float> predictions() const override { return own_predictions_; }
  std::span<const float> global_targets() const override { return targets_; }

  void set_device_profile(DeviceProfile* profile) override;

  // What the device has.
  absl::StatusOr<TrainState> ReadState();
  // Of the last step, merged, before clipping; as table() lays them out.
  absl::StatusOr<std::vector<float>> ReadGradients();

 private:
  // A batch in its slot.
  struct Sent {
    size_t slot = 0;
    size_t rows = 0, global_rows = 0;
    BatchKind kind = {};
    uint64_t step = 0;  // Counted from 1.
    Tracer::Clock::time_point begun = {};
    bool done = false;  // The device is.
  };

  DeviceBackend(const ModelConfig& config, const DeviceBackendOptions& options,
                std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks);

  absl::Status Prepare();
  void FindBuckets();
  size_t LargestBucket() const;
  TrainingSizes Sizes();
  StepListBuilder Lists() const {
    return StepListBuilder(
        {*training_, *inference_, *memory_, *merge_, progress_, buckets_, *device_});
  }
  // Where exchanges are queued: whether those of the batch's step do nothing.
  bool IsSilent(const Sent& batch) const;
  StepLists& ListsOf(const Sent& batch);
  DeviceList& ListOfGroup();
  // Gradients travel while others are computed, as part of what is queued.
  bool Overlaps() const { return !merge_->alone() && merge_->ranks().CanQueue(); }

  size_t GroupOf(size_t slot) const { return slot / options_.steps_per_launch; }
  size_t EvaluationSlot() const { return kBatchGroups * options_.steps_per_launch; }
  absl::Status CheckRows(const BatchRows& rows, size_t global_rows) const;
  absl::StatusOr<StepResult> RunAlone(const BatchRows& rows, const UpdateOptions& update,
                                      bool last);
  // On the thread of launches.
  absl::Status LaunchStaged();
  absl::Status RunAndAwait(DeviceList& list, const Sent& batch, const char* what);
  absl::Status AwaitFirst(const Sent& batch);
  void MarkDone(const Sent& batch);
  absl::StatusOr<StepResult> FinishFirst(const Sent& batch);
  // What ranks add up together, and the update, where that was not queued before.
  absl::Status Update(const Sent& batch);
  absl::Status AwaitExchange(const Sent& batch);
  // Until nothing waits for other ranks. All of them have begun the same batches.
  absl::Status AwaitExchanges();
  // Of those that were begun together with `batch`.
  const Sent& NewestThatExchanges(const Sent& batch) const;
  const Sent& LastOfGroup(const Sent& batch) const;
  absl::StatusOr<double> GatherLoss(const Sent& batch);
  // Ends what is under way, and forgets it; `why` is told to who waits for it. `broken`: something
  // may be queued that is not under way.
  absl::Status Drop(const absl::Status& why, bool broken = false);
  void EndGraphs();
  absl::Status CheckIdle() const;
  uint64_t NextStep() const;  // Whose batch is staged next; counted from 1.
  void Trace(const Sent& batch);
  bool EndsProfile(const Sent& batch) const;
  // Ends what is recorded. REQUIRES: a profile.
  void EndProfile();

  const ModelConfig config_;
  const DeviceBackendOptions options_;
  const DeviceLayout layout_;
  const size_t shards_;
  const std::unique_ptr<Device> device_;
  PinnedSlots pinned_slots_;
  SingleCommunicator alone_;
  Communicator& ranks_;
  const std::unique_ptr<Communicator> gradient_ranks_;  // May be null.
  const std::unique_ptr<GradientMerge> merge_;
  const SlotLayout slot_;
  ExchangeProgress progress_;
  // Set by Prepare().
  std::vector<GradientBucket> buckets_;
  std::optional<DeviceProgram> training_, inference_;
  std::optional<TrainingMemory> memory_;
  std::optional<BatchSender> sender_;
  std::optional<DeviceState> device_state_;
  // Made at first use, of each slot; the second half is for exchanges that do nothing.
  std::vector<std::array<std::optional<StepLists>, 2 * kBatchKinds>> lists_;
  std::array<std::array<DeviceList, 2>, kBatchGroups> launches_;  // Of whole groups, as lists_.
  DeviceList inference_list_;

  std::deque<Sent> staged_, begun_;
  size_t group_ = 0;           // Whose slots are filled next.
  bool between_steps_ = true;  // The batch that is staged next is a step's first.
  bool has_launched_ = false;
  TrainState state_;
  bool state_is_here_ = false;  // Else the device has it, except for the step.
  absl::Status state_lost_;     // Why nobody has it.
  std::vector<float> predictions_, targets_;
  std::span<const float> own_predictions_;
  StepRecorder* recorder_ = nullptr;
  Tracer* tracer_ = nullptr;
  DeviceProfile* profile_ = nullptr;
  Tracer::Clock::time_point last_end_ = {};
  LaunchThread launcher_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_BACKEND_H_
