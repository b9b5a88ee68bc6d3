// An image that owns its pixels.
#ifndef PENSTOCK_BASE_DRAWING_PICTURE_H_
#define PENSTOCK_BASE_DRAWING_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Shape [height][width][channels]; rows have no padding. 1 channel is grey, 3 channels are RGB.
struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 3;
  std::vector<uint8_t> pixels;

  // The first channel of a pixel. REQUIRES: x < width and y < height.
  const uint8_t* at(size_t x, size_t y) const { return &pixels[(y * width + x) * channels]; }
  uint8_t* at(size_t x, size_t y) { return &pixels[(y * width + x) * channels]; }
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_PICTURE_H_
