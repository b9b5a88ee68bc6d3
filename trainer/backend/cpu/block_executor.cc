#include "trainer/backend/cpu/block_executor.h"

#include <algorithm>

#include "trainer/backend/reference_backend.h"
#include "trainer/model/model_config.h"
#include "trainer/step/op_name.h"

namespace penstock {
namespace {

// Whether cpu/kernels.h has an attention function for this shape.
bool IsOfBoards(const OpShape& shape) {
  return shape.rows_per_sample == kBoardTokens && !shape.dropout.active();
}

size_t ScratchOf(const Op& op) {
  const bool forward = op.kind == OpKind::kAttention;
  if (!forward && op.kind != OpKind::kAttentionBackward) return 0;
  if (IsOfBoards(op.shape)) return 0;
  const reference::AttentionShape shape = AttentionShapeOf(op.shape, /*samples=*/1);
  return forward ? AttentionProducts::ForwardScratch(shape)
                 : AttentionProducts::BackwardScratch(shape, op.shape.dropout);
}

bool IsErf(const OpShape& shape) { return shape.gelu == reference::GeluForm::kErf; }

}  // namespace

size_t ScratchOf(const StepProgram& program) {
  size_t most = 0;
  for (const Op& op : program.ops) most = std::max(most, ScratchOf(op));
  return most;
}

void BlockExecutor::Run(const BlockMemory<float>& memory, size_t samples, size_t first,
                        size_t last) const {
  for (size_t i = first; i < last; ++i) {
    const Op& op = program_.ops[i];
    const TraceScope scope(tracer_, track_, OpName(op.kind));
    RunOp(op, memory, samples);
  }
}

void BlockExecutor::Linear(const Op& op, const BlockMemory<float>& memory, size_t rows) const {
  auto at = [&](size_t operand) { return memory.At(program_, op, operand); };
  const OpShape& shape = op.shape;
  kernels_.fill_rows(at(2), memory.AtIfAny(program_, op, 4), rows, shape.out, at(3));
  Gemm(gemm_, rows, shape.out, shape.in, {at(0), shape.in},
       {at(1), shape.in, Transpose::kYes, memory.RoundedAt(program_, op, 1)},
       /*accumulate=*/true, at(3));
}

void BlockExecutor::LinearBackwardInput(const Op& op, const BlockMemory<float>& memory,
                                        size_t rows) const {
  auto at = [&](size_t operand) { return memory.At(program_, op, operand); };
  const OpShape& shape = op.shape;
  Gemm(gemm_, rows, shape.in, shape.out, {at(0), shape.out},
       {at(1), shape.in, Transpose::kNo, memory.RoundedAt(program_, op, 1)},
       /*accumulate=*/false, at(2));
}

void BlockExecutor::LinearBackwardWeight(const Op& op, const BlockMemory<float>& memory,
                                         size_t rows) const {
  auto at = [&](size_t operand) { return memory.At(program_, op, operand); };
  const OpShape& shape = op.shape;
  Gemm(gemm_, shape.out, shape.in, rows, {at(0), shape.out, Transpose::kYes}, {at(1), shape.in},
       /*accumulate=*/!memory.new_weight_gradients, at(2));
  kernels_.add_column_sums(at(0), rows, shape.out, at(3));
}

void BlockExecutor::RunOp(const Op& op, const BlockMemory<float>& memory, size_t samples) const {
  auto at = [&](size_t operand) { return memory.At(program_, op, operand); };
  auto if_any = [&](size_t operand) { return memory.AtIfAny(program_, op, operand); };
  const OpShape& shape = op.shape;
  const size_t rows = samples * shape.rows_per_sample;
  switch (op.kind) {
    case OpKind::kLinear:
      return Linear(op, memory, rows);
    case OpKind::kLinearBackwardInput:
      return LinearBackwardInput(op, memory, rows);
    case OpKind::kLinearBackwardWeight:
      return LinearBackwardWeight(op, memory, rows);
    case OpKind::kLayerNorm:
      return kernels_.layer_norm(at(0), at(1), at(2), shape.epsilon, rows, shape.in, at(3), at(4),
                                 at(5));
    case OpKind::kLayerNormBackward:
      return kernels_.layer_norm_backward(at(0), at(1), at(2), at(3), at(4), rows, shape.in,
                                          op.operands[5].access == Access::kReadWrite, at(5), at(6),
                                          at(7));
    case OpKind::kAttention:
      if (IsOfBoards(shape)) {
        return kernels_.attention(at(0), if_any(2), samples, shape.heads, shape.in / shape.heads,
                                  at(1));
      }
      return products_.Forward(at(0), AttentionShapeOf(shape, samples),
                               memory.AttentionOptionsOf(op, if_any(2)), memory.scratch, at(1));
    case OpKind::kAttentionBackward:
      if (IsOfBoards(shape)) {
        return kernels_.attention_backward(at(0), if_any(3), at(1), samples, shape.heads,
                                           shape.in / shape.heads, at(2), if_any(4));
      }
      return products_.Backward(at(0), at(1), AttentionShapeOf(shape, samples),
                                memory.AttentionOptionsOf(op, if_any(3)), memory.scratch, at(2),
                                if_any(4));
    case OpKind::kGelu:
      return (IsErf(shape) ? kernels_.gelu_erf : kernels_.gelu)(at(0), rows * shape.in, at(1));
    case OpKind::kGeluBackward:
      return (IsErf(shape) ? kernels_.gelu_erf_backward : kernels_.gelu_backward)(
          at(0), rows * shape.in, at(1));
    case OpKind::kAddResidual:
      return kernels_.add(at(0), rows * shape.in, at(1));
    case OpKind::kDropout:
      return kernels_.drop_out(at(0), shape.dropout, memory.KeyOf(op),
                               memory.first_row * shape.rows_per_sample * shape.in, rows * shape.in,
                               at(1));
    default:  // The reference suffices for a small share of a step.
      return RunReferenceOp(program_, op, memory, samples);
  }
}

}  // namespace penstock
