// The launchers of attention for one T. The .cu file of each T includes this.
#ifndef PENSTOCK_KERNELS_CUDA_ATTENTION_LAUNCH_H_
#define PENSTOCK_KERNELS_CUDA_ATTENTION_LAUNCH_H_

#include <limits>

#include "kernels/cuda/attention_backward.h"
#include "kernels/cuda/attention_forward.h"
#include "kernels/cuda/column_sum.h"

namespace penstock::cuda {

template <typename T>
bool IsPossible(const AttentionShape& shape, const AttentionOptions& options) {
  constexpr size_t kMost = std::numeric_limits<int>::max();
  return shape.tokens >= 1 && shape.tokens <= kMostTokens && shape.heads >= 1 &&
         shape.heads <= kMost && shape.samples <= kMost / shape.heads &&
         (options.bias == nullptr || shape.tokens == kBiasTokens) &&
         (!options.dropout.active() || options.draw != nullptr);
}

template <typename T>
AttentionArguments<T> ArgumentsOf(const T* qkv, const T* dout, T* out, const AttentionShape& shape,
                                  const AttentionOptions& options) {
  const auto samples = static_cast<unsigned>(shape.samples);
  return {qkv,
          dout,
          out,
          samples,
          static_cast<unsigned>(shape.tokens),
          static_cast<unsigned>(shape.heads),
          samples,
          options.bias,
          nullptr,
          options.dropout,
          options.draw};
}

template <typename T, int kDim, bool kExtras, unsigned kTokens>
cudaError_t Launch(const AttentionArguments<T>& a, cudaStream_t stream) {
  const bool backward = a.dout != nullptr;
  const unsigned bias_shared = a.dbias != nullptr ? kBiasShared : 0;
  const simt::Grid grid{.x = a.parts * a.heads,
                        .threads = AttentionWarps(a.tokens) * simt::kWarp,
                        .shared = backward ? BackwardShared<T>(a.tokens, kDim) + bias_shared
                                           : ForwardShared<T>(a.tokens, kDim)};
  if (backward) {
    return simt::Launch(AttentionBackwardKernel<T, kDim, kExtras, kTokens>, grid, stream, a);
  }
  return simt::Launch(AttentionKernel<T, kDim, kExtras, kTokens>, grid, stream, a);
}

template <typename T, int kDim>
cudaError_t Launch(const AttentionArguments<T>& a, cudaStream_t stream) {
  const bool extras = a.bias != nullptr || a.dropout.active() || a.dbias != nullptr;
  if constexpr (sizeof(T) == 2) {  // Not float, which is for comparisons only.
    if (a.tokens == kFixedTokens) {
      return extras ? Launch<T, kDim, true, kFixedTokens>(a, stream)
                    : Launch<T, kDim, false, kFixedTokens>(a, stream);
    }
  }
  return extras ? Launch<T, kDim, true, kAnyTokens>(a, stream)
                : Launch<T, kDim, false, kAnyTokens>(a, stream);
}

template <typename T>
cudaError_t LaunchFor(size_t head_dim, const AttentionArguments<T>& a, cudaStream_t stream) {
  switch (head_dim) {
    case 16:
      return Launch<T, 16>(a, stream);
    case 32:
      return Launch<T, 32>(a, stream);
    case 64:
      return Launch<T, 64>(a, stream);
  }
  return cudaErrorInvalidValue;
}

template <typename T>
cudaError_t Attention(const T* qkv, const AttentionShape& shape, T* out,
                      const AttentionOptions& options, cudaStream_t stream) {
  if (!IsPossible<T>(shape, options) || !AreAligned(qkv, out)) return cudaErrorInvalidValue;
  return LaunchFor(shape.head_dim, ArgumentsOf<T>(qkv, nullptr, out, shape, options), stream);
}

template <typename T>
cudaError_t AttentionBackward(const T* qkv, const T* dout, const AttentionShape& shape, T* dqkv,
                              const AttentionOptions& options, float* dbias, float* workspace,
                              cudaStream_t stream) {
  if (!IsPossible<T>(shape, options) || dout == nullptr || !AreAligned(qkv, dout, dqkv) ||
      (dbias != nullptr && shape.tokens != kBiasTokens)) {
    return cudaErrorInvalidValue;
  }
  AttentionArguments<T> a = ArgumentsOf(qkv, dout, dqkv, shape, options);
  if (dbias != nullptr) {
    a.parts = BiasParts(shape.samples, shape.heads);
    a.dbias = workspace;
  }
  const cudaError_t error = LaunchFor(shape.head_dim, a, stream);
  if (error != cudaSuccess || dbias == nullptr) return error;
  const size_t size = shape.heads * kBiasTokens * kBiasTokens;
  return AddStridedParts(workspace, a.parts, size, size, dbias, stream);
}

#define PENSTOCK_INSTANTIATE_ATTENTION(T)                                                      \
  template cudaError_t Attention(const T*, const AttentionShape&, T*, const AttentionOptions&, \
                                 cudaStream_t);                                                \
  template cudaError_t AttentionBackward(const T*, const T*, const AttentionShape&, T*,        \
                                         const AttentionOptions&, float*, float*, cudaStream_t);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_ATTENTION_LAUNCH_H_
