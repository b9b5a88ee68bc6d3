#include "kernels/cuda/layer_norm.h"

#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

constexpr unsigned kWarps = kThreads / simt::kWarp;

// A lane's position. kLanes lanes share a row; if rows are short, a warp takes several.
template <typename T, int kLanes>
struct Place {
  static constexpr unsigned kRows = simt::kWarp / kLanes;  // Rows per warp.
  static constexpr int kSize = Vector<T>::kSize;
  unsigned lane = simt::Thread() % kLanes;
  unsigned row = simt::Thread() / kLanes;  // Row within the block.
  PENSTOCK_DEVICE size_t Column(int chunk) const { return (chunk * kLanes + lane) * kSize; }
};

// Sums over the lanes of a row.
template <int kLanes>
PENSTOCK_DEVICE float SumLanes(float x) {
  PENSTOCK_UNROLL for (unsigned mask = kLanes / 2; mask > 0; mask /= 2) {
    x += simt::ShuffleXor(x, mask);
  }
  return x;
}

PENSTOCK_DEVICE float InverseRoot(float x) { return 1.0f / sqrtf(x); }

template <typename T>
struct Forward {
  const T* x;
  const T* residual;  // May be null.
  const float* gamma;
  const float* beta;
  float epsilon;
  size_t rows, dim;
  T* sum;
  T* y;
  float* mean;
  float* rstd;
};

template <typename T, int kLanes, int kChunks>
struct Row {
  Floats<T> chunks[kChunks];

  template <typename Function>
  PENSTOCK_DEVICE float Sum(const Place<T, kLanes>& place, size_t dim, Function function) const {
    float sum = 0;
    PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
      if (place.Column(c) >= dim) continue;
      PENSTOCK_UNROLL for (float value : chunks[c].values) sum += function(value);
    }
    return SumLanes<kLanes>(sum);
  }
};

// Loads x. With a residual, loads x + residual instead, rounds it to T and stores it.
template <typename T, int kLanes, int kChunks>
PENSTOCK_DEVICE void LoadRow(const Forward<T>& f, const Place<T, kLanes>& place, size_t row,
                             Row<T, kLanes, kChunks>& values) {
  PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
    const size_t column = place.Column(c), at = row * f.dim + column;
    if (column >= f.dim) continue;
    Floats<T>& v = values.chunks[c];
    v = LoadVector(f.x + at);
    if (f.residual == nullptr) continue;
    const Floats<T> r = LoadVector(f.residual + at);
    PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
      v.values[i] = ToFloat(FromFloat<T>(v.values[i] + r.values[i]));
    }
    StoreVector(v, f.sum + at);
  }
}

// Number of blocks that the registers of a multiprocessor hold, by the number of values of a lane.
// Without this bound, rows of 1,024 values take a few registers more, and one block fewer fits. The
// emulation does not use it.
template <typename T, int kChunks>
[[maybe_unused]] constexpr int kForwardBlocks = kChunks* Vector<T>::kSize <= 8    ? 8
                                                : kChunks* Vector<T>::kSize <= 16 ? 5
                                                                                  : 4;

template <typename T, int kLanes, int kChunks>
PENSTOCK_KERNEL void PENSTOCK_LAUNCH_BOUNDS(kThreads, (kForwardBlocks<T, kChunks>))
    LayerNormKernel(Forward<T> f) {
  const Place<T, kLanes> place;
  constexpr unsigned kRows = kWarps * Place<T, kLanes>::kRows;
  // All lanes of a warp loop equally often: rows beyond the last are computed, but not stored.
  for (size_t first = size_t{simt::BlockX()} * kRows; first < f.rows;
       first += size_t{simt::GridX()} * kRows) {
    const size_t row = first + place.row;
    Row<T, kLanes, kChunks> x = {};
    if (row < f.rows) LoadRow(f, place, row, x);
    const float mean = x.Sum(place, f.dim, [](float v) { return v; }) / static_cast<float>(f.dim);
    const float squares = x.Sum(place, f.dim, [mean](float v) { return (v - mean) * (v - mean); });
    const float rstd = InverseRoot(squares / static_cast<float>(f.dim) + f.epsilon);
    if (row >= f.rows) continue;
    PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
      const size_t column = place.Column(c);
      if (column >= f.dim) continue;
      Floats<T>& v = x.chunks[c];
      const Floats<T> gamma = LoadFloats<T>(f.gamma + column);
      const Floats<T> beta = LoadFloats<T>(f.beta + column);
      PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
        v.values[i] = (v.values[i] - mean) * rstd * gamma.values[i] + beta.values[i];
      }
      StoreVector(v, f.y + row * f.dim + column);
    }
    if (place.lane == 0) {
      f.mean[row] = mean;
      f.rstd[row] = rstd;
    }
  }
}

