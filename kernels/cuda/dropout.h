// reference/dropout.h on the GPU. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_DROPOUT_H_
#define PENSTOCK_KERNELS_CUDA_DROPOUT_H_

#include <cstddef>

#include "kernels/reference/dropout.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// Samples of `width` values; value i of sample s has index (draw->first_sample + s) width + i.
// *draw is in device memory and read if dropout is active; null is cudaErrorInvalidValue then. The
// factors are those of the reference, to the bit.
template <typename T>
cudaError_t DropOut(const T* x, const Dropout& dropout, const DropoutDraw* draw, size_t samples,
                    size_t width, T* y, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_DROPOUT_H_
