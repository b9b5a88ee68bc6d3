// Sums down columns: gradients of biases and positions. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_COLUMN_SUM_H_
#define PENSTOCK_KERNELS_CUDA_COLUMN_SUM_H_

#include <cstddef>

#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// Floats of workspace that AddColumnSums() needs.
size_t ColumnSumWorkspace(size_t rows, size_t columns);

// sums (columns) += the sums of x (rows, columns), in an order that depends on the shape alone.
// `columns` is a whole number of 16-byte vectors of T.
template <typename T>
cudaError_t AddColumnSums(const T* x, size_t rows, size_t columns, float* sums, float* workspace,
                          cudaStream_t stream);

// The second pass of sums made in parts: sums (columns) += the sum of `count` rows of `columns`
// values, which begin `stride` floats apart.
cudaError_t AddStridedParts(const float* parts, size_t count, size_t stride, size_t columns,
                            float* sums, cudaStream_t stream);

// Two of these at once: of parts (count, 2, columns).
cudaError_t AddPairedParts(const float* parts, size_t count, size_t columns, float* first,
                           float* second, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_COLUMN_SUM_H_
