#include "kernels/cuda/attention_launch.h"

namespace penstock::cuda {

size_t AttentionBiasWorkspace(const AttentionShape& shape) {
  return size_t{BiasParts(shape.samples, shape.heads)} * shape.heads * kBiasTokens * kBiasTokens;
}

PENSTOCK_INSTANTIATE_ATTENTION(Bf16)

}  // namespace penstock::cuda
