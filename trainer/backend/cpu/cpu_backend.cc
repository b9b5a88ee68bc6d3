#include "trainer/backend/cpu/cpu_backend.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/reference/adamw.h"
#include "kernels/reference/loss.h"
#include "records/base/status.h"
#include "trainer/step/board_program.h"

namespace penstock {
namespace {

// What one thread takes of an array at a time; part of the bits of the norm.
constexpr size_t kSlice = 16384;

size_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

// Activations of tiny grow by 0.8 MB a row in training; two rows stay in 2 MB of L2, and GEMMs
// keep 128 rows.
size_t DefaultBlockRows(const BoardModelConfig& config) {
  return std::max<size_t>(1, 256 / config.dim);
}

// Calls body(first, count) for the slices of [0, size).
void ForSlices(ThreadPool& pool, size_t size, absl::FunctionRef<void(size_t, size_t)> body) {
  pool.ParallelFor((size + kSlice - 1) / kSlice, [&](size_t, size_t i) {
    body(i * kSlice, std::min(kSlice, size - i * kSlice));
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuBackend>> CpuBackend::Create(const BoardModelConfig& config,
                                                               const CpuBackendOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(config.Validate());
  if (options.shards == 0) {
    return absl::InvalidArgumentError("a batch needs at least one virtual shard");
  }
  return std::unique_ptr<CpuBackend>(new CpuBackend(config, options));
}

CpuBackend::CpuBackend(const BoardModelConfig& config, const CpuBackendOptions& options)
    : config_(config),
      table_(ParameterTable::ForBoard(config)),
      shards_(options.shards),
      block_rows_(options.block_rows == 0 ? DefaultBlockRows(config) : options.block_rows),
      gemm_(options.gemm),
      kernels_(options.kernels == nullptr ? *SupportedCpuKernels().front() : *options.kernels),
      pool_(options.threads == 0 ? UsableCores() : options.threads),
      update_(BuildUpdate(table_, shards_)),
      state_(table_.arena_size()),
      activations_(pool_.threads()) {}

const StepProgram& CpuBackend::ProgramFor(Purpose purpose, BoardFormat format) {
  std::unique_ptr<StepProgram>& program = programs_[{purpose, format}];
  if (program == nullptr) {
    auto* build = purpose == Purpose::kTraining ? BuildBoardTraining : BuildBoardInference;
    program = std::make_unique<StepProgram>(build(config_, table_, format, block_rows_));
    ReserveActivations(*program);
  }
  return *program;
}

void CpuBackend::ReserveActivations(const StepProgram& program) {
  for (std::vector<float>& arena : activations_) {
    arena.resize(std::max(arena.size(), program.activation_size));
  }
}

void CpuBackend::RunShard(const StepProgram& program, const BoardRows& rows, size_t shard,
                          size_t worker, float* gradients, float* predictions) {
  const size_t first = shard * rows.rows / shards_;
  const size_t last = (shard + 1) * rows.rows / shards_;
  BlockMemory<float> memory{.parameters = state_.parameters.data(),
                            .activations = activations_[worker].data(),
                            .loss_weight = 1.0f / static_cast<float>(rows.rows)};
  if (gradients != nullptr) {
    memory.gradients = gradients + shard * table_.arena_size();
    std::fill_n(memory.gradients, table_.arena_size(), 0.0f);
  }
  const BlockExecutor executor(program, kernels_, gemm_);
  for (size_t row = first; row < last; row += block_rows_) {
    const BoardRows block = rows.Slice(row, std::min(block_rows_, last - row));
    memory.input = block.planes;
    memory.flags = block.flags;
    memory.targets = block.scores;
    memory.predictions = predictions + row;
    executor.Run(memory, block.rows);
  }
}

void CpuBackend::RunShards(const StepProgram& program, const BoardRows& rows, float* gradients,
                           float* predictions) {
  pool_.ParallelFor(shards_, [&](size_t worker, size_t shard) {
    RunShard(program, rows, shard, worker, gradients, predictions);
  });
}

void CpuBackend::Predict(const BoardRows& rows, std::span<float> predictions) {
  RunShards(ProgramFor(Purpose::kInference, rows.format), rows, nullptr, predictions.data());
}

absl::StatusOr<StepResult> CpuBackend::Step(const BoardRows& rows, const UpdateOptions& update) {
  if (rows.rows == 0 || rows.scores == nullptr) {
    return absl::InvalidArgumentError("a training step needs rows and their scores");
  }
  gradients_.resize(shards_ * table_.arena_size());
  predictions_.resize(rows.rows);
  RunShards(ProgramFor(Purpose::kTraining, rows.format), rows, gradients_.data(),
            predictions_.data());
  StepResult result;
  result.loss = reference::SquaredErrorSum(predictions_.data(), rows.scores, rows.rows) /
                static_cast<double>(rows.rows);
  result.gradient_norm = MergeGradients();
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) {
    return absl::FailedPreconditionError(
        absl::StrCat("step ", state_.step, ": the loss is ", result.loss,
                     " and the gradient's norm ", result.gradient_norm,
                     ": training diverged before this step; lower the learning rate, add warm-up "
                     "steps or clip the norm"));
  }
  ApplyUpdate(update, result.gradient_norm);
  ++state_.step;
  return result;
}

void CpuBackend::AddGradients(const Op& op) {
  float* sum = gradients_.data() + update_.buffers[op.operands[0].buffer].offset;
  const float* addend = gradients_.data() + update_.buffers[op.operands[1].buffer].offset;
  ForSlices(pool_, table_.arena_size(),
            [&](size_t first, size_t count) { kernels_.add(addend + first, count, sum + first); });
}

double CpuBackend::GradientNorm() {
  std::vector<double> partial((table_.arena_size() + kSlice - 1) / kSlice);
  ForSlices(pool_, table_.arena_size(), [&](size_t first, size_t count) {
    partial[first / kSlice] = kernels_.sum_squares(gradients_.data() + first, count);
  });
  double sum = 0;
  for (double value : partial) sum += value;
  return std::sqrt(sum);
}

double CpuBackend::MergeGradients() {
  for (const Op& op : update_.ops) {
    if (op.kind == OpKind::kAddGradients) AddGradients(op);
  }
  return GradientNorm();
}

void CpuBackend::ApplyUpdate(const UpdateOptions& update, double gradient_norm) {
  const bool clip = update.clip_norm > 0 && gradient_norm > update.clip_norm;
  const double scale = clip ? update.clip_norm / gradient_norm : 1.0;
  pool_.ParallelFor(table_.parameters().size(), [&](size_t, size_t p) {
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
