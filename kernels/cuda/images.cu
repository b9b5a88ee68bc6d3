#include "kernels/cuda/images.h"

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/vector.h"
#include "kernels/simt/items.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

using reference::kImageChannels;

// Each thread writes one vector of values.
template <typename T>
PENSTOCK_KERNEL void ImageKernel(const uint8_t* images, reference::ImageShape shape,
                                 reference::PixelScale pixels, unsigned stride, T* out) {
  constexpr unsigned kChannels = kImageChannels;
  const auto patch = static_cast<unsigned>(shape.patch), width = static_cast<unsigned>(shape.width);
  const unsigned across = width / patch, vectors = stride / Vector<T>::kSize;
  const unsigned patches = across * (static_cast<unsigned>(shape.height) / patch);
  const unsigned values = patch * patch * kChannels;
  const size_t count = shape.samples * patches * vectors;
  for (size_t i = simt::FirstItem(); i < count; i += simt::ItemStride()) {
    const size_t sample = i / vectors / patches;
    const auto p = static_cast<unsigned>(i / vectors % patches);
    const unsigned first = static_cast<unsigned>(i % vectors) * Vector<T>::kSize;
    const uint8_t* image = images + sample * shape.height * width * kChannels;
    Floats<T> x = {};
    PENSTOCK_UNROLL for (unsigned v = 0; v < Vector<T>::kSize; ++v) {
      const unsigned value = first + v, c = value % kChannels, pixel = value / kChannels;
      if (value >= values) continue;
      const unsigned row = p / across * patch + pixel / patch;
      const unsigned column = p % across * patch + pixel % patch;
      const float byte = image[(row * width + column) * kChannels + c];
      x.values[v] = byte * (c == 0   ? pixels.scale[0]
                            : c == 1 ? pixels.scale[1]
                                     : pixels.scale[2]) +
                    (c == 0   ? pixels.offset[0]
                     : c == 1 ? pixels.offset[1]
                              : pixels.offset[2]);
    }
    StoreVector(x, out + i * Vector<T>::kSize);
  }
}

}  // namespace

template <typename T>
cudaError_t NormalizeImages(const uint8_t* images, const reference::ImageShape& shape,
                            const reference::PixelScale& pixels, size_t stride, T* out,
                            cudaStream_t stream) {
  if (shape.patch == 0 || shape.height % shape.patch != 0 || shape.width % shape.patch != 0 ||
      stride < shape.patch_values() || stride % Vector<T>::kSize != 0 || !IsAligned(out)) {
    return cudaErrorInvalidValue;
  }
  const size_t vectors = shape.samples * shape.patches() * (stride / Vector<T>::kSize);
  return simt::Launch(ImageKernel<T>, {.x = BlocksFor(vectors), .threads = kThreads}, stream,
                      images, shape, pixels, stride, out);
}

template cudaError_t NormalizeImages(const uint8_t*, const reference::ImageShape&,
                                     const reference::PixelScale&, size_t, float*, cudaStream_t);
template cudaError_t NormalizeImages(const uint8_t*, const reference::ImageShape&,
                                     const reference::PixelScale&, size_t, Bf16*, cudaStream_t);

}  // namespace penstock::cuda
