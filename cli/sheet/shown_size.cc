#include "cli/sheet/shown_size.h"

#include <algorithm>

#include "records/image/geometry.h"
#include "records/image/resampler.h"

namespace penstock {
ShownSize ShownSizeOf(uint32_t width, uint32_t height, uint32_t side) {
  const uint32_t longer = std::max(width, height);
  if (longer > side) {
    const Size reduced = ReducedSize({width, height}, side);
    return {reduced.width, reduced.height, 0};
  }
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
  Resampler().Resize({pixels}, WholeResized(pixels, shown.width, shown.height),
                     picture.pixels.data());
  return picture;
}

}  // namespace penstock
