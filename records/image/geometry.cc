#include "records/image/geometry.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "records/image/log_uniform.h"

namespace penstock {
namespace {

// Rounds halves to even, like Python's round().
int64_t RoundToEven(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

// Returns a whole number, uniform over 0 to `most`, inclusive.
int64_t Below(uint64_t most, double uniform) {
  return static_cast<int64_t>(uniform * static_cast<double>(most + 1));
}

std::optional<CropRect> TryCrop(const Size& picture, const CropRanges& ranges,
                                const Uniforms& uniforms, size_t draw) {
  const double area = static_cast<double>(uint64_t{picture.width} * picture.height) *
                      (ranges.area_min + (ranges.area_max - ranges.area_min) * uniforms[draw]);
  const double ratio = LogUniform(ranges.ratio_min, ranges.ratio_max, uniforms[draw + 1]);
  const int64_t width = RoundToEven(std::sqrt(area * ratio));
  const int64_t height = RoundToEven(std::sqrt(area / ratio));
  if (width < 1 || width > picture.width || height < 1 || height > picture.height) {
    return std::nullopt;
  }
  CropRect crop;
  crop.width = static_cast<uint32_t>(width);
  crop.height = static_cast<uint32_t>(height);
  crop.top = Below(picture.height - crop.height, uniforms[draw + 2]);
  crop.left = Below(picture.width - crop.width, uniforms[draw + 3]);
  return crop;
}

CropRect FallBack(const Size& picture, const CropRanges& ranges) {
  const double ratio = static_cast<double>(picture.width) / picture.height;
  CropRect crop{0, 0, picture.width, picture.height};
  if (ratio < ranges.ratio_min) {
    crop.height = static_cast<uint32_t>(RoundToEven(picture.width / ranges.ratio_min));
  } else if (ratio > ranges.ratio_max) {
    crop.width = static_cast<uint32_t>(RoundToEven(picture.height * ranges.ratio_max));
  }
  crop.width = std::clamp(crop.width, 1u, picture.width);
  crop.height = std::clamp(crop.height, 1u, picture.height);
  crop.top = (picture.height - crop.height) / 2;
  crop.left = (picture.width - crop.width) / 2;
  return crop;
}

}  // namespace

CropRect RandomResizedCrop(const Size& picture, const CropRanges& ranges,
                           const Uniforms& uniforms) {
  for (size_t t = 0; t < kTries; ++t) {
    const std::optional<CropRect> crop =
        TryCrop(picture, ranges, uniforms, kCropDraws + t * kDrawsOfTry);
    if (crop.has_value()) return *crop;
  }
  return FallBack(picture, ranges);
}

Size ResizeShorter(const Size& picture, uint32_t side) {
  if (picture.width <= picture.height) {
    return {side, static_cast<uint32_t>(uint64_t{side} * picture.height / picture.width)};
  }
  return {static_cast<uint32_t>(uint64_t{side} * picture.width / picture.height), side};
}

Size ReducedSize(const Size& picture, uint32_t max_side) {
  const uint64_t longer = std::max(picture.width, picture.height);
  const auto reduced = [&](uint64_t side) {
    return static_cast<uint32_t>(std::max<uint64_t>((side * max_side + longer / 2) / longer, 1));
  };
  return {reduced(picture.width), reduced(picture.height)};
}

CropRect CenterCrop(const Size& picture, const Size& crop) {
  return {.left = RoundToEven((picture.width - crop.width) / 2.0),
          .top = RoundToEven((picture.height - crop.height) / 2.0),
          .width = crop.width,
          .height = crop.height};
}

CropRect RandomCrop(const Size& picture, const Size& crop, uint32_t padding,
                    const Uniforms& uniforms) {
  const uint64_t around = 2 * uint64_t{padding};
  const int64_t top = Below(picture.height + around - crop.height, uniforms[kCropDraws]);
  const int64_t left = Below(picture.width + around - crop.width, uniforms[kCropDraws + 1]);
  return {.left = left - padding, .top = top - padding, .width = crop.width, .height = crop.height};
}

}  // namespace penstock
