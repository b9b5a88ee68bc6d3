#include "trainer/backend/device/kernel_launch.h"

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/activation.h"
#include "kernels/cuda/adamw.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/board_features.h"
#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/images.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/narrow_linear.h"
#include "kernels/cuda/pool.h"
#include "kernels/cuda/score.h"
#include "kernels/numeric/bf16.h"

namespace penstock {
namespace {

cuda::AttentionShape HeadsOf(const DeviceOp& op) {
  return cuda::AttentionShape::OfWidth(op.samples, op.rows / op.samples, op.heads, op.in);
}

// Number of operands without the dropout draws.
size_t OperandsOf(const DeviceOp& op) { return op.operands.size() - op.dropout.active(); }

float* FloatsIfAny(const DeviceOp& op, size_t operand) {
  return operand < OperandsOf(op) ? op.at<float>(operand) : nullptr;
}

const DropoutDraw* DrawOf(const DeviceOp& op) {
  return op.dropout.active() ? op.at<DropoutDraw>(op.operands.size() - 1) : nullptr;
}

cuda::AttentionOptions AttentionOptionsOf(const DeviceOp& op, size_t bias) {
  return {.bias = FloatsIfAny(op, bias), .dropout = op.dropout, .draw = DrawOf(op)};
}

// The 16-bit type for sending: Bf16 if the operation has `bf16` set, else Fp16.
template <typename T>
using HalfOf = std::conditional_t<std::is_same_v<T, Bf16>, Bf16, Fp16>;

template <typename T>
cudaError_t LaunchNormBackward(const DeviceOp& op, cudaStream_t stream) {
  T* dx = op.at<T>(5);
  return cuda::LayerNormBackward<T>(
      op.at<T>(0), op.at<T>(1), op.at<float>(2), op.at<float>(3), op.at<float>(4), op.rows, op.in,
      op.operands[5].access == Access::kReadWrite ? dx : nullptr, dx, op.at<float>(6),
      op.at<float>(7), static_cast<float*>(op.workspace.at), stream);
}

template <typename T>
cudaError_t LaunchOf(const DeviceOp& op, cudaStream_t stream) {
  const size_t tokens = op.samples == 0 ? 0 : op.rows / op.samples;
  switch (op.kind) {
    case DeviceOpKind::kExpandPacked:
      return cuda::ExpandPackedBoards<T>(op.at<uint8_t>(0), op.samples, op.in, op.at<T>(1), stream);
    case DeviceOpKind::kJoinI8:
      return cuda::JoinBoardPlanes<int8_t, T>(op.at<int8_t>(0), op.at<int8_t>(1), op.samples, op.in,
                                              op.at<T>(2), stream);
    case DeviceOpKind::kJoinF32:
      return cuda::JoinBoardPlanes<float, T>(op.at<float>(0), op.at<float>(1), op.samples, op.in,
                                             op.at<T>(2), stream);
    case DeviceOpKind::kPatchImages:
      return cuda::NormalizeImages<T>(op.at<uint8_t>(0),
                                      reference::SquareImages(op.samples, tokens, op.patch),
                                      op.pixels, op.in, op.at<T>(1), stream);
    case DeviceOpKind::kAddPosition:
      return cuda::AddPosition<T>(op.at<float>(0), op.samples, tokens * op.in, op.at<T>(1), stream);
    case DeviceOpKind::kLayerNorm:
      return cuda::LayerNorm<T>(op.at<T>(0), op.at<float>(1), op.at<float>(2), op.epsilon, op.rows,
                                op.in, op.at<T>(3), op.at<float>(4), op.at<float>(5), stream);
    case DeviceOpKind::kLayerNormBackward:
      return LaunchNormBackward<T>(op, stream);
    case DeviceOpKind::kAttention:
      return cuda::Attention<T>(op.at<T>(0), HeadsOf(op), op.at<T>(1), AttentionOptionsOf(op, 2),
                                stream);
    case DeviceOpKind::kAttentionBackward:
      return cuda::AttentionBackward<T>(op.at<T>(0), op.at<T>(1), HeadsOf(op), op.at<T>(2),
                                        AttentionOptionsOf(op, 3), FloatsIfAny(op, 4),
                                        static_cast<float*>(op.workspace.at), stream);
    case DeviceOpKind::kGelu:
      return cuda::Gelu<T>(op.at<T>(0), op.gelu, op.count, op.at<T>(1), stream);
    case DeviceOpKind::kGeluBackward:
      return cuda::GeluBackward<T>(op.at<T>(1), op.at<T>(0), op.gelu, op.count, op.at<T>(1),
                                   stream);
    case DeviceOpKind::kMeanPool:
      return cuda::MeanPool<T>(op.at<T>(0), op.samples, tokens, op.in, op.at<T>(1), stream);
    case DeviceOpKind::kMeanPoolBackward:
      return cuda::MeanPoolBackward<T>(op.at<T>(0), op.samples, tokens, op.in, op.at<T>(1), stream);
    case DeviceOpKind::kScore:
      return cuda::Score<T>(op.at<T>(0), op.out, op.rows, op.at<float>(1), stream);
    case DeviceOpKind::kDropout:
      return cuda::DropOut<T>(op.at<T>(0), op.dropout, DrawOf(op), op.samples,
                              op.count / op.samples, op.at<T>(1), stream);
    case DeviceOpKind::kAddResidual:
      return cuda::Add<T>(op.at<T>(0), op.count, op.at<T>(1), stream);
    case DeviceOpKind::kAddLayerNorm:
      return cuda::AddLayerNorm<T>(op.at<T>(0), op.at<T>(1), op.at<float>(2), op.at<float>(3),
                                   op.epsilon, op.rows, op.in, op.at<T>(1), op.at<T>(4),
                                   op.at<float>(5), op.at<float>(6), stream);
    case DeviceOpKind::kClassify:
      return cuda::Classify<T>(op.at<T>(0), op.at<float>(1), op.rows, op.classes, op.in,
                               op.at<float>(2), stream);
    case DeviceOpKind::kCrossEntropyBackward:
      return cuda::SoftmaxCrossEntropyBackward<T>(op.at<T>(0), op.at<float>(1), op.at<float>(2),
                                                  op.rows, op.classes, op.in, op.at<T>(3), stream);
    case DeviceOpKind::kScoreBackward:
      return cuda::ScoreBackward<T>(op.at<float>(0), op.at<float>(1), op.at<float>(2), op.rows,
                                    op.out, op.at<T>(3), stream);
    case DeviceOpKind::kColumnSums:
      return cuda::AddColumnSums<T>(op.at<T>(0), op.rows, op.in, op.at<float>(1),
                                    static_cast<float*>(op.workspace.at), stream);
    case DeviceOpKind::kNarrowLinear:
      return cuda::NarrowLinear<T>(op.at<T>(0), op.at<T>(1), op.at<T>(2), op.rows, op.in,
                                   op.at<T>(3), stream);
    case DeviceOpKind::kNarrowBackwardInput:
      return cuda::NarrowBackwardInput<T>(op.at<T>(0), op.at<T>(1), op.rows, op.in, op.at<T>(2),
                                          stream);
    case DeviceOpKind::kNarrowBackwardWeight:
      return cuda::NarrowBackwardWeight<T>(op.at<T>(0), op.at<T>(1), op.rows, op.in,
                                           op.at<float>(2), static_cast<float*>(op.workspace.at),
                                           stream);
    case DeviceOpKind::kAdd:
      return cuda::Add<float>(op.at<float>(0), op.count, op.at<float>(1), stream);
    case DeviceOpKind::kNarrow:
      return cuda::Narrow(op.at<float>(0), op.count, op.at<HalfOf<T>>(1), stream);
    case DeviceOpKind::kWiden:
      return cuda::Widen(op.at<HalfOf<T>>(0), op.count, op.at<float>(1), stream);
    case DeviceOpKind::kGradientNorm:
      return cuda::GradientNorm(op.at<float>(0), op.count, op.at<double>(1),
                                static_cast<double*>(op.workspace.at), stream);
    case DeviceOpKind::kAdamw:
      return cuda::Adamw(op.at<cuda::UpdateScalars>(0), op.at<double>(1), op.at<uint8_t>(2),
                         op.at<float>(3), op.count, op.at<float>(4), op.at<float>(5),
                         op.at<float>(6), op.operands.size() > 7 ? op.at<Bf16>(7) : nullptr,
                         stream);
    default:
      return cudaErrorInvalidValue;  // Not one of our kernels.
  }
}

}  // namespace

size_t KernelWorkspace(const DeviceOp& op) {
  switch (op.kind) {
    case DeviceOpKind::kLayerNormBackward:
      return cuda::LayerNormWorkspace(op.rows, op.in) * sizeof(float);
    case DeviceOpKind::kAttentionBackward:
      if (OperandsOf(op) <= 4) return 0;
      return cuda::AttentionBiasWorkspace(HeadsOf(op)) * sizeof(float);
    case DeviceOpKind::kColumnSums:
      return cuda::ColumnSumWorkspace(op.rows, op.in) * sizeof(float);
    case DeviceOpKind::kNarrowBackwardWeight:
      return cuda::NarrowWorkspace(op.rows, op.in) * sizeof(float);
    case DeviceOpKind::kGradientNorm:
      return cuda::GradientNormWorkspace(op.count) * sizeof(double);
    default:
      return 0;
  }
}

int LaunchKernel(const DeviceOp& op, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  return op.bf16 ? LaunchOf<Bf16>(op, cuda_stream) : LaunchOf<float>(op, cuda_stream);
}

}  // namespace penstock
