// Trains and evaluates a model on a device.
//
// As on the CPU, a global batch is cut into V virtual shards whose gradients are merged in a fixed
// tree. Here a shard is one block. Every shard is computed with the same shapes; missing rows are
// padding of weight 0. A step is therefore always the same list of operations. It becomes a graph,
// and its bits depend neither on graphs nor on how ranks divide the shards.
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
  size_t shards = 8;                   // V, the number of virtual shards.
  size_t global_rows = 0;              // Most rows of a batch, over all ranks.
  InputFormat format = kPackedBoards;  // Format of all batches.
  bool bf16 = false;                   // Whether activations and matrix products use bf16.
  bool graphs = true;
  size_t steps_per_launch = 1;   // K: up to this many steps may become one graph.
  double memory_fraction = 0.9;  // Part of the device's memory that may be used.
  // Ranks that divide the shards as in CpuBackendOptions; they use host memory. Must outlive the
  // backend. If null, this process has all shards.
  Communicator* ranks = nullptr;
  bool fast_reduction = false;
  WireFloat wire = WireFloat::kFp32;  // Number format for sending, with fast_reduction.
  // If exchanges can be queued (Communicator::CanQueue()), gradients travel as soon as this many
  // floats, or somewhat more, are computed. 0 means that all travel at once. The bits are the same.
  size_t bucket_floats = 0;
  // Called with the planned memory of the device before it is taken; may be empty.
  std::function<void(const std::vector<MemoryUse>&)> on_memory = {};
};

// There are slots for two groups of K batches: one group is sent and begun while the other is
// computed. If exchanges cannot be queued, the second group is begun later. Not thread-safe.
class DeviceBackend final : public Backend {
 public:
  // `gradient_ranks` carry the gradients; they are the same ranks as options.ranks, and may use
  // either kind of memory. If null, options.ranks carry them. kInvalidArgument: an impossible model
  // or one the kernels do not support, no shards or rows, ranks that cannot divide the shards, or
  // several steps per launch with ranks whose exchanges cannot be queued. kResourceExhausted: not
  // enough memory. kUnimplemented: the device's library lacks a matrix product.
  static absl::StatusOr<std::unique_ptr<DeviceBackend>> Create(
      const ModelConfig& config, const DeviceBackendOptions& options,
      std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks = nullptr);
  ~DeviceBackend() override;

  // Also kInvalidArgument: rows of another format, or more of them than the backend was made for.
  // After a batch that is not finite, later batches already begun change nothing either. With one
  // rank or with queued exchanges, every later step then fails too, until SetState(). After a
  // queued exchange has failed, the state is lost too.
  absl::StatusOr<StepResult> Step(const BatchRows& rows, const UpdateOptions& update) override;
  absl::StatusOr<double> Accumulate(const BatchRows& rows, const UpdateOptions& update) override;
  size_t results() const override { return config_.results(); }
  size_t classes() const override { return config_.classes; }
  // Also kInvalidArgument: images without their classes.
  absl::Status Predict(const BatchRows& rows, std::span<float> predictions,
                       size_t global_rows) override;

  absl::Status Stage(const BatchRows& rows, const UpdateOptions& update, bool last) override;
  absl::Status Begin() override;
  void Unstage(size_t batches) override;
  absl::StatusOr<StepResult> Finish() override;
  bool IsBusy() override;
  bool RanksBeginAhead() const override { return Overlaps(); }
  size_t room() const override;
  // Page-locked memory if available.
  SlotAllocator* slot_allocator() override { return &pinned_slots_; }

  absl::Status SetState(TrainState state) override;
  absl::StatusOr<const TrainState*> State() override;
  uint64_t steps() const override { return state_.step; }

  void set_recorder(StepRecorder* recorder) override { recorder_ = recorder; }
  // Track 1 gets the device's steps as the host sees them. The launch thread has its own track.
  void set_tracer(Tracer* tracer) override;

  std::vector<MemoryUse> MemoryUses(InputFormat format, size_t global_rows) override;
  const ParameterTable& table() const override { return layout_.model(); }
  size_t shards() const override { return shards_; }
  BackendDescription Describe() const override;
  // Times products with fast_reduction only: otherwise two runs must have the same bits.
  absl::Status ChooseGemmPlan() override;
  absl::Status AdoptGemmPlan(const std::string& plan) override;
  std::span<const float> predictions() const override { return own_predictions_; }
  std::span<const float> global_targets() const override { return targets_; }

