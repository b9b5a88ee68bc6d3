// reference/attention.h on the GPU. The rules of activation.h hold.
//
// Takes 1 to 256 tokens; head_dim is 16, 32 or 64. Scores and probabilities never reach
// global memory. The forward keeps nothing for the backward, which recomputes the softmax. No
// atomics. bf16 runs on the tensor cores with float sums; probabilities and their gradients are
// rounded to bf16 as operands. float is float throughout. The runtime refuses a shape whose rows do
// not fit a block's shared memory. On sm_90 every shape fits. On other GPUs the limits in tokens
// (forward, backward) are:
//
//   bytes of a block         bf16, heads of 64   float, heads of 64   float, heads of 32   others
//   163 KiB (sm_80)          256, 240            192, 224             all                  all
//   99 KiB (sm_86, sm_89)    224, 144            112, 144             224, 256             all
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_H_

#include <cstddef>
#include <cstdint>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/attention.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

using reference::AttentionShape;

// See reference::AttentionOptions.
struct AttentionOptions {
  // (heads, 64, 64) or null. -infinity excludes a key; a query with all keys excluded gets NaN.
  // REQUIRES: 64 tokens.
  const float* bias = nullptr;
  Dropout dropout;
  const DropoutDraw* draw = nullptr;  // In device memory; read only if dropout is active.
};

// qkv (samples, tokens, 3, heads, head_dim), out (samples, tokens, heads, head_dim).
template <typename T>
cudaError_t Attention(const T* qkv, const AttentionShape& shape, T* out,
                      const AttentionOptions& options, cudaStream_t stream);

// Number of floats of workspace that AttentionBackward() needs for the bias gradient.
size_t AttentionBiasWorkspace(const AttentionShape& shape);

// Writes dqkv, shaped as qkv. Unless dbias is null, dbias (heads, 64, 64) += the bias gradient, and
// `workspace` is used; otherwise `workspace` is not read.
template <typename T>
cudaError_t AttentionBackward(const T* qkv, const T* dout, const AttentionShape& shape, T* dqkv,
                              const AttentionOptions& options, float* dbias, float* workspace,
                              cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_H_
