#include "kernels/cuda/column_sum.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

// A block is kGroups warps; warp g takes every kGroups-th row, lanes neighbouring columns.
constexpr unsigned kGroups = 8;
constexpr unsigned kBlock = kGroups * simt::kWarp;

// Adds the groups' values in order; the result is valid in group 0. `shared` has room for kBlock
// floats a value.
template <int kValues>
PENSTOCK_DEVICE void SumGroups(float (&sum)[kValues], float* shared) {
  PENSTOCK_UNROLL for (int v = 0; v < kValues; ++v) shared[v * kBlock + simt::Thread()] = sum[v];
  simt::SyncBlock();
  if (simt::Thread() >= simt::kWarp) return;
  PENSTOCK_UNROLL for (int v = 0; v < kValues; ++v) {
    for (unsigned g = 1; g < kGroups; ++g) {
      sum[v] += shared[v * kBlock + g * simt::kWarp + simt::Thread()];
    }
  }
}

template <typename T>
PENSTOCK_KERNEL void PartSumKernel(const T* x, size_t rows, size_t columns, unsigned parts,
                                   float* partial) {
  constexpr int kSize = Vector<T>::kSize;
  const unsigned part = simt::BlockY(), group = simt::Thread() / simt::kWarp;
  const size_t column =
      (size_t{simt::BlockX()} * simt::kWarp + simt::Thread() % simt::kWarp) * kSize;
  float sum[kSize] = {};
  if (column < columns) {
    const size_t end = FirstOf(rows, parts, part + 1);
    for (size_t row = FirstOf(rows, parts, part) + group; row < end; row += kGroups) {
      const Floats<T> v = LoadVector(x + row * columns + column);
      PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) sum[i] += v.values[i];
    }
  }
  SumGroups(sum, reinterpret_cast<float*>(simt::Shared()));
  if (group != 0 || column >= columns) return;
  PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) partial[part * columns + column + i] = sum[i];
}

PENSTOCK_KERNEL void AddPartsKernel(const float* partial, size_t parts, size_t stride,
                                    size_t columns, float* sums) {
  const unsigned group = simt::Thread() / simt::kWarp;
  const size_t column = size_t{simt::BlockX()} * simt::kWarp + simt::Thread() % simt::kWarp;
  float sum[1] = {};
  if (column < columns) {
    for (size_t p = group; p < parts; p += kGroups) sum[0] += partial[p * stride + column];
  }
  SumGroups(sum, reinterpret_cast<float*>(simt::Shared()));
  if (group == 0 && column < columns) sums[column] += sum[0];
}

unsigned BlocksAcross(size_t columns) {
  return static_cast<unsigned>((columns + simt::kWarp - 1) / simt::kWarp);
}

}  // namespace

size_t ColumnSumWorkspace(size_t rows, size_t columns) { return PartsOf(rows, columns) * columns; }

cudaError_t AddStridedParts(const float* parts, size_t count, size_t stride, size_t columns,
                            float* sums, cudaStream_t stream) {
  return simt::Launch(
      AddPartsKernel,
      {.x = BlocksAcross(columns), .threads = kBlock, .shared = kBlock * sizeof(float)}, stream,
      parts, count, stride, columns, sums);
}

template <typename T>
cudaError_t AddColumnSums(const T* x, size_t rows, size_t columns, float* sums, float* workspace,
                          cudaStream_t stream) {
  constexpr unsigned kSize = Vector<T>::kSize;
  if (columns % kSize != 0 || !IsAligned(x)) return cudaErrorInvalidValue;
  const unsigned parts = PartsOf(rows, columns);
  const cudaError_t error = simt::Launch(PartSumKernel<T>,
                                         {.x = BlocksAcross(columns / kSize),
                                          .y = parts,
                                          .threads = kBlock,
                                          .shared = kBlock * kSize * sizeof(float)},
                                         stream, x, rows, columns, parts, workspace);
  return error != cudaSuccess ? error
                              : AddStridedParts(workspace, parts, columns, columns, sums, stream);
}

template cudaError_t AddColumnSums(const float*, size_t, size_t, float*, float*, cudaStream_t);
template cudaError_t AddColumnSums(const Bf16*, size_t, size_t, float*, float*, cudaStream_t);

}  // namespace penstock::cuda
