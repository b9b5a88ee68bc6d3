// Trains and evaluates a model on the CPU.
//
// A global batch is cut into V virtual shards of neighbouring rows, and a shard into blocks of a
// few rows whose activations fit a core's cache. Every shard sums its own gradients, block by
// block; the update program merges the shards in a fixed tree. Threads and ranks divide whole
// shards among themselves, so the bits depend on neither.
//
// Gradients travel between ranks in buckets, on a separate thread. A bucket starts when the last
// block of this rank's last shard has added to it, while other gradients are still being computed.
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
  size_t threads = 0;    // 0 means the cores this process may use, divided among `processes`.
  size_t processes = 1;  // Number of processes that share those cores.
  size_t shards = 8;     // V, the number of virtual shards.
  // Rows per block; the bits depend on it. 0 means a number chosen from the model alone.
  size_t block_rows = 0;
  GemmEngine gemm = DefaultGemmEngine();
  const CpuKernels* kernels = nullptr;  // If null, the fastest ones for this processor are used.
  // Ranks that divide the shards: this rank has the rows of [rV/R, (r+1)V/R). Must outlive the
  // backend. If null, this process has all shards.
  Communicator* ranks = nullptr;
  bool fast_reduction = false;  // Uses FastTree(), for any number of ranks; changes the bits.
  // Number format for sending; all but fp32 need fast_reduction.
  WireFloat wire = WireFloat::kFp32;
  size_t bucket_floats = 1 << 20;  // Approximate size of a bucket; 0 means a single bucket.
};

// Not thread-safe.
class CpuBackend final : public Backend {
 public:
  // kInvalidArgument: an impossible model, no shards, or ranks that cannot share them.
  // kFailedPrecondition: the build does not have `gemm`.
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<CpuBackend>> Create(const ModelConfig& config,
                                                            const CpuBackendOptions& options);

  // Takes any number of rows. If it is a multiple of V, all shards have equally many.
  absl::StatusOr<StepResult> Step(const BatchRows& rows, const UpdateOptions& update) override;
  absl::StatusOr<double> Accumulate(const BatchRows& rows, const UpdateOptions& update) override;

  size_t results() const override { return config_.results(); }
  size_t classes() const override { return config_.classes; }
  // If `global_rows` is 0, `rows` are the rows of all ranks. kInvalidArgument: rows of another
  // model, or images without their classes.
  absl::Status Predict(const BatchRows& rows, std::span<float> predictions,
                       size_t global_rows) override;

  // Computes logits (rows.rows, classes()) of images, whose classes are not needed. Other errors
  // are those of Predict(). REQUIRES: a model of images, and one rank.
  absl::Status Logits(const BatchRows& rows, std::span<float> logits);

  absl::Status SetState(TrainState state) override;
  absl::StatusOr<const TrainState*> State() override { return &state_; }
  uint64_t steps() const override { return state_.step; }

  void set_recorder(StepRecorder* recorder) override { recorder_ = recorder; }
  // Track 0 gets merging and update, tracks 1 to threads() get the shards. With several ranks,
  // track threads() + 1 gets the exchange.
  void set_tracer(Tracer* tracer) override;

  std::vector<MemoryUse> MemoryUses(InputFormat format, size_t global_rows) override;

  TrainState& state() { return state_; }
  const ParameterTable& table() const override { return table_; }
  const ModelConfig& config() const { return config_; }
  size_t threads() const { return pool_->threads(); }
  size_t shards() const override { return shards_; }
  size_t block_rows() const { return block_rows_; }
  BackendDescription Describe() const override;
  // Gradients of the last step, merged, before clipping.
  std::span<const float> gradients() const { return {gradients_.data(), table_.arena_size()}; }
  std::span<const float> predictions() const override { return own_predictions_; }
  std::span<const float> global_targets() const override { return targets_; }

 private:
  enum class Purpose : uint8_t { kTraining, kInference, kLogits };

  CpuBackend(const ModelConfig& config, const CpuBackendOptions& options,
             std::unique_ptr<ThreadPool> pool);
  absl::Status StartExchange();

  const StepProgram& ProgramFor(Purpose purpose, InputFormat format);
  // This rank's rows, and their place among `global_rows`.
  struct Part {
    const BatchRows& rows;
    size_t first_row;
    size_t global_rows;
    size_t results;      // Number of results per row that the program computes.
    size_t batches = 1;  // Number of batches of the update.
    uint64_t random_key = 0;
    bool adds = false;  // Whether to add to the gradients of the previous batches.
  };
  absl::Status CheckFormat(const BatchRows& rows) const;
  Part PartOf(const BatchRows& rows, size_t global_rows) const;
  // Runs all own shards through `program`. `gradients` is null or has one arena per shard.
  void RunShards(const StepProgram& program, const Part& part, float* gradients,
                 float* predictions);
  void RunShard(const StepProgram& program, const Part& part, size_t shard, size_t worker,
                float* gradients, float* predictions);
  // If products use bfloat16, rounds the parameters, unless they have not changed since they were
  // last rounded.
  void RoundParameters();
  // Zeroes the gradients that the blocks of a shard add to. Its first block overwrites the
  // gradients of weights.
  void ClearGradients(size_t rows, float* gradients) const;
  // Runs the last block of a shard, and reports the buckets that it has finished.
  void RunLastBlock(const BlockExecutor& executor, const BlockMemory<float>& memory, size_t rows);
  // Does the forward and the backward of one batch of an update. Returns the loss over all ranks'
  // rows. After the last batch, the gradients are the sum over all shards.
  absl::StatusOr<double> RunBatch(const BatchRows& rows, const UpdateOptions& update, bool last);
  // Returns the loss over the rows of all ranks.
  absl::StatusOr<double> GatherLoss(const Part& part);
  // Allocates activations and scratch for each worker.
  void ReserveMemory(const StepProgram& program);
  // Finds the gradients of a training program. Does nothing if called again for the same program.
  void FindGradients(const StepProgram& program);

  // The update program is split at the norm, which must be known before anything is changed.
  void ApplyUpdate(const UpdateOptions& update, double gradient_norm);
  // With one rank, merges all gradients at the end. With several, waits for the remaining buckets.
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
  std::vector<uint16_t> rounded_;                // Rounded parameters; empty for fp32 products.
  bool parameters_are_rounded_ = false;          // Whether rounded_ is current.
  std::vector<float> gradients_;                 // (V / R, arena)
  std::vector<std::vector<float>> activations_;  // One arena per worker.
  std::vector<std::vector<float>> scratch_;      // One BlockMemory::scratch per worker.
  std::vector<float> predictions_, targets_;     // One row for each row of all ranks.
  std::span<const float> own_predictions_;
  size_t accumulated_ = 0;  // Number of batches whose gradients wait for the update.
  const size_t bucket_floats_;
  const StepProgram* found_in_ = nullptr;  // The program that the next members describe.
  std::vector<GradientRange> weight_gradients_;
  std::vector<GradientBucket> cuts_;
  std::vector<GradientBucket> buckets_;  // Empty except during the exchange.
  std::atomic<bool> pool_is_free_{true};
  std::unique_ptr<BucketThread> exchange_;  // Null if there is only one rank.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_CPU_BACKEND_H_