  void set_device_profile(DeviceProfile* profile) override;

  // Reads the state from the device.
  absl::StatusOr<TrainState> ReadState();
  // Gradients of the last step, merged, before clipping, in the layout of table().
  absl::StatusOr<std::vector<float>> ReadGradients();

 private:
  // A batch in its slot.
  struct Sent {
    size_t slot = 0;
    size_t rows = 0, global_rows = 0;
    BatchKind kind = {};
    uint64_t step = 0;  // Counts from 1.
    Tracer::Clock::time_point begun = {};
    bool done = false;  // Whether the device has finished it.
  };

  DeviceBackend(const ModelConfig& config, const DeviceBackendOptions& options,
                std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks);

  absl::Status Prepare();
  absl::Status TryProducts();
  // Counts the memory that libraries and graphs take.
  absl::Status ReserveMemory();
  size_t OpsInGraphs() const;
  void FindBuckets();
  size_t LargestBucket() const;
  TrainingSizes Sizes();
  StepListBuilder Lists() const {
    return StepListBuilder(
        {*training_, *inference_, *memory_, *merge_, progress_, buckets_, *device_});
  }
  // Whether exchanges are queued, and those of the batch's step do nothing.
  bool IsSilent(const Sent& batch) const;
  StepLists& ListsOf(const Sent& batch);
  DeviceList& ListOfGroup();
  // Whether gradients travel while others are computed, as part of the queued work.
  bool Overlaps() const { return !merge_->alone() && merge_->ranks().CanQueue(); }

  size_t GroupOf(size_t slot) const { return slot / options_.steps_per_launch; }
  size_t EvaluationSlot() const { return kBatchGroups * options_.steps_per_launch; }
  absl::Status CheckRows(const BatchRows& rows, size_t global_rows) const;
  absl::StatusOr<StepResult> RunAlone(const BatchRows& rows, const UpdateOptions& update,
                                      bool last);
  // Runs on the launch thread.
  absl::Status LaunchStaged();
  absl::Status RunAndAwait(DeviceList& list, const Sent& batch, const char* what);
  absl::Status AwaitFirst(const Sent& batch);
  void MarkDone(const Sent& batch);
  absl::StatusOr<StepResult> FinishFirst(const Sent& batch);
  // Sums the ranks' gradients and updates, if that was not queued with the batch.
  absl::Status Update(const Sent& batch);
  absl::Status AwaitExchange(const Sent& batch);
  // Waits until no work waits for other ranks. All ranks have begun the same batches.
  absl::Status AwaitExchanges();
  // These search the batches that were begun together with `batch`.
  const Sent& NewestThatExchanges(const Sent& batch) const;
  const Sent& LastOfGroup(const Sent& batch) const;
  absl::StatusOr<double> GatherLoss(const Sent& batch);
  // Ends and forgets the work under way; waiting callers get `why`. If `broken`, work may be queued
  // that begun_ does not list.
  absl::Status Drop(const absl::Status& why, bool broken = false);
  void EndGraphs();
  absl::Status CheckIdle() const;
  uint64_t NextStep() const;  // The step of the next staged batch; counts from 1.
  void Trace(const Sent& batch);
  bool EndsProfile(const Sent& batch) const;
  // Ends the recording. REQUIRES: there is a profile.
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
  // The lists of each slot, made at their first use. The second half is for exchanges that do
  // nothing.
  std::vector<std::array<std::optional<StepLists>, 2 * kBatchKinds>> lists_;
  std::array<std::array<DeviceList, 2>, kBatchGroups> launches_;  // Lists for whole groups.
  DeviceList inference_list_;

  std::deque<Sent> staged_, begun_;
  size_t group_ = 0;           // The group whose slots are filled next.
  bool between_steps_ = true;  // Whether the next staged batch is a step's first.
  bool has_launched_ = false;
  TrainState state_;
  bool state_is_here_ = false;  // If false, only the device has it, except for the step.
  absl::Status state_lost_;     // The reason if the state is lost.
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
