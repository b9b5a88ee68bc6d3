#include "kernels/cuda/half.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

constexpr int kFour = Vector<float>::kSize;

// Each thread converts one vector of halves, which is two vectors of floats.
template <typename Half>
PENSTOCK_KERNEL void NarrowKernel(const float* from, size_t count, Half* to) {
  constexpr int kSize = Vector<Half>::kSize;
  for (size_t at = simt::FirstItem() * kSize; at < count; at += simt::ItemStride() * kSize) {
    const Floats<float> low = LoadUpTo(from, at, count), high = LoadUpTo(from, at + kFour, count);
    Floats<Half> x;
    PENSTOCK_UNROLL for (int i = 0; i < kFour; ++i) {
      x.values[i] = low.values[i] * kWireScale<Half>;
      x.values[i + kFour] = high.values[i] * kWireScale<Half>;
    }
    StoreUpTo(x, to, at, count);
  }
}

template <typename Half>
PENSTOCK_KERNEL void WidenKernel(const Half* from, size_t count, float* to) {
  constexpr int kSize = Vector<Half>::kSize;
  for (size_t at = simt::FirstItem() * kSize; at < count; at += simt::ItemStride() * kSize) {
    const Floats<Half> x = LoadUpTo(from, at, count);
    Floats<float> low, high;
    PENSTOCK_UNROLL for (int i = 0; i < kFour; ++i) {
      low.values[i] = x.values[i] * (1.0f / kWireScale<Half>);
      high.values[i] = x.values[i + kFour] * (1.0f / kWireScale<Half>);
    }
    StoreUpTo(low, to, at, count);
    StoreUpTo(high, to, at + kFour, count);
  }
}

template <typename Half>
unsigned BlocksOf(size_t count) {
  return BlocksFor((count + Vector<Half>::kSize - 1) / Vector<Half>::kSize);
}

}  // namespace

template <typename Half>
cudaError_t Narrow(const float* from, size_t count, Half* to, cudaStream_t stream) {
  if (!AreAligned(from, to)) return cudaErrorInvalidValue;
  return simt::Launch(NarrowKernel<Half>, {.x = BlocksOf<Half>(count), .threads = kThreads}, stream,
                      from, count, to);
}

template <typename Half>
cudaError_t Widen(const Half* from, size_t count, float* to, cudaStream_t stream) {
  if (!AreAligned(from, to)) return cudaErrorInvalidValue;
  return simt::Launch(WidenKernel<Half>, {.x = BlocksOf<Half>(count), .threads = kThreads}, stream,
                      from, count, to);
}

#define PENSTOCK_INSTANTIATE(Half)                                        \
  template cudaError_t Narrow(const float*, size_t, Half*, cudaStream_t); \
  template cudaError_t Widen(const Half*, size_t, float*, cudaStream_t);
PENSTOCK_INSTANTIATE(Bf16)
PENSTOCK_INSTANTIATE(Fp16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
