// Addresses of a block program's arenas while it runs.
#ifndef PENSTOCK_TRAINER_BACKEND_BLOCK_MEMORY_H_
#define PENSTOCK_TRAINER_BACKEND_BLOCK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/counter_rng.h"
#include "kernels/reference/attention.h"
#include "trainer/step/program.h"

namespace penstock {

// Borrows all arrays. `flags` is null if rows have no flags; `gradients` is null for inference, and
// so is `targets` for inference with a model of boards.
template <typename T>
struct BlockMemory {
  const T* parameters = nullptr;
  const uint16_t* rounded_parameters = nullptr;  // A bfloat16 copy of the parameters, or null.
  T* gradients = nullptr;
  T* activations = nullptr;
  T* scratch = nullptr;  // An executor's working memory, for one operation at a time.
  const T* targets = nullptr;
  T* predictions = nullptr;
  const void* input = nullptr;
  const void* flags = nullptr;
  T loss_weight = 0;  // 1 / samples of the global batch.
  // Used by dropout: the batch's key, and the place of the block's first row in the batch.
  uint64_t random_key = 0;
  size_t first_row = 0;
  // Whether gradients of linear weights are overwritten and never read. All other gradients are
  // always added to.
  bool new_weight_gradients = false;

  // Operand `index` of `op`. The program says which operands are written, so this casts constness
  // away.
  T* At(const StepProgram& program, const Op& op, size_t index) const {
    const Buffer& buffer = program.buffers[op.operands[index].buffer];
    return Base(buffer.arena) + buffer.offset;
  }
  // The same, or null if the operation lacks this operand: trailing operands may be omitted.
  T* AtIfAny(const StepProgram& program, const Op& op, size_t index) const {
    return index < op.operands.size() ? At(program, op, index) : nullptr;
  }
  // The rounded copy of a parameter; null if there are no copies.
  const uint16_t* RoundedAt(const StepProgram& program, const Op& op, size_t index) const {
    if (rounded_parameters == nullptr) return nullptr;
    return rounded_parameters + program.buffers[op.operands[index].buffer].offset;
  }
  // The key of an operation with dropout.
  uint64_t KeyOf(const Op& op) const { return DeriveKey(random_key, op.shape.site); }
  reference::AttentionOptions<T> AttentionOptionsOf(const Op& op, const T* bias) const {
    return {.bias = bias, .dropout = op.shape.dropout, .key = KeyOf(op), .first_sample = first_row};
  }
  const void* BytesAt(const StepProgram& program, const Op& op, size_t index) const {
    const Buffer& buffer = program.buffers[op.operands[index].buffer];
    return buffer.arena == Arena::kInput ? input : flags;
  }

 private:
  T* Base(Arena arena) const {
    switch (arena) {
      case Arena::kParameters:
        return const_cast<T*>(parameters);
      case Arena::kGradients:
        return gradients;
      case Arena::kActivations:
        return activations;
      case Arena::kTargets:
        return const_cast<T*>(targets);
      case Arena::kPredictions:
        return predictions;
      default:
        std::abort();  // Not a float arena of a block.
    }
  }
};

inline reference::AttentionShape AttentionShapeOf(const OpShape& shape, size_t samples) {
  return reference::AttentionShape::OfWidth(samples, shape.rows_per_sample, shape.heads, shape.in);
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_BLOCK_MEMORY_H_
