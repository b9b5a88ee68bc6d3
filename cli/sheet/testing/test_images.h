// Makes small encoded images for tests.
#ifndef PENSTOCK_CLI_SHEET_TESTING_TEST_IMAGES_H_
#define PENSTOCK_CLI_SHEET_TESTING_TEST_IMAGES_H_

#include <cstdint>
#include <string>

#include "base/drawing/png.h"
#include "records/image/self_test_images.h"

namespace penstock {

// Grey levels that grow from left to right.
inline Picture TestPicture(uint32_t width, uint32_t height, uint32_t channels = 1) {
  Picture picture{width, height, channels, {}};
  for (uint32_t i = 0; i < width * height * channels; ++i) {
    picture.pixels.push_back(static_cast<uint8_t>(i / channels % width * 255 / width));
  }
  return picture;
}

inline std::string TestPng(uint32_t width, uint32_t height) {
  return EncodePng(TestPicture(width, height)).value();
}

inline std::string TestJpeg() {
  const std::span<const uint8_t> bytes = SelfTestImages()[0];
  return {bytes.begin(), bytes.end()};
}

// TestJpeg() with an EXIF block after its first marker.
inline std::string TurnedJpeg(uint8_t orientation) {
  std::string exif("Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0", 25);
  exif += static_cast<char>(orientation);
  exif += std::string(6, '\0');  // The value's remaining bytes, and no further block.
  const std::string jpeg = TestJpeg();
  const std::string length = {'\0', static_cast<char>(exif.size() + 2)};
  return jpeg.substr(0, 2) + "\xff\xe1" + length + exif + jpeg.substr(2);
}

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_TESTING_TEST_IMAGES_H_
