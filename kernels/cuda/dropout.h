// reference/dropout.h on the GPU. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_DROPOUT_H_
#define PENSTOCK_KERNELS_CUDA_DROPOUT_H_

#include <cstddef>

#include "kernels/reference/dropout.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// x and y hold samples of `width` values; value i of sample s has index (draw->first_sample + s)
// width + i. *draw is in device memory and is read only if dropout is active; a null `draw` is then
// cudaErrorInvalidValue. The factors are those of the reference, bit for bit.
template <typename T>
cudaError_t DropOut(const T* x, const Dropout& dropout, const DropoutDraw* draw, size_t samples,
                    size_t width, T* y, cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_DROPOUT_H_
