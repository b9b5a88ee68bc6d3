// Trains and evaluates a model on the CPU.
//
// A global batch is cut into V virtual shards of neighbouring rows, a shard into blocks of a few
// rows whose activations fit a core's cache. Every shard adds up its own gradients, block by
// block; the update program merges them in a fixed tree. Threads and ranks share out whole shards,
// so the bits depend on neither.
//
// Between ranks gradients travel in buckets, on a thread of their own, each from when the last
// block of the last own shard has added to it: while the others are still computed.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_CPU_BACKEND_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_CPU_BACKEND_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/backend.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/backend/cpu/block_executor.h"
#include "trainer/backend/cpu/bucket_thread.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/backend/cpu/kernels.h"
#include "trainer/backend/cpu/thread_pool.h"
#include "trainer/backend/train_state.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/shard_merge.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"
#include "trainer/profile/memory_table.h"
#include "trainer/profile/step_recorder.h"
#include "trainer/profile/tracer.h"
#include "trainer/step/gradient_buckets.h"
#include "trainer/step/program.h"

namespace penstock {

struct CpuBackendOptions {
  size_t threads = 0;     // 0: the cores this process may use, shared with its neighbours.
  size_t processes = 1;   // That share them.
  size_t shards = 8;      // V.
  size_t block_rows = 0;  // Part of the bits; 0: chosen from the model alone.
  GemmEngine gemm = DefaultGemmEngine();
  const CpuKernels* kernels = nullptr;  // Null: the fastest of this processor.
  // Shares the shards: this rank has the rows of [rV/R, (r+1)V/R). Must outlive the backend. Null:
  // this process has all.
  Communicator* ranks = nullptr;
  bool fast_reduction = false;        // FastTree(): any number of ranks; bits depend on it.
  WireFloat wire = WireFloat::kFp32;  // How gradients travel; others need fast_reduction.
  size_t bucket_floats = 1 << 20;     // That travel together, about; 0: all.
};

// Not thread-safe.
class CpuBackend final : public Backend {
 public:
  // kInvalidArgument: an impossible model, no shards, or ranks that cannot share them.
  // kFailedPrecondition: the build does not have `gemm`.
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<CpuBackend>> Create(const ModelConfig& config,
                                                            const CpuBackendOptions& options);

  // Any number of rows; with a multiple of V every shard has as many.
  absl::StatusOr<StepResult> Step(const BatchRows& rows, const UpdateOptions& update) override;
  absl::StatusOr<double> Accumulate(const BatchRows& rows, const UpdateOptions& update) override;

  size_t results() const override { return config_.results(); }
  size_t classes() const override { return config_.classes; }
  // No global_rows: `rows` are all. kInvalidArgument: rows of another model, images without their
  // classes.
  absl::Status Predict(const BatchRows& rows, std::span<float> predictions,
                       size_t global_rows) override;

  // Of images, which need no classes: logits (rows.rows, classes()). Other errors as Predict().
  // REQUIRES: a model of images, and one rank.
  absl::Status Logits(const BatchRows& rows, std::span<float> logits);

  absl::Status SetState(TrainState state) override;
  absl::StatusOr<const TrainState*> State() override { return &state_; }
  uint64_t steps() const override { return state_.step; }

  void set_recorder(StepRecorder* recorder) override { recorder_ = recorder; }
  // Tracks 1 to threads() get the shards, 0 merging and update; with several ranks threads() + 1
  // gets the exchange.
  void set_tracer(Tracer* tracer) override;

  std::vector<MemoryUse> MemoryUses(InputFormat format, size_t global_rows) override;

  TrainState& state() { return state_; }
  const ParameterTable& table() const override { return table_; }
  const ModelConfig& config() const { return config_; }
  size_t threads() const { return pool_->threads(); }
  size_t shards() const override { return shards_; }
  size_t block_rows() const { return block_rows_; }
  BackendDescription Describe() const override;
  // Of the last step, merged, before clipping.
  std::span<const float> gradients() const { return {gradients_.data(), table_.arena_size()}; }
  std::span<const float> predictions() const override { return own_predictions_; }
  std::span<const float> global_targets() const override { return targets_; }

