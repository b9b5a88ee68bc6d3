// Column sums: gradients of biases and positions. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_COLUMN_SUM_H_
#define PENSTOCK_KERNELS_CUDA_COLUMN_SUM_H_

#include <cstddef>

#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// Number of floats of workspace that AddColumnSums() needs.
size_t ColumnSumWorkspace(size_t rows, size_t columns);

// sums (columns) += the column sums of x (rows, columns). The order of the sum depends on the shape
// alone. `columns` must be a whole number of 16-byte vectors of T.
template <typename T>
cudaError_t AddColumnSums(const T* x, size_t rows, size_t columns, float* sums, float* workspace,
                          cudaStream_t stream);

// The second pass of sums that were computed in parts: sums (columns) += the sum of `count` rows of
// `columns` values. The rows begin `stride` floats apart.
cudaError_t AddStridedParts(const float* parts, size_t count, size_t stride, size_t columns,
                            float* sums, cudaStream_t stream);

// Does this for two sums at once: parts (count, 2, columns).
cudaError_t AddPairedParts(const float* parts, size_t count, size_t columns, float* first,
                           float* second, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_COLUMN_SUM_H_
