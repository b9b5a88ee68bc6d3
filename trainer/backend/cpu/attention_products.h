// Attention of any number of tokens, with dropout, as matrix products: what cpu/kernels.h has no
// function of its own for.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_

#include "kernels/reference/attention.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/backend/cpu/kernels.h"

namespace penstock {

// Borrows the kernels. The contracts are those of kernels/reference/attention.h, within rounding.
// Runs in the calling thread and takes 2 tokens^2 (backward with dropout 3) and a few more floats
// of memory. Thread-safe.
class AttentionProducts {
 public:
  AttentionProducts(const CpuKernels& kernels, GemmEngine gemm) : kernels_(kernels), gemm_(gemm) {}

  void Forward(const float* qkv, const reference::AttentionShape& shape,
               const reference::AttentionOptions<float>& options, float* out) const;
  // Writes dqkv; dbias, unless null, += the gradient by the bias.
  void Backward(const float* qkv, const float* dout, const reference::AttentionShape& shape,
                const reference::AttentionOptions<float>& options, float* dqkv, float* dbias) const;

 private:
  using Head = reference::AttentionHead<float>;
  // p (tokens, tokens) = the softmax, before dropout.
  void Probabilities(const Head& head, float* p) const;
  void DropOut(const Head& head, const float* p, float* y) const;

  const CpuKernels& kernels_;
  const GemmEngine gemm_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_
