#include "cli/sheet/shown_size.h"

#include <algorithm>

#include "records/image/resampler.h"

namespace penstock {
namespace {

// `length` of a picture whose longer side becomes `side`.
uint32_t Scaled(uint32_t length, uint32_t longer, uint32_t side) {
  const uint64_t scaled = (uint64_t{length} * side + longer / 2) / longer;
  return std::max(static_cast<uint32_t>(scaled), 1u);
}

}  // namespace

ShownSize ShownSizeOf(uint32_t width, uint32_t height, uint32_t side) {
  const uint32_t longer = std::max(width, height);
  if (longer > side) return {Scaled(width, longer, side), Scaled(height, longer, side), 0};
  const uint32_t zoom = side / longer;
  return {width * zoom, height * zoom, zoom};
}

Picture ShrunkToFit(const PixelView& pixels, uint32_t side) {
  const ShownSize shown = ShownSizeOf(pixels.width, pixels.height, side);
  Picture picture{pixels.width, pixels.height, static_cast<uint32_t>(pixels.channels), {}};
  if (shown.zoom > 0) {
    picture.pixels.assign(pixels.data, pixels.data + pixels.bytes());
    return picture;
  }
  picture.width = shown.width;
  picture.height = shown.height;
  picture.pixels.resize(size_t{shown.width} * shown.height * picture.channels);
  const ResizeRequest whole = {
      .box = {0, 0, static_cast<double>(pixels.width), static_cast<double>(pixels.height)},
      .width = shown.width,
      .height = shown.height,
      .window_width = shown.width,
      .window_height = shown.height};
  Resampler().Resize(pixels, whole, picture.pixels.data());
  return picture;
}

}  // namespace penstock