template <typename T>
struct Backward {
  const T* dy;
  const T* x;
  const float* gamma;
  const float* mean;
  const float* rstd;
  size_t rows, dim;
  const T* residual_gradient;  // May be null.
  T* dx;
  float* partial;  // (parts, 2, dim): gradients of gamma, then of beta.
  unsigned parts;
};

// Adds the block's sums to shared (2, dim), warp by warp, then writes them to its part of
// `partial`.
template <typename T, int kLanes, int kChunks>
PENSTOCK_DEVICE void StorePart(const Backward<T>& b, const Place<T, kLanes>& place,
                               Floats<T> (&dgamma)[kChunks], Floats<T> (&dbeta)[kChunks]) {
  auto* shared = reinterpret_cast<float*>(simt::Shared());
  const unsigned thread = simt::Thread(), warp = thread / simt::kWarp;
  for (size_t i = thread; i < 2 * b.dim; i += kThreads) shared[i] = 0;
  PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
    PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
      PENSTOCK_UNROLL for (unsigned mask = kLanes; mask < simt::kWarp; mask *= 2) {
        dgamma[c].values[i] += simt::ShuffleXor(dgamma[c].values[i], mask);
        dbeta[c].values[i] += simt::ShuffleXor(dbeta[c].values[i], mask);
      }
    }
  }
  for (unsigned w = 0; w < kWarps; ++w) {
    simt::SyncBlock();
    if (w != warp || thread % simt::kWarp >= kLanes) continue;
    PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
      if (place.Column(c) >= b.dim) continue;
      PENSTOCK_UNROLL for (int i = 0; i < Vector<T>::kSize; ++i) {
        shared[place.Column(c) + i] += dgamma[c].values[i];
        shared[b.dim + place.Column(c) + i] += dbeta[c].values[i];
      }
    }
  }
  simt::SyncBlock();
  float* partial = b.partial + simt::BlockX() * 2 * b.dim;
  for (size_t i = thread; i < 2 * b.dim; i += kThreads) partial[i] = shared[i];
}

template <typename T, int kLanes, int kChunks>
PENSTOCK_KERNEL void PENSTOCK_LAUNCH_BOUNDS(kThreads, 1) LayerNormBackwardKernel(Backward<T> b) {
  const Place<T, kLanes> place;
  constexpr unsigned kRows = kWarps * Place<T, kLanes>::kRows;
  constexpr int kSize = Vector<T>::kSize;
  Floats<T> dgamma[kChunks] = {}, dbeta[kChunks] = {};
  const size_t end = FirstOf(b.rows, b.parts, simt::BlockX() + 1);
  for (size_t first = FirstOf(b.rows, b.parts, simt::BlockX()); first < end; first += kRows) {
    const size_t row = first + place.row;
    const float mean = row < end ? b.mean[row] : 0, rstd = row < end ? b.rstd[row] : 0;
    Row<T, kLanes, kChunks> g = {}, normal = {};  // dy * gamma; x normalised.
    Vector<T> residual[kChunks] = {};             // Loaded before the lanes wait for one another.
    float sum = 0, dot = 0;
    PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
      const size_t column = place.Column(c);
      if (column >= b.dim || row >= end) continue;
      const Floats<T> dy = LoadVector(b.dy + row * b.dim + column);
      const Floats<T> gamma = LoadFloats<T>(b.gamma + column);
      normal.chunks[c] = LoadVector(b.x + row * b.dim + column);
      if (b.residual_gradient != nullptr) {
        residual[c] = LoadBits(b.residual_gradient + row * b.dim + column);
      }
      PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) {
        float& n = normal.chunks[c].values[i];
        n = (n - mean) * rstd;
        g.chunks[c].values[i] = dy.values[i] * gamma.values[i];
        dgamma[c].values[i] += dy.values[i] * n;
        dbeta[c].values[i] += dy.values[i];
        sum += g.chunks[c].values[i];
        dot += g.chunks[c].values[i] * n;
      }
    }
    sum = SumLanes<kLanes>(sum) / static_cast<float>(b.dim);
    dot = SumLanes<kLanes>(dot) / static_cast<float>(b.dim);
    PENSTOCK_UNROLL for (int c = 0; c < kChunks; ++c) {
      const size_t column = place.Column(c), at = row * b.dim + column;
      if (column >= b.dim || row >= end) continue;
      Floats<T> dx = ToFloats(residual[c]);
      PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) {
        dx.values[i] += rstd * (g.chunks[c].values[i] - sum - normal.chunks[c].values[i] * dot);
      }
      StoreVector(dx, b.dx + at);
    }
  }
  StorePart<T, kLanes, kChunks>(b, place, dgamma, dbeta);
}

