// Attention of any number of tokens, with dropout, as matrix products: what cpu/kernels.h has no
// function of its own for.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_

#include <cstddef>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/attention.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/backend/cpu/kernels.h"

namespace penstock {

// Borrows the kernels. The contracts are those of kernels/reference/attention.h, within rounding.
// Runs in the calling thread and allocates nothing: `scratch` has as many floats as asked for,
// whose values before do not matter. Thread-safe for distinct scratch.
class AttentionProducts {
 public:
  AttentionProducts(const CpuKernels& kernels, GemmEngine gemm) : kernels_(kernels), gemm_(gemm) {}

  static size_t ForwardScratch(const reference::AttentionShape& shape);
  static size_t BackwardScratch(const reference::AttentionShape& shape, const Dropout& dropout);

  void Forward(const float* qkv, const reference::AttentionShape& shape,
               const reference::AttentionOptions<float>& options, float* scratch, float* out) const;
  // Writes dqkv; dbias, unless null, += the gradient by the bias.
  void Backward(const float* qkv, const float* dout, const reference::AttentionShape& shape,
                const reference::AttentionOptions<float>& options, float* scratch, float* dqkv,
                float* dbias) const;

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
