// Turns images of bytes into patches of numbers.
#ifndef PENSTOCK_KERNELS_REFERENCE_IMAGES_H_
#define PENSTOCK_KERNELS_REFERENCE_IMAGES_H_

#include <cstddef>
#include <cstdint>

namespace penstock::reference {

inline constexpr size_t kImageChannels = 3;

// A byte b of channel c becomes b * scale[c] + offset[c].
struct PixelScale {
  float scale[kImageChannels];
  float offset[kImageChannels];

  // (b / 255 - mean) / deviation.
  static PixelScale Of(const float (&mean)[kImageChannels],
                       const float (&deviation)[kImageChannels]) {
    PixelScale s;
    for (size_t c = 0; c < kImageChannels; ++c) {
      s.scale[c] = 1.0f / (255.0f * deviation[c]);
      s.offset[c] = -mean[c] / deviation[c];
    }
    return s;
  }
};

struct ImageShape {
  size_t samples = 0, height = 0, width = 0;
  size_t patch = 1;  // Side of a patch; divides height and width. 1 means one pixel per patch.
  size_t patches() const { return (height / patch) * (width / patch); }
  size_t patch_values() const { return patch * patch * kImageChannels; }
};

// The shape of square images of `patches` square patches, each of side `patch`.
inline ImageShape SquareImages(size_t samples, size_t patches, size_t patch) {
  size_t across = 0;
  while (across * across < patches) ++across;
  return {.samples = samples, .height = across * patch, .width = across * patch, .patch = patch};
}

// images (samples, height, width, 3); out (samples, patches, patch, patch, 3), patches in row
// order.
template <typename T>
void NormalizeImages(const uint8_t* images, const ImageShape& shape, const PixelScale& pixels,
                     T* out) {
  const size_t across = shape.width / shape.patch;
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t p = 0; p < shape.patches(); ++p) {
      for (size_t i = 0; i < shape.patch_values(); ++i) {
        const size_t c = i % kImageChannels, x = i / kImageChannels % shape.patch;
        const size_t y = i / kImageChannels / shape.patch;
        const size_t row = p / across * shape.patch + y, column = p % across * shape.patch + x;
        const uint8_t byte =
            images[((b * shape.height + row) * shape.width + column) * kImageChannels + c];
        out[(b * shape.patches() + p) * shape.patch_values() + i] =
            T(byte) * T(pixels.scale[c]) + T(pixels.offset[c]);
      }
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_IMAGES_H_
