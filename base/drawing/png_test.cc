#include "base/drawing/png.h"

#include <png.h>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// Decodes the bytes with another reader.
Picture Decoded(const std::string& bytes, uint32_t channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Picture picture{image.width, image.height, channels, {}};
  picture.pixels.resize(size_t{channels} * image.width * image.height);
  EXPECT_NE(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr), 0);
  return picture;
}

TEST(PngTest, KeepsEveryPixel) {
  for (const uint32_t channels : {1u, 3u}) {
    Picture picture{7, 5, channels, {}};
    for (uint32_t i = 0; i < 35 * channels; ++i) {
      picture.pixels.push_back(static_cast<uint8_t>(i * 37));
    }
    ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodePng(picture));
    const Picture decoded = Decoded(bytes, channels);
    EXPECT_EQ(decoded.width, 7u);
    EXPECT_EQ(decoded.height, 5u);
    EXPECT_EQ(decoded.pixels, picture.pixels);
  }
}

TEST(PngTest, ASideThatIsTooLongIsRefused) {
  Picture picture{1'000'001, 1, 1, std::vector<uint8_t>(1'000'001)};
  EXPECT_THAT(EncodePng(picture), StatusIs(absl::StatusCode::kResourceExhausted,
                                           ::testing::HasSubstr("PNG of 1000001x1 pixels: ")));
}

}  // namespace
}  // namespace penstock