 private:
  enum class Purpose : uint8_t { kTraining, kInference, kLogits };

  CpuBackend(const ModelConfig& config, const CpuBackendOptions& options,
             std::unique_ptr<ThreadPool> pool);
  absl::Status StartExchange();

  const StepProgram& ProgramFor(Purpose purpose, InputFormat format);
  // This rank's rows, of so many.
  struct Part {
    const BatchRows& rows;
    size_t first_row;
    size_t global_rows;
    size_t results;      // Numbers of a row that the program gives.
    size_t batches = 1;  // Of the update.
    uint64_t random_key = 0;
    bool adds = false;  // To the gradients of the batches before.
  };
  absl::Status CheckFormat(const BatchRows& rows) const;
  Part PartOf(const BatchRows& rows, size_t global_rows) const;
  // All own shards through `program`. `gradients` is null or takes one arena a shard.
  void RunShards(const StepProgram& program, const Part& part, float* gradients,
                 float* predictions);
  void RunShard(const StepProgram& program, const Part& part, size_t shard, size_t worker,
                float* gradients, float* predictions);
  // The parameters as bfloat16, if products are of those: once for all batches until they change.
  void RoundParameters();
  // Zeroes what the blocks of a shard add to. Its first block writes the gradients of weights.
  void ClearGradients(size_t rows, float* gradients) const;
  // The last block of a shard: tells which buckets it has finished.
  void RunLastBlock(const BlockExecutor& executor, const BlockMemory<float>& memory, size_t rows);
  // Forward and backward of one batch of an update; the loss of all ranks' rows. After the last
  // batch the gradients are the sum of all shards.
  absl::StatusOr<double> RunBatch(const BatchRows& rows, const UpdateOptions& update, bool last);
  // The loss over the rows of all ranks.
  absl::StatusOr<double> GatherLoss(const Part& part);
  // Of each worker: activations and scratch.
  void ReserveMemory(const StepProgram& program);
  // Where the gradients of a training's program are: once, as long as it is the same.
  void FindGradients(const StepProgram& program);

  // The update program, split at the norm: what must be known before anything is changed.
  void ApplyUpdate(const UpdateOptions& update, double gradient_norm);
  // Of one rank alone: at the end. Of several: what is left of the buckets.
  absl::Status MergeGradients();
  absl::Status MergeBucket(const GradientBucket& bucket);
  double GradientNorm();

  ModelConfig config_;
  ParameterTable table_;
  size_t shards_;
  size_t block_rows_;
  GemmEngine gemm_;
  StepRecorder* recorder_ = nullptr;
  Tracer* tracer_ = nullptr;
  const CpuKernels& kernels_;
  const std::unique_ptr<ThreadPool> pool_;
  SingleCommunicator alone_;
  Communicator& ranks_;
  StepProgram update_;
  ShardMerge merge_;
  std::map<std::pair<Purpose, InputFormat>, std::unique_ptr<StepProgram>> programs_;
  TrainState state_;
  std::vector<uint16_t> rounded_;                // Parameters; empty for products of fp32.
  bool parameters_are_rounded_ = false;          // Those of now.
  std::vector<float> gradients_;                 // (V / R, arena)
  std::vector<std::vector<float>> activations_;  // One arena a worker.
  std::vector<std::vector<float>> scratch_;      // And one BlockMemory::scratch.
  std::vector<float> predictions_, targets_;     // Of all ranks' rows.
  std::span<const float> own_predictions_;
  size_t accumulated_ = 0;  // Batches whose gradients wait for the update.
  const size_t bucket_floats_;
  const StepProgram* found_in_ = nullptr;  // What follows is of this one.
  std::vector<GradientRange> weight_gradients_;
  std::vector<GradientBucket> cuts_;
  std::vector<GradientBucket> buckets_;  // While they travel; empty: none does.
  std::atomic<bool> pool_is_free_{true};
  std::unique_ptr<BucketThread> exchange_;  // Of several ranks, else null.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_CPU_BACKEND_H_
