#include "kernels/cuda/column_sum.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

// A block consists of kBlock / lanes groups of `lanes` threads. The groups take rows in turn; the
// lanes of a group take neighbouring columns.
constexpr unsigned kBlock = 256;

// Adds the groups' values in order. The result is valid in group 0. `shared` has room for kBlock
// floats per value.
template <int kValues>
PENSTOCK_DEVICE void SumGroups(float (&sum)[kValues], unsigned lanes, float* shared) {
  PENSTOCK_UNROLL for (int v = 0; v < kValues; ++v) shared[v * kBlock + simt::Thread()] = sum[v];
  simt::SyncBlock();
  if (simt::Thread() >= lanes) return;
  PENSTOCK_UNROLL for (int v = 0; v < kValues; ++v) {
    for (unsigned at = lanes; at < kBlock; at += lanes) {
      sum[v] += shared[v * kBlock + at + simt::Thread()];
    }
  }
}

// Calls add(load(row)) for the rows [first, end), `step` apart. A thread loads kAhead rows before
// it adds the first of them, because one load a thread is too little to use the memory's bandwidth.
// The rows are added in order, so kAhead changes no bit.
template <unsigned kAhead, typename Load, typename Add>
PENSTOCK_DEVICE void ForRows(size_t first, size_t end, size_t step, Load load, Add add) {
  size_t row = first;
  for (; row + (kAhead - 1) * step < end; row += kAhead * step) {
    decltype(load(row)) ahead[kAhead];
    PENSTOCK_UNROLL for (unsigned n = 0; n < kAhead; ++n) ahead[n] = load(row + n * step);
    PENSTOCK_UNROLL for (unsigned n = 0; n < kAhead; ++n) add(ahead[n]);
  }
  PENSTOCK_NO_UNROLL for (; row < end; row += step) add(load(row));
}

template <typename T>
PENSTOCK_KERNEL void PartSumKernel(const T* x, size_t rows, size_t columns, unsigned lanes,
                                   unsigned parts, float* partial) {
  constexpr int kSize = Vector<T>::kSize;
  const unsigned part = simt::BlockY(), group = simt::Thread() / lanes;
  const size_t column = (size_t{simt::BlockX()} * lanes + simt::Thread() % lanes) * kSize;
  float sum[kSize] = {};
  if (column < columns) {
    ForRows<4>(
        FirstOf(rows, parts, part) + group, FirstOf(rows, parts, part + 1), kBlock / lanes,
        [&](size_t row) { return LoadBits(x + row * columns + column); },
        [&](const Vector<T>& vector) {
          const Floats<T> v = ToFloats(vector);
          PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) sum[i] += v.values[i];
        });
  }
  SumGroups(sum, lanes, reinterpret_cast<float*>(simt::Shared()));
  if (group != 0 || column >= columns) return;
  PENSTOCK_UNROLL for (int i = 0; i < kSize; ++i) partial[part * columns + column + i] = sum[i];
}

// Sums of columns below `split` go to `sums`, those of the other columns to `more`.
PENSTOCK_KERNEL void AddPartsKernel(const float* partial, size_t parts, size_t stride,
                                    size_t columns, size_t split, float* sums, float* more) {
  const unsigned group = simt::Thread() / simt::kWarp;
  const size_t column = size_t{simt::BlockX()} * simt::kWarp + simt::Thread() % simt::kWarp;
  float sum[1] = {};
  if (column < columns) {
    ForRows<8>(
        group, parts, kBlock / simt::kWarp, [&](size_t p) { return partial[p * stride + column]; },
        [&](float value) { sum[0] += value; });
  }
  SumGroups(sum, simt::kWarp, reinterpret_cast<float*>(simt::Shared()));
  if (group != 0 || column >= columns) return;
  float& to = column < split ? sums[column] : more[column - split];
  to += sum[0];
}

unsigned BlocksAcross(size_t columns, unsigned lanes) {
  return static_cast<unsigned>((columns + lanes - 1) / lanes);
}

}  // namespace

size_t ColumnSumWorkspace(size_t rows, size_t columns) { return PartsOf(rows, columns) * columns; }

cudaError_t AddStridedParts(const float* parts, size_t count, size_t stride, size_t columns,
                            float* sums, cudaStream_t stream) {
  return simt::Launch(AddPartsKernel,
                      {.x = BlocksAcross(columns, simt::kWarp),
                       .threads = kBlock,
                       .shared = kBlock * sizeof(float)},
                      stream, parts, count, stride, columns, columns, sums, sums);
}

cudaError_t AddPairedParts(const float* parts, size_t count, size_t columns, float* first,
                           float* second, cudaStream_t stream) {
  return simt::Launch(AddPartsKernel,
                      {.x = BlocksAcross(2 * columns, simt::kWarp),
                       .threads = kBlock,
                       .shared = kBlock * sizeof(float)},
                      stream, parts, count, 2 * columns, 2 * columns, columns, first, second);
}

template <typename T>
cudaError_t AddColumnSums(const T* x, size_t rows, size_t columns, float* sums, float* workspace,
                          cudaStream_t stream) {
  constexpr unsigned kSize = Vector<T>::kSize;
  if (columns % kSize != 0 || !IsAligned(x)) return cudaErrorInvalidValue;
  const unsigned parts = PartsOf(rows, columns), lanes = LanesFor(columns / kSize);
  const cudaError_t error = simt::Launch(PartSumKernel<T>,
                                         {.x = BlocksAcross(columns / kSize, lanes),
                                          .y = parts,
                                          .threads = kBlock,
                                          .shared = kBlock * kSize * sizeof(float)},
                                         stream, x, rows, columns, lanes, parts, workspace);
  return error != cudaSuccess ? error
                              : AddStridedParts(workspace, parts, columns, columns, sums, stream);
}

template cudaError_t AddColumnSums(const float*, size_t, size_t, float*, float*, cudaStream_t);
template cudaError_t AddColumnSums(const Bf16*, size_t, size_t, float*, float*, cudaStream_t);

}  // namespace penstock::cuda
