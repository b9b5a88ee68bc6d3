// Attention as matrix products, for any number of tokens and with dropout: the cases that
// cpu/kernels.h has no function for.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_ATTENTION_PRODUCTS_H_

#include <cstddef>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/attention.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/backend/cpu/kernels.h"

namespace penstock {

// Borrows the kernels. The contracts are those of kernels/reference/attention.h, within rounding.
// Runs in the calling thread and allocates nothing: `scratch` must have the required number of
// floats, with any content. Thread-safe for distinct scratch.
class AttentionProducts {
 public:
  AttentionProducts(const CpuKernels& kernels, GemmEngine gemm) : kernels_(kernels), gemm_(gemm) {}

  static size_t ForwardScratch(const reference::AttentionShape& shape);
  static size_t BackwardScratch(const reference::AttentionShape& shape, const Dropout& dropout);

  void Forward(const float* qkv, const reference::AttentionShape& shape,
               const reference::AttentionOptions<float>& options, float* scratch, float* out) const;
  // Writes dqkv. Unless dbias is null, dbias += the bias gradient.
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
