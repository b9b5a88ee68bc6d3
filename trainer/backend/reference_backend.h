// Runs a block's operations with the plain references, in any precision. Used for operations that
// no backend has a faster version of, and for the whole model that backends are tested against.
#ifndef PENSTOCK_TRAINER_BACKEND_REFERENCE_BACKEND_H_
#define PENSTOCK_TRAINER_BACKEND_REFERENCE_BACKEND_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "kernels/reference/activation.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/board_features.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/images.h"
#include "kernels/reference/layer_norm.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/loss.h"
#include "kernels/reference/pool.h"
#include "trainer/backend/block_memory.h"
#include "trainer/step/program.h"

namespace penstock {

// REQUIRES: samples <= program.rows.
template <typename T>
void RunReferenceOp(const StepProgram& program, const Op& op, const BlockMemory<T>& memory,
                    size_t samples) {
  namespace ref = reference;
  const OpShape& shape = op.shape;
  const size_t rows = samples * shape.rows_per_sample;
  auto at = [&](size_t operand) { return memory.At(program, op, operand); };
  auto if_any = [&](size_t operand) { return memory.AtIfAny(program, op, operand); };
  auto bytes = [&](size_t operand) { return memory.BytesAt(program, op, operand); };
  switch (op.kind) {
    case OpKind::kExpandPacked:
      return ref::ExpandPackedBoards(static_cast<const uint8_t*>(bytes(0)), samples, at(1));
    case OpKind::kJoinI8:
      return ref::JoinBoardPlanes(static_cast<const int8_t*>(bytes(0)),
                                  static_cast<const int8_t*>(bytes(1)), samples, at(2));
    case OpKind::kJoinF32:
      return ref::JoinBoardPlanes(static_cast<const float*>(bytes(0)),
                                  static_cast<const float*>(bytes(1)), samples, at(2));
    case OpKind::kPatchImages:
      return ref::NormalizeImages<T>(static_cast<const uint8_t*>(bytes(0)),
                                     ref::SquareImages(samples, shape.rows_per_sample, shape.patch),
                                     shape.pixels, at(1));
    case OpKind::kLinear:
      return ref::Linear<T>(at(0), at(1), at(2), if_any(4), rows, shape.in, shape.out, at(3));
    case OpKind::kLinearGelu:
      ref::Linear<T>(at(0), at(1), at(2), nullptr, rows, shape.in, shape.out, at(3));
      return ref::Gelu<T>(at(3), ref::GeluForm::kTanh, rows * shape.out, at(4));
    case OpKind::kAddPosition:
      return ref::AddPosition<T>(at(0), samples, shape.rows_per_sample * shape.in, at(1));
    case OpKind::kLayerNorm:
      return ref::LayerNorm<T>(at(0), at(1), at(2), T(shape.epsilon), rows, shape.in, at(3), at(4),
                               at(5));
    case OpKind::kAttention:
      return ref::Attention<T>(at(0), AttentionShapeOf(shape, samples), at(1),
                               memory.AttentionOptionsOf(op, if_any(2)));
    case OpKind::kGelu:
      return ref::Gelu<T>(at(0), shape.gelu, rows * shape.in, at(1));
    case OpKind::kMeanPool:
      return ref::MeanPool<T>(at(0), samples, shape.rows_per_sample, shape.in, at(1));
    case OpKind::kTanh:
      return ref::Tanh<T>(at(0), rows * shape.in, at(1));
    case OpKind::kDropout:
      return ref::DropOut<T>(at(0), shape.dropout, memory.KeyOf(op),
                             memory.first_row * shape.rows_per_sample * shape.in, rows * shape.in,
                             at(1));
    case OpKind::kAddResidual:
      return ref::Add<T>(at(0), rows * shape.in, at(1));
    case OpKind::kAddLayerNorm:
      ref::Add<T>(at(0), rows * shape.in, at(1));
      return ref::LayerNorm<T>(at(1), at(2), at(3), T(shape.epsilon), rows, shape.in, at(4), at(5),
                               at(6));
    case OpKind::kClassify:
      return ref::Classify<T>(at(0), at(1), rows, shape.classes, shape.in, at(2));
    case OpKind::kCrossEntropyBackward: {
      const std::vector<T> weights(rows, memory.loss_weight);
      return ref::SoftmaxCrossEntropyBackward<T>(at(0), at(1), weights.data(), rows, shape.classes,
                                                 shape.in, at(2));
    }
    case OpKind::kSquaredErrorBackward:
      return ref::SquaredErrorBackward<T>(at(0), at(1), memory.loss_weight, rows, at(2));
    case OpKind::kTanhBackward:
      return ref::TanhBackward<T>(at(1), at(0), rows * shape.in, at(1));
    case OpKind::kMeanPoolBackward:
      return ref::MeanPoolBackward<T>(at(0), samples, shape.rows_per_sample, shape.in, at(1));
    case OpKind::kGeluBackward:
      return ref::GeluBackward<T>(at(1), at(0), shape.gelu, rows * shape.in, at(1));
    case OpKind::kAttentionBackward:
      return ref::AttentionBackward<T>(at(0), at(1), AttentionShapeOf(shape, samples), at(2),
                                       memory.AttentionOptionsOf(op, if_any(3)), if_any(4));
    case OpKind::kLayerNormBackward:
      if (op.operands[5].access == Access::kWrite) std::fill_n(at(5), rows * shape.in, T(0));
      return ref::LayerNormBackward<T>(at(0), at(1), at(2), at(3), at(4), rows, shape.in, at(5),
                                       at(6), at(7));
    case OpKind::kAddPositionBackward:
      return ref::AddPositionBackward<T>(at(0), samples, shape.rows_per_sample * shape.in, at(1));
    case OpKind::kLinearBackwardInput:
      return ref::LinearBackwardInput<T>(at(0), at(1), rows, shape.in, shape.out, at(2));
    case OpKind::kLinearBackwardGelu:
      ref::LinearBackwardInput<T>(at(0), at(1), rows, shape.in, shape.out, at(3));
      return ref::GeluBackward<T>(at(3), at(2), ref::GeluForm::kTanh, rows * shape.in, at(3));
    case OpKind::kLinearBackwardWeight:
      return ref::LinearBackwardWeight<T>(at(0), at(1), rows, shape.in, shape.out, at(2), at(3));
    case OpKind::kAddGradients:
    case OpKind::kGradientNorm:
    case OpKind::kAdamw:
      std::abort();  // Not a block operation.
  }
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_REFERENCE_BACKEND_H_
