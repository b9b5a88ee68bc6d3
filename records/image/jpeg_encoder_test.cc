#include "records/image/jpeg_encoder.h"

#include <cstdlib>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/image/image_decoder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// A smooth picture, which JPEG stores with small errors.
struct Picture {
  Picture(uint32_t width, uint32_t height, int channels) {
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) {
          bytes.push_back(
              static_cast<uint8_t>((x * (1 + c) + y * 2) * 255 / (3 * width + 2 * height)));
        }
      }
    }
    view = {bytes.data(), width, height, channels};
  }
  std::vector<uint8_t> bytes;
  PixelView view;
};

// The largest difference between two samples.
int Distance(const PixelView& a, const PixelView& b) {
  int most = 0;
  for (size_t i = 0; i < a.bytes(); ++i) most = std::max(most, std::abs(a.data[i] - b.data[i]));
  return most;
}

TEST(JpegEncoderTest, WhatIsDecodedIsCloseToWhatWasEncoded) {
  JpegEncoder encoder;
  ImageDecoder decoder;
  for (const int channels : {1, 3}) {
    for (const auto& [width, height] : {std::pair{1u, 1u}, {17u, 5u}, {300u, 200u}}) {
      const Picture picture(width, height, channels);
      ASSERT_OK_AND_ASSIGN(const std::span<const uint8_t> jpeg,
                           encoder.Encode(picture.view, {.quality = 95}));
      ASSERT_OK_AND_ASSIGN(const DecodedImage image, decoder.Decode(jpeg, {.channels = channels}));
      EXPECT_EQ(image.info.components, channels);
      EXPECT_EQ(image.info.orientation, 1);
      EXPECT_FALSE(image.info.progressive);
      ASSERT_EQ(image.pixels.width, width);
      ASSERT_EQ(image.pixels.height, height);
      EXPECT_LE(Distance(image.pixels, picture.view), 6);
    }
  }
}

TEST(JpegEncoderTest, WritesEachOrientation) {
  JpegEncoder encoder;
  const Picture picture(16, 8, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    ASSERT_OK_AND_ASSIGN(const std::span<const uint8_t> jpeg,
                         encoder.Encode(picture.view, {.orientation = orientation}));
    ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(jpeg));
    EXPECT_EQ(info.orientation, orientation);
    EXPECT_EQ(info.width, 16u);
  }
}

TEST(JpegEncoderTest, HasRoomForNoiseOfTheHighestQuality) {
  Picture picture(64, 64, 3);
  uint32_t state = 1;
  for (uint8_t& byte : picture.bytes) byte = (state = state * 1664525 + 1013904223) >> 31 ? 255 : 0;
  JpegEncoder encoder;
  ASSERT_OK_AND_ASSIGN(const std::span<const uint8_t> jpeg,
                       encoder.Encode(picture.view, {.quality = 100}));
  EXPECT_GT(jpeg.size(), 64u * 64);
}

TEST(JpegEncoderTest, RefusesWhatJpegCannotStore) {
  JpegEncoder encoder;
  const Picture wide(65501, 1, 1);
  EXPECT_THAT(encoder.Encode(wide.view, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65500")));
  EXPECT_FALSE(encoder.Encode({}, {}).ok());
  EXPECT_OK(encoder.Encode(Picture(8, 8, 3).view, {}));
}

}  // namespace
}  // namespace penstock
