#include "trainer/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/machine_limits.h"
#include "base/status.h"
#include "kernels/reference/adamw.h"
#include "trainer/backend/cpu/gemm_bf16.h"
#include "trainer/backend/shard_tree.h"
#include "trainer/comm/gather.h"
#include "trainer/step/model_program.h"

namespace penstock {
namespace {

// Number of elements of an array that a thread takes at a time. The bits of the norm depend on it.
constexpr size_t kSlice = 16384;

// Returns the samples per block. In training, the activations of the model "tiny" take 0.8 MB per
// row, so two rows fit in 2 MB of L2. Larger models get two rows, so that GEMMs have 128 rows,
// which makes packing the weights worth it. A head over all tokens is a large matrix, which every
// block reads whole.
size_t DefaultBlockRows(const ModelConfig& config) {
  if (config.flatten) return 16;
  return std::max<size_t>(2, 256 / config.dim);
}

// Calls body(first, count) for the slices of [0, size). If `pool` is null, the calls run
// in the calling thread.
void ForSlices(ThreadPool* pool, size_t size, absl::FunctionRef<void(size_t, size_t)> body) {
  const size_t slices = (size + kSlice - 1) / kSlice;
  auto run = [&](size_t, size_t i) { body(i * kSlice, std::min(kSlice, size - i * kSlice)); };
  if (pool != nullptr) return pool->ParallelFor(slices, run);
  for (size_t i = 0; i < slices; ++i) run(0, i);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuBackend>> CpuBackend::Create(const ModelConfig& config,
                                                               const CpuBackendOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(config.Validate());
  PENSTOCK_RETURN_IF_ERROR(CheckGemmEngine(options.gemm));
  if (options.shards == 0) {
    return absl::InvalidArgumentError("a batch needs at least one virtual shard");
  }
  if (options.ranks != nullptr && !options.fast_reduction) {
    PENSTOCK_RETURN_IF_ERROR(CheckShardsAndRanks(options.shards, options.ranks->size()));
  }
  const size_t threads = options.threads == 0
                             ? std::max<size_t>(1, ReadMachineLimits().cores / options.processes)
                             : options.threads;
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::Start(threads));
  std::unique_ptr<CpuBackend> backend(new CpuBackend(config, options, std::move(pool)));
  PENSTOCK_RETURN_IF_ERROR(backend->StartExchange());
  return backend;
}

CpuBackend::CpuBackend(const ModelConfig& config, const CpuBackendOptions& options,
                       std::unique_ptr<ThreadPool> pool)
    : config_(config),
      table_(ParameterTable::For(config)),
      shards_(ShardsFor(options.shards, options.ranks == nullptr ? 1 : options.ranks->size(),
                        options.fast_reduction)),
      block_rows_(options.block_rows == 0 ? DefaultBlockRows(config) : options.block_rows),
      gemm_(options.gemm),
      kernels_(options.kernels == nullptr ? *SupportedCpuKernels().front() : *options.kernels),
      pool_(std::move(pool)),
      ranks_(options.ranks == nullptr ? alone_ : *options.ranks),
      update_(BuildUpdate(table_, shards_)),
      merge_(ranks_, options.fast_reduction ? FastTree(shards_, ranks_.size()) : TreeOf(update_),
             shards_, table_.arena_size(),
             options.fast_reduction ? options.wire : WireFloat::kFp32),
      state_(table_.arena_size()),
      activations_(pool_->threads()),
      scratch_(pool_->threads()),
      bucket_floats_(options.bucket_floats) {}

absl::Status CpuBackend::StartExchange() {
  if (ranks_.size() == 1) return absl::OkStatus();
  auto merge = [this](size_t bucket) {
    ranks_.Mark(state_.step, static_cast<uint32_t>(bucket));
    const std::string name = absl::StrCat("bucket ", bucket);
    const TraceScope scope(tracer_, static_cast<uint32_t>(threads() + 1), name);
    return MergeBucket(buckets_[bucket]);
  };
  PENSTOCK_ASSIGN_OR_RETURN(exchange_, BucketThread::Start(std::move(merge)));
  return absl::OkStatus();
}

void CpuBackend::set_tracer(Tracer* tracer) {
  tracer_ = tracer;
  if (tracer == nullptr || exchange_ == nullptr) return;
  tracer->NameTrack(static_cast<uint32_t>(threads() + 1), "exchange between ranks");
}

const StepProgram& CpuBackend::ProgramFor(Purpose purpose, InputFormat format) {
  std::unique_ptr<StepProgram>& program = programs_[{purpose, format}];
  if (program == nullptr) {
    auto* build = purpose == Purpose::kTraining    ? BuildTraining
                  : purpose == Purpose::kInference ? BuildInference
                                                   : BuildLogits;
    program = std::make_unique<StepProgram>(build(config_, table_, format, block_rows_));
    ReserveMemory(*program);
  }
  return *program;
}

void CpuBackend::FindGradients(const StepProgram& program) {
  if (found_in_ == &program) return;
  weight_gradients_ = WeightGradients(program);
  cuts_ = CutGradients(program, table_.arena_size(), bucket_floats_);
  found_in_ = &program;
}

void CpuBackend::ReserveMemory(const StepProgram& program) {
  auto reserve = [](std::vector<std::vector<float>>& arenas, size_t size) {
    for (std::vector<float>& arena : arenas) arena.resize(std::max(arena.size(), size));
  };
  reserve(activations_, program.activation_size);
  reserve(scratch_, ScratchOf(program));
}

CpuBackend::Part CpuBackend::PartOf(const BatchRows& rows, size_t global_rows) const {
  if (global_rows == 0) global_rows = rows.rows;
  return {rows, FirstRowOf(ranks_.rank(), ranks_.size(), global_rows), global_rows, results()};
}

// `shard` counts this rank's own shards from 0.
void CpuBackend::RunShard(const StepProgram& program, const Part& part, size_t shard, size_t worker,
                          float* gradients, float* predictions) {
  const size_t number = merge_.first_shard() + shard;
  const size_t first = number * part.global_rows / shards_ - part.first_row;
  const size_t last = (number + 1) * part.global_rows / shards_ - part.first_row;
  BlockMemory<float> memory{
      .parameters = state_.parameters.data(),
      .rounded_parameters = rounded_.empty() ? nullptr : rounded_.data(),
      .activations = activations_[worker].data(),
      .scratch = scratch_[worker].data(),
      .loss_weight = 1.0f / static_cast<float>(part.global_rows * part.batches),
      .random_key = part.random_key};
  if (gradients != nullptr) {
    memory.gradients = gradients + shard * table_.arena_size();
    memory.new_weight_gradients = !part.adds;
    if (!part.adds) ClearGradients(last - first, memory.gradients);
  }
  const BlockExecutor executor(program, kernels_, gemm_, tracer_,
                               static_cast<uint32_t>(worker + 1));
  for (size_t row = first; row < last; row += block_rows_) {
    const BatchRows block = part.rows.Slice(row, std::min(block_rows_, last - row));
    memory.input = block.input;
    memory.flags = block.flags;
    memory.targets = block.targets;
    memory.predictions = predictions + row * part.results;
    memory.first_row = part.first_row + row;
    if (row + block_rows_ >= last) {
      RunLastBlock(executor, memory, block.rows);
    } else {
      executor.Run(memory, block.rows);
    }
    memory.new_weight_gradients = false;
  }
  if (first == last) RunLastBlock(executor, memory, 0);
}

void CpuBackend::ClearGradients(size_t rows, float* gradients) const {
  size_t done = 0;
  if (rows > 0) {
    for (const GradientRange& weight : weight_gradients_) {
      std::fill(gradients + done, gradients + weight.first, 0.0f);
      done = weight.first + weight.count;
    }
  }
  std::fill(gradients + done, gradients + table_.arena_size(), 0.0f);
}

void CpuBackend::RunLastBlock(const BlockExecutor& executor, const BlockMemory<float>& memory,
                              size_t rows) {
  size_t done = 0;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    if (rows > 0) executor.Run(memory, rows, done, buckets_[b].op + 1);
    done = buckets_[b].op + 1;
    exchange_->Finish(b);
  }
  if (rows > 0) executor.Run(memory, rows, done, executor.num_ops());
}

void CpuBackend::RoundParameters() {
  if (gemm_ != GemmEngine::kOneDnnBf16 || parameters_are_rounded_) return;
  rounded_.resize(table_.arena_size());
  ForSlices(pool_.get(), table_.arena_size(), [&](size_t first, size_t count) {
    RoundToBf16(std::span<const float>(state_.parameters).subspan(first, count),
                std::span(rounded_).subspan(first, count));
  });
  parameters_are_rounded_ = true;
}

void CpuBackend::RunShards(const StepProgram& program, const Part& part, float* gradients,
                           float* predictions) {
  RoundParameters();
  pool_->ParallelFor(merge_.num_shards(), [&](size_t worker, size_t shard) {
    const TraceScope scope(tracer_, static_cast<uint32_t>(worker + 1),
                           gradients == nullptr ? "forward" : "forward and backward");
    RunShard(program, part, shard, worker, gradients, predictions);
  });
}

std::vector<MemoryUse> CpuBackend::MemoryUses(InputFormat format, size_t global_rows) {
  const StepProgram& program = ProgramFor(Purpose::kTraining, format);
  const uint64_t arena = table_.arena_size() * sizeof(float);
  const uint64_t scratch = ScratchOf(program) * sizeof(float);
  const uint64_t activations = program.activation_size * sizeof(float);
  const bool rounds = gemm_ == GemmEngine::kOneDnnBf16;
  return {{"parameters", rounds ? arena + arena / 2 : arena, rounds ? "in fp32 and bf16" : ""},
          {"moments", 2 * arena, ""},
          {"gradients", merge_.num_shards() * arena,
           absl::StrCat(merge_.num_shards(), " of ", shards_, " virtual shards")},
          {"activations", threads() * (activations + scratch),
           absl::StrCat(threads(), threads() == 1 ? " thread of " : " threads of ", block_rows_,
                        " samples at a time", scratch > 0 ? ", with attention's scratch" : "")},
          {"predictions", (results() + 1) * global_rows * sizeof(float), "and targets"}};
}

absl::Status CpuBackend::SetState(TrainState state) {
  state_ = std::move(state);
  parameters_are_rounded_ = false;
  accumulated_ = 0;
  return absl::OkStatus();
}

BackendDescription CpuBackend::Describe() const {
  const GemmDescription gemm = DescribeGemm(gemm_);
  return {.place = absl::StrCat(threads(), threads() == 1 ? " thread" : " threads"),
          .numerics = absl::StrCat("cpu ", gemm_ == GemmEngine::kOpenBlas ? "openblas" : "onednn",
                                   " ", kernels_.name),
          .math_library = gemm.version,
          .gemm_plan = gemm.plan,
          .block_rows = block_rows_,
          .threads = threads()};
}

absl::Status CpuBackend::Predict(const BatchRows& rows, std::span<float> predictions,
                                 size_t global_rows) {
  PENSTOCK_RETURN_IF_ERROR(CheckFormat(rows));
  PENSTOCK_RETURN_IF_ERROR(CheckJudged(results(), rows));
  RunShards(ProgramFor(Purpose::kInference, rows.format), PartOf(rows, global_rows), nullptr,
            predictions.data());
  return absl::OkStatus();
}

absl::Status CpuBackend::Logits(const BatchRows& rows, std::span<float> logits) {
  PENSTOCK_RETURN_IF_ERROR(CheckFormat(rows));
  Part part = PartOf(rows, rows.rows);
  part.results = classes();
  RunShards(ProgramFor(Purpose::kLogits, rows.format), part, nullptr, logits.data());
  return absl::OkStatus();
}

absl::Status CpuBackend::CheckFormat(const BatchRows& rows) const {
  const bool images = rows.format.kind == InputKind::kImage;
  const bool fits = images ? rows.format == ImagesOf(config_.side) : !config_.is_image();
  if (rows.rows == 0 || fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("model ", config_.name, " cannot read rows of ",
                                                 rows.format.input_bytes, " bytes"));
}

absl::StatusOr<double> CpuBackend::RunBatch(const BatchRows& rows, const UpdateOptions& update,
                                            bool last) {
  Part part = PartOf(rows, update.global_rows);
  part.batches = update.batches;
  part.adds = accumulated_ > 0;
  part.random_key = update.random_key;
  if (part.global_rows == 0 || (rows.rows > 0 && rows.targets == nullptr)) {
    return absl::InvalidArgumentError("a training step needs rows and their targets");
  }
  PENSTOCK_RETURN_IF_ERROR(CheckFormat(rows));
  ranks_.Mark(state_.step, 0);
  gradients_.resize(merge_.num_shards() * table_.arena_size());
  predictions_.resize(part.global_rows * results());
  targets_.resize(part.global_rows);
  float* const own = predictions_.data() + part.first_row * results();
  own_predictions_ = {own, rows.rows * results()};
  const StepProgram& program = ProgramFor(Purpose::kTraining, rows.format);
  FindGradients(program);
  if (last && exchange_ != nullptr) {
    buckets_ = cuts_;
    exchange_->Begin(buckets_.size(), merge_.num_shards());
  }
  pool_is_free_ = false;
  RunShards(program, part, gradients_.data(), own);
  pool_is_free_ = true;
  if (last) PENSTOCK_RETURN_IF_ERROR(MergeGradients());
  return GatherLoss(part);
}

// Checks the loss of every batch, so that the error is about the batch that caused it. If the loss
// is not finite, neither is its gradient.
absl::StatusOr<double> CpuBackend::Accumulate(const BatchRows& rows, const UpdateOptions& update) {
  PENSTOCK_ASSIGN_OR_RETURN(const double loss, RunBatch(rows, update, false));
  if (!std::isfinite(loss)) return CheckFinite(state_.step, {.loss = loss, .gradient_norm = loss});
  ++accumulated_;
  return loss;
}

absl::StatusOr<StepResult> CpuBackend::Step(const BatchRows& rows, const UpdateOptions& update) {
  StepResult result;
  absl::StatusOr<double> loss = RunBatch(rows, update, true);
  accumulated_ = 0;
  PENSTOCK_ASSIGN_OR_RETURN(result.loss, std::move(loss));
  result.gradient_norm = GradientNorm();
  PENSTOCK_RETURN_IF_ERROR(CheckFinite(state_.step, result));
  ApplyUpdate(update, result.gradient_norm);
  ++state_.step;
  return result;
}

absl::StatusOr<double> CpuBackend::GatherLoss(const Part& part) {
  const PhaseScope phase(ranks_.size() > 1 ? recorder_ : nullptr, Phase::kCollective);
  std::copy_n(part.rows.targets, part.rows.rows, targets_.data() + part.first_row);
  const std::span<float> arrays[] = {predictions_, targets_};
  PENSTOCK_RETURN_IF_ERROR(GatherRows(ranks_, part.global_rows, arrays));
  return LossSum(results(), predictions_, targets_) / static_cast<double>(part.global_rows);
}

absl::Status CpuBackend::MergeGradients() {
  const TraceScope scope(tracer_, 0, "merge");
  if (exchange_ == nullptr) return MergeBucket({0, table_.arena_size(), 0});
  const PhaseScope phase(recorder_, Phase::kCollective);
  const absl::Status status = exchange_->Wait();
  buckets_.clear();
  return status;
}

// Works slice by slice, so that partial sums stay in a core's cache.
absl::Status CpuBackend::MergeBucket(const GradientBucket& bucket) {
  auto add_own = [&](size_t first, size_t count) {
    merge_.AddOwn(gradients_.data(), {bucket.first + first, count}, kernels_.add);
  };
  ForSlices(pool_is_free_ ? pool_.get() : nullptr, bucket.count, add_own);
  return merge_.AddOthers(gradients_.data(), {bucket.first, bucket.count},
                          [this](const float* addend, size_t count, float* sum) {
                            ForSlices(pool_is_free_ ? pool_.get() : nullptr, count,
                                      [&](size_t first, size_t size) {
                                        kernels_.add(addend + first, size, sum + first);
                                      });
                          });
}

double CpuBackend::GradientNorm() {
  std::vector<double> partial((table_.arena_size() + kSlice - 1) / kSlice);
  ForSlices(pool_.get(), table_.arena_size(), [&](size_t first, size_t count) {
    partial[first / kSlice] = kernels_.sum_squares(gradients_.data() + first, count);
  });
  double sum = 0;
  for (double value : partial) sum += value;
  return std::sqrt(sum);
}

void CpuBackend::ApplyUpdate(const UpdateOptions& update, double gradient_norm) {
  const TraceScope scope(tracer_, 0, "update");
  parameters_are_rounded_ = false;
  const bool clip = update.clip_norm > 0 && gradient_norm > update.clip_norm;
  const double scale = clip ? update.clip_norm / gradient_norm : 1.0;
  pool_->ParallelFor(table_.parameters().size(), [&](size_t, size_t p) {
    const Parameter& parameter = table_.parameters()[p];
    const double decay = parameter.decays() ? update.decay_rate : 0.0;
    const auto scalars = reference::AdamwScalars<float>::ForStep(
        state_.step + 1, update.learning_rate, decay, scale);
    const size_t at = parameter.offset;
    kernels_.adamw(scalars, gradients_.data() + at, parameter.count, state_.parameters.data() + at,
                   state_.m.data() + at, state_.v.data() + at);
  });
}

}  // namespace penstock
