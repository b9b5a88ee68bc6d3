// Makes encoded images for tests.
#ifndef PENSTOCK_CLI_PACK_TESTING_SMALL_IMAGES_H_
#define PENSTOCK_CLI_PACK_TESTING_SMALL_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/drawing/png.h"
#include "records/image/jpeg_encoder.h"

namespace penstock {

// A gradient: red grows to the right, green downwards, blue is `blue`. With one channel, it has
// only the red.
struct Gradient {
  Gradient(uint32_t width, uint32_t height, int channels, uint8_t blue = 0) {
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        const uint8_t pixel[] = {static_cast<uint8_t>(x * 255 / width),
                                 static_cast<uint8_t>(y * 255 / height), blue};
        bytes.insert(bytes.end(), pixel, pixel + channels);
      }
    }
    view = {bytes.data(), width, height, channels};
  }
  std::vector<uint8_t> bytes;
  PixelView view;
};

inline std::string SmallJpeg(uint32_t width, uint32_t height, int channels = 3, uint8_t blue = 0,
                             int orientation = 1) {
  JpegEncoder encoder;
  const Gradient picture(width, height, channels, blue);
  const auto jpeg = encoder.Encode(picture.view, {.quality = 95, .orientation = orientation});
  return std::string(jpeg->begin(), jpeg->end());
}

inline std::string SmallPng(uint32_t width, uint32_t height, int channels = 3) {
  const Gradient picture(width, height, channels);
  return EncodePng({width, height, static_cast<uint32_t>(channels), picture.bytes}).value();
}

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_TESTING_SMALL_IMAGES_H_
