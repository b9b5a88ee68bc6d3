// Computes which part of a picture becomes the output. This is the arithmetic of
// torchvision.transforms, as pure functions of sizes and uniform random numbers.
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

// Returns the size of a picture after shrinking. Each pixel stands for `shrink` x `shrink` pixels,
// or for fewer at the right and bottom edges.
constexpr Size ShrunkSize(const Size& picture, uint32_t shrink) {
  return {(picture.width + shrink - 1) / shrink, (picture.height + shrink - 1) / shrink};
}

// A rectangle in pixels. `left` and `top` may be negative if the picture is padded.
struct CropRect {
  int64_t left = 0;
  int64_t top = 0;
  uint32_t width = 0;
  uint32_t height = 0;

  bool operator==(const CropRect&) const = default;
};

// Defines which random number decides what. This is part of the definition of the pixels: an image
// and its mask draw the same numbers although their operations differ.
//   - Number kFlipDraw decides the flip.
//   - The next two, from kCropDraws on, give the top and left of a random crop.
//   - Try t of a random resized crop takes its area, ratio, top and left from the four numbers that
//     begin at kCropDraws + 4 t.
inline constexpr size_t kFlipDraw = 0;
inline constexpr size_t kCropDraws = 1;
inline constexpr size_t kDrawsOfTry = 4;
inline constexpr int kTries = 10;

struct CropRanges {
  double area_min = 0.08;  // Share of the picture's area.
  double area_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // Width divided by height.
  double ratio_max = 4.0 / 3.0;
};

// Chooses a crop whose area is uniform, and whose ratio is log-uniform, over the ranges. After ten
// tries that do not fit, it is the central crop whose ratio is nearest to the range
// (RandomResizedCrop.get_params).
// REQUIRES: the picture is not empty; the ranges are positive and ordered.
CropRect RandomResizedCrop(const Size& picture, const CropRanges& ranges, const Uniforms& uniforms);

// Returns the size after a resize of the shorter side to `side`; the longer side is rounded down
// (Resize with one number). REQUIRES: the picture is not empty, and the longer side stays below
// 2^32.
Size ResizeShorter(const Size& picture, uint32_t side);

// Returns the size after the longer side is reduced to `max_side`. The shorter side is rounded to
// the nearest number, but is at least 1. REQUIRES: the longer side is above max_side.
Size ReducedSize(const Size& picture, uint32_t max_side);

// Returns the central crop. Half pixels are rounded to even (CenterCrop). REQUIRES: `crop` fits
// into the picture.
CropRect CenterCrop(const Size& picture, const Size& crop);

// Returns a crop from a random place of the picture, which is padded by `padding` pixels on each
// side (RandomCrop).
// REQUIRES: `crop` fits into the padded picture.
CropRect RandomCrop(const Size& picture, const Size& crop, uint32_t padding,
                    const Uniforms& uniforms);

// Returns whether to mirror the image from left to right.
inline bool Flip(double probability, const Uniforms& uniforms) {
  return uniforms[kFlipDraw] < probability;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_GEOMETRY_H_
