// Which part of a picture becomes the output: the arithmetic of torchvision.transforms, as pure
// functions of sizes and of uniform numbers.
#ifndef PENSTOCK_RECORDS_IMAGE_GEOMETRY_H_
#define PENSTOCK_RECORDS_IMAGE_GEOMETRY_H_

#include <cstddef>
#include <cstdint>

#include "records/image/uniforms.h"

namespace penstock {

struct Size {
  uint32_t width = 0;
  uint32_t height = 0;

  bool operator==(const Size&) const = default;
};

// The size of a picture whose pixels each stand for `shrink` x `shrink` of those, fewer at the
// right and at the bottom.
constexpr Size ShrunkSize(const Size& picture, uint32_t shrink) {
  return {(picture.width + shrink - 1) / shrink, (picture.height + shrink - 1) / shrink};
}

// `left` and `top` may be negative where a picture is padded.
struct CropRect {
  int64_t left = 0;
  int64_t top = 0;
  uint32_t width = 0;
  uint32_t height = 0;

  bool operator==(const CropRect&) const = default;
};

// Which number decides what. Part of the definition of pixels: an image and its mask draw the same
// numbers although their operations differ. Number kFlipDraw decides the flip. A random crop takes
// its top and left from the next two. Try t of a random resized crop takes area, ratio, top and
// left from the four that begin at kCropDraws + 4 t.
inline constexpr size_t kFlipDraw = 0;
inline constexpr size_t kCropDraws = 1;
inline constexpr size_t kDrawsOfTry = 4;
inline constexpr int kTries = 10;

struct CropRanges {
  double area_min = 0.08;  // As a share of the picture's.
  double area_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // Width by height.
  double ratio_max = 4.0 / 3.0;
};

// A crop whose area is uniform and whose ratio is log-uniform over the ranges; ten tries, then the
// central crop whose ratio is nearest to the range (RandomResizedCrop.get_params).
// REQUIRES: the picture is not empty; the ranges are positive and ordered.
CropRect RandomResizedCrop(const Size& picture, const CropRanges& ranges, const Uniforms& uniforms);

// The size whose shorter side is `side`, the longer rounded down (Resize with one number).
// REQUIRES: the picture is not empty, and the longer side stays below 2^32.
Size ResizeShorter(const Size& picture, uint32_t side);

// The size of the picture with its longer side reduced to `max_side`, the other rounded to the
// nearest, at least 1. REQUIRES: the longer side is longer than that.
Size ReducedSize(const Size& picture, uint32_t max_side);

// The central crop, halves of a pixel rounded to even (CenterCrop). REQUIRES: `crop` fits.
CropRect CenterCrop(const Size& picture, const Size& crop);

// A crop anywhere in the picture with `padding` more pixels on each side (RandomCrop).
// REQUIRES: `crop` fits into the padded picture.
CropRect RandomCrop(const Size& picture, const Size& crop, uint32_t padding,
                    const Uniforms& uniforms);

inline bool Flip(double probability, const Uniforms& uniforms) {
  return uniforms[kFlipDraw] < probability;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_GEOMETRY_H_