template <typename T, int kLanes, int kChunks>
cudaError_t LaunchForward(const Forward<T>& f, cudaStream_t stream) {
  const size_t blocks = (f.rows * kLanes + kThreads - 1) / kThreads;
  return simt::Launch(
      LayerNormKernel<T, kLanes, kChunks>,
      {.x = static_cast<unsigned>(std::min(blocks, kMostBlocks)), .threads = kThreads}, stream, f);
}

template <typename T, int kLanes, int kChunks>
cudaError_t LaunchBackward(const Backward<T>& b, cudaStream_t stream) {
  const auto shared = static_cast<unsigned>(2 * b.dim * sizeof(float));
  return simt::Launch(LayerNormBackwardKernel<T, kLanes, kChunks>,
                      {.x = b.parts, .threads = kThreads, .shared = shared}, stream, b);
}

// Calls launch<lanes, chunks>.
#define PENSTOCK_FOR_LAYOUT(launch, arguments)                                  \
  const RowLayout layout = NormLayout(arguments.dim, Vector<T>::kSize);         \
  switch (layout.lanes * 16 + layout.chunks) {                                  \
    case 8 * 16 + 1:                                                            \
      return launch<T, 8, 1>(arguments, stream);                                \
    case 16 * 16 + 1:                                                           \
      return launch<T, 16, 1>(arguments, stream);                               \
    case 32 * 16 + 1:                                                           \
      return launch<T, 32, 1>(arguments, stream);                               \
    case 32 * 16 + 2:                                                           \
      return launch<T, 32, 2>(arguments, stream);                               \
    case 32 * 16 + 4:                                                           \
      return launch<T, 32, 4>(arguments, stream);                               \
    case 32 * 16 + 8:                                                           \
      if constexpr (sizeof(T) == 4) return launch<T, 32, 8>(arguments, stream); \
  }                                                                             \
  return cudaErrorInvalidValue

template <typename T>
cudaError_t ForLayout(const Forward<T>& f, cudaStream_t stream) {
  PENSTOCK_FOR_LAYOUT(LaunchForward, f);
}

template <typename T>
cudaError_t ForLayout(const Backward<T>& b, cudaStream_t stream) {
  PENSTOCK_FOR_LAYOUT(LaunchBackward, b);
}
#undef PENSTOCK_FOR_LAYOUT

}  // namespace

template <typename T>
cudaError_t LayerNorm(const T* x, const float* gamma, const float* beta, float epsilon, size_t rows,
                      size_t dim, T* y, float* mean, float* rstd, cudaStream_t stream) {
  if (!AreAligned(x, gamma, beta, y)) return cudaErrorInvalidValue;
  return ForLayout<T>({x, nullptr, gamma, beta, epsilon, rows, dim, nullptr, y, mean, rstd},
                      stream);
}

template <typename T>
cudaError_t AddLayerNorm(const T* x, const T* residual, const float* gamma, const float* beta,
                         float epsilon, size_t rows, size_t dim, T* sum, T* y, float* mean,
                         float* rstd, cudaStream_t stream) {
  if (residual == nullptr || !AreAligned(x, residual, gamma, beta, sum, y)) {
    return cudaErrorInvalidValue;
  }
  return ForLayout<T>({x, residual, gamma, beta, epsilon, rows, dim, sum, y, mean, rstd}, stream);
}

size_t LayerNormWorkspace(size_t rows, size_t dim) { return PartsOf(rows) * 2 * dim; }

template <typename T>
cudaError_t LayerNormBackward(const T* dy, const T* x, const float* gamma, const float* mean,
                              const float* rstd, size_t rows, size_t dim,
                              const T* residual_gradient, T* dx, float* dgamma, float* dbeta,
                              float* workspace, cudaStream_t stream) {
  if (!AreAligned(dy, x, gamma, residual_gradient, dx)) return cudaErrorInvalidValue;
  const unsigned parts = PartsOf(rows);
  const Backward<T> b{dy, x, gamma, mean, rstd, rows, dim, residual_gradient, dx, workspace, parts};
  if (cudaError_t error = ForLayout(b, stream); error != cudaSuccess) return error;
  return AddPairedParts(workspace, parts, dim, dgamma, dbeta, stream);
}

#define PENSTOCK_INSTANTIATE(T)                                                                    \
  template cudaError_t LayerNorm(const T*, const float*, const float*, float, size_t, size_t, T*,  \
                                 float*, float*, cudaStream_t);                                    \
  template cudaError_t AddLayerNorm(const T*, const T*, const float*, const float*, float, size_t, \
                                    size_t, T*, T*, float*, float*, cudaStream_t);                 \
  template cudaError_t LayerNormBackward(const T*, const T*, const float*, const float*,           \
                                         const float*, size_t, size_t, const T*, T*, float*,       \
                                         float*, float*, cudaStream_t);
PENSTOCK_INSTANTIATE(float)
PENSTOCK_INSTANTIATE(Bf16)
#undef PENSTOCK_INSTANTIATE

}  // namespace penstock::cuda
