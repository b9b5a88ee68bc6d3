// Trains and evaluates the board model on a device.
//
// As on the CPU a global batch is cut into V virtual shards whose gradients are merged in a fixed
// tree; a shard is one block here. Every shard is computed with the same shapes, rows that it lacks
// being padding of no weight, so that a step is always the same list of operations: it becomes a
// graph, and its bits depend neither on graphs nor on how ranks share the shards.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_BACKEND_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_BACKEND_H_

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/backend.h"
#include "trainer/backend/cuda/batch_slot.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/device_layout.h"
#include "trainer/backend/cuda/device_list.h"
#include "trainer/backend/cuda/device_merge.h"
#include "trainer/backend/cuda/device_program.h"
#include "trainer/backend/cuda/launch_thread.h"
#include "trainer/backend/cuda/memory_plan.h"
#include "trainer/comm/communicator.h"

namespace penstock {

struct CudaBackendOptions {
  size_t shards = 8;                          // V.
  size_t global_rows = 0;                     // Of a batch of all ranks, at most.
  BoardFormat format = BoardFormat::kPacked;  // Of all batches.
  bool bf16 = false;                          // Of activations and matrix products.
  bool graphs = true;
  double memory_fraction = 0.9;  // Of the device's memory that may be taken.
  // Shares the shards, as CpuBackendOptions has it; of host memory. Must outlive the backend. Null:
  // this process has all.
  Communicator* ranks = nullptr;
  bool fast_reduction = false;
  // Told what will be taken of the device, before it is. Empty: nobody is.
  std::function<void(const std::vector<MemoryUse>&)> on_memory = {};
};

// Not thread-safe.
class CudaBackend final : public Backend {
 public:
  // `gradient_ranks` are the same ranks as options.ranks, and carry the gradients; of either
  // memory; null: options.ranks do. kInvalidArgument: an impossible model, or one the kernels are
  // not made for, no shards or rows, or ranks that cannot share them. kResourceExhausted: not
  // enough memory. kUnimplemented: the device's library lacks a matrix product.
  static absl::StatusOr<std::unique_ptr<CudaBackend>> Create(
      const BoardModelConfig& config, const CudaBackendOptions& options,
      std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks = nullptr);
  ~CudaBackend() override;

  // kInvalidArgument as well: rows of another format, or more of them than the backend is for.
  absl::StatusOr<StepResult> Step(const BoardRows& rows, const UpdateOptions& update) override;
  absl::Status Predict(const BoardRows& rows, std::span<float> predictions,
                       size_t global_rows) override;

  absl::Status SetState(TrainState state) override;
  absl::StatusOr<const TrainState*> State() override;
  uint64_t steps() const override { return state_.step; }

  void set_recorder(StepRecorder* recorder) override { recorder_ = recorder; }
  // Track 1 gets the device's steps, as the host sees them.
  void set_tracer(Tracer* tracer) override { tracer_ = tracer; }

  std::vector<MemoryUse> MemoryUses(BoardFormat format, size_t global_rows) override;
  const ParameterTable& table() const override { return layout_.model(); }
  size_t shards() const override { return shards_; }
  BackendDescription Describe() const override;
  std::span<const float> predictions() const override { return own_predictions_; }
  std::span<const float> global_scores() const override { return scores_; }

  // What the device has.
  absl::StatusOr<TrainState> ReadState();
  // Of the last step, merged, before clipping; as table() lays them out.
  absl::StatusOr<std::vector<float>> ReadGradients();
  const std::vector<MemoryUse>& device_memory() const { return memory_.uses(); }

 private:
  struct Regions {
    MemoryPlan::Region parameters, copies, moments, gradients, activations, workspace, slots,
        predictions, norm, decays;
  };
  // What a step queues between two visits to the host; one rank alone has all in `first`.
  struct StepLists {
    DeviceList first, middle, last;
  };
  static constexpr size_t kSlots = 2;

  CudaBackend(const BoardModelConfig& config, const CudaBackendOptions& options,
              std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks);

  absl::Status Prepare();
  void PlanMemory();
  absl::Status TakeMemory();
  absl::Status BuildLists();
  ShardMemory MemoryOf(size_t slot, size_t shard) const;
  StepLists TrainingLists(size_t slot) const;
  DeviceList InferenceList(size_t slot) const;
  std::vector<DeviceOp> UpdateOps(size_t slot) const;
  DeviceOp CopyResults(MemoryPlan::Region from, size_t bytes, void* to) const;

  // Where rows of this rank's shard `shard` lie in its rows of a batch of `global_rows`.
  struct Range {
    size_t first, count;
  };
  Range RowsOf(size_t shard, size_t global_rows) const;
  absl::Status CheckRows(const BoardRows& rows, size_t global_rows) const;
  // Fills the next slot and sends it; returns its number.
  absl::StatusOr<size_t> Upload(const BoardRows& rows, size_t global_rows,
                                const UpdateOptions* update);
  absl::Status SendSlot(size_t slot);
  absl::Status RunAndWait(DeviceList& list);
  absl::Status RunStep(size_t slot, const BoardRows& rows, size_t global_rows, StepResult& result);
  // The rows' predictions out of the shards', where padding lies between.
  void TakePredictions(size_t global_rows, std::span<float> predictions) const;
  absl::StatusOr<double> GatherLoss(const BoardRows& rows, size_t global_rows);
  absl::Status CopyToDevice(const void* from, size_t bytes, void* to);
  absl::Status CopyToHost(const void* from, size_t bytes, void* to);
  absl::StatusOr<std::vector<float>> ReadArena(const float* from);

  const BoardModelConfig config_;
  const CudaBackendOptions options_;
  const DeviceLayout layout_;
  const size_t shards_;
  const std::unique_ptr<Device> device_;
  SingleCommunicator alone_;
  Communicator& ranks_;
  const std::unique_ptr<Communicator> gradient_ranks_;  // May be null.
  DeviceMerge merge_;
  SlotLayout slot_;
  std::optional<DeviceProgram> training_, inference_;
  MemoryPlan memory_;
  Regions regions_ = {};
  std::array<char*, kSlots> host_slots_ = {};  // Page-locked, as are the two below.
  float* host_predictions_ = nullptr;          // (own shards, rows of a shard)
  double* host_norm_ = nullptr;
  std::array<StepLists, kSlots> training_lists_;
  std::array<DeviceList, kSlots> inference_lists_;
  size_t next_slot_ = 0;
  TrainState state_;
  bool state_is_here_ = false;  // Else the device has it, except for the step.
  std::vector<float> predictions_, scores_;
  std::span<const float> own_predictions_;
  StepRecorder* recorder_ = nullptr;
  Tracer* tracer_ = nullptr;
  LaunchThread launcher_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_BACKEND_H_
