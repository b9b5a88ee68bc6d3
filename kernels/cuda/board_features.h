// reference/board_features.h on the GPU. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_BOARD_FEATURES_H_
#define PENSTOCK_KERNELS_CUDA_BOARD_FEATURES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/reference/board_features.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// packed (samples, 194 bytes) may lie at any address. features (samples, 64, stride): 34 values,
// then zeros up to `stride`, which is at least 34 and a whole number of 16-byte vectors.
template <typename T>
cudaError_t ExpandPackedBoards(const uint8_t* packed, size_t samples, size_t stride, T* features,
                               cudaStream_t stream);

// Does the same from decoded tensors: planes (samples, 64, 24), flags (samples, 10). S is int8_t or
// float.
template <typename S, typename T>
cudaError_t JoinBoardPlanes(const S* planes, const S* flags, size_t samples, size_t stride,
                            T* features, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_BOARD_FEATURES_H_
