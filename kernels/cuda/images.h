// reference/images.h on the GPU. The rules of activation.h hold.
#ifndef PENSTOCK_KERNELS_CUDA_IMAGES_H_
#define PENSTOCK_KERNELS_CUDA_IMAGES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/reference/images.h"
#include "kernels/simt/runtime.h"

namespace penstock::cuda {

// images may lie at any address. out (samples, patches, stride): a patch's values, then zeros up to
// `stride`, which is a whole number of 16-byte vectors and at least the patch's values.
template <typename T>
cudaError_t NormalizeImages(const uint8_t* images, const reference::ImageShape& shape,
                            const reference::PixelScale& pixels, size_t stride, T* out,
                            cudaStream_t stream);

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_IMAGES_H_
