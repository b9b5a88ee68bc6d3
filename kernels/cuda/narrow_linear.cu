#include "kernels/cuda/narrow_linear.h"

#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

constexpr int kColumns = static_cast<int>(kNarrow);

// A warp computes a row of y. Its lanes take vectors of x in turn.
template <typename T>
PENSTOCK_KERNEL void LinearKernel(const T* x, const T* w, const T* bias, size_t rows, size_t in,
                                  T* y) {
  constexpr size_t kSize = Vector<T>::kSize;
  const unsigned lane = simt::Thread() % simt::kWarp;
  const size_t stride = simt::ItemStride() / simt::kWarp;
  for (size_t row = simt::FirstItem() / simt::kWarp; row < rows; row += stride) {
    float sum[kColumns] = {};
    for (size_t at = lane * kSize; at < in; at += simt::kWarp * kSize) {
      const Floats<T> v = LoadVector(x + row * in + at);
      PENSTOCK_UNROLL for (int c = 0; c < kColumns; ++c) {
        const Floats<T> weight = LoadVector(w + c * in + at);
        PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
          sum[c] += v.values[i] * weight.values[i];
        }
      }
    }
    PENSTOCK_UNROLL for (int c = 0; c < kColumns; ++c) {
      PENSTOCK_UNROLL for (unsigned mask = simt::kWarp / 2; mask > 0; mask /= 2) {
        sum[c] += simt::ShuffleXor(sum[c], mask);
      }
      if (lane == static_cast<unsigned>(c)) {
        y[row * kNarrow + c] = FromFloat<T>(sum[c] + ToFloat(bias[c]));
      }
    }
  }
}

// A thread computes one vector of dx at a time.
template <typename T>
PENSTOCK_KERNEL void InputKernel(const T* dy, const T* w, size_t rows, size_t in, T* dx) {
  constexpr size_t kSize = Vector<T>::kSize;
  const size_t vectors = in / kSize;
  for (size_t item = simt::FirstItem(); item < rows * vectors; item += simt::ItemStride()) {
    const size_t row = item / vectors, at = item % vectors * kSize;
    Floats<T> sum = {};
    PENSTOCK_UNROLL for (int c = 0; c < kColumns; ++c) {
      const float gradient = ToFloat(dy[row * kNarrow + c]);
      const Floats<T> weight = LoadVector(w + c * in + at);
      PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
        sum.values[i] += gradient * weight.values[i];
      }
    }
    StoreVector(sum, dx + row * in + at);
  }
}

// A thread sums one column of x over the rows of its part, once for each column of dy.
template <typename T>
PENSTOCK_KERNEL void WeightPartsKernel(const T* dy, const T* x, size_t rows, size_t in,
                                       unsigned parts, float* partial) {
  const size_t column = size_t{simt::BlockX()} * simt::Threads() + simt::Thread();
  if (column >= in) return;
  const unsigned part = simt::BlockY();
  const size_t end = FirstOf(rows, parts, part + 1);
  float sum[kColumns] = {};
  for (size_t row = FirstOf(rows, parts, part); row < end; ++row) {
    const float value = ToFloat(x[row * in + column]);
    PENSTOCK_UNROLL for (int c = 0; c < kColumns; ++c) {
      sum[c] += ToFloat(dy[row * kNarrow + c]) * value;
    }
  }
  PENSTOCK_UNROLL for (int c = 0; c < kColumns; ++c) {
    partial[(part * kNarrow + c) * in + column] = sum[c];
  }
}

template <typename T>
bool IsWhole(size_t in) {
  return in % Vector<T>::kSize == 0;
}

}  // namespace

size_t NarrowWorkspace(size_t rows, size_t in) {
  return PartsOf(rows, kNarrow * in) * kNarrow * in;
}

template <typename T>
cudaError_t NarrowLinear(const T* x, const T* w, const T* bias, size_t rows, size_t in, T* y,
                         cudaStream_t stream) {
  if (!IsWhole<T>(in) || !AreAligned(x, w)) return cudaErrorInvalidValue;
  return simt::Launch(LinearKernel<T>, {.x = BlocksFor(rows * simt::kWarp), .threads = kThreads},
                      stream, x, w, bias, rows, in, y);
}

template <typename T>
cudaError_t NarrowBackwardInput(const T* dy, const T* w, size_t rows, size_t in, T* dx,
                                cudaStream_t stream) {
  if (!IsWhole<T>(in) || !AreAligned(w, dx)) return cudaErrorInvalidValue;
  const size_t vectors = rows * (in / Vector<T>::kSize);
  return simt::Launch(InputKernel<T>, {.x = BlocksFor(vectors), .threads = kThreads}, stream, dy, w,
                      rows, in, dx);
}

template <typename T>
cudaError_t NarrowBackwardWeight(const T* dy, const T* x, size_t rows, size_t in, float* dw,
                                 float* workspace, cudaStream_t stream) {
  if (!IsWhole<T>(in)) return cudaErrorInvalidValue;
  const unsigned parts = PartsOf(rows, kNarrow * in);
  const auto across = static_cast<unsigned>((in + kThreads - 1) / kThreads);
  const cudaError_t error =
      simt::Launch(WeightPartsKernel<T>, {.x = across, .y = parts, .threads = kThreads}, stream, dy,
                   x, rows, in, parts, workspace);
  if (error != cudaSuccess) return error;
  return AddStridedParts(workspace, parts, kNarrow * in, kNarrow * in, dw, stream);
}

template cudaError_t NarrowLinear(const float*, const float*, const float*, size_t, size_t, float*,
                                  cudaStream_t);
template cudaError_t NarrowLinear(const Bf16*, const Bf16*, const Bf16*, size_t, size_t, Bf16*,
                                  cudaStream_t);
template cudaError_t NarrowBackwardInput(const float*, const float*, size_t, size_t, float*,
                                         cudaStream_t);
template cudaError_t NarrowBackwardInput(const Bf16*, const Bf16*, size_t, size_t, Bf16*,
                                         cudaStream_t);
template cudaError_t NarrowBackwardWeight(const float*, const float*, size_t, size_t, float*,
                                          float*, cudaStream_t);
template cudaError_t NarrowBackwardWeight(const Bf16*, const Bf16*, size_t, size_t, float*, float*,
                                          cudaStream_t);

}  // namespace penstock::cuda
