#include "records/image/pixel_sums.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

// Owns its pixels.
struct Image {
  std::vector<uint8_t> bytes;
  uint32_t width = 0;
  uint32_t height = 0;

  PixelView view() const { return {bytes.data(), width, height, 3}; }
};

Image MadeImage(uint32_t width, uint32_t height, uint32_t seed) {
  Image image = {{}, width, height};
  for (uint32_t i = 0; i < width * height * 3; ++i) {
    image.bytes.push_back(static_cast<uint8_t>((i * 2654435761u + seed * 40503u) >> 13));
  }
  return image;
}

PixelSums SumsOf(const std::vector<Image>& images) {
  PixelSums sums;
  for (const Image& image : images) sums.Add(image.view());
  return sums;
}

TEST(PixelSumsTest, OfOneColourIsThatColour) {
  const Image image = {{10, 0, 255, 10, 0, 255}, 2, 1};
  const PixelSums sums = SumsOf({image});
  EXPECT_EQ(sums.images, 1u);
  EXPECT_THAT(sums.mean, ElementsAre(10u << 16, 0u, 255u << 16));
  EXPECT_THAT(sums.square, ElementsAre(100u << 8, 0u, 65025u << 8));
}

TEST(PixelSumsTest, AnImageCountsAsMuchAsALargerOne) {
  const Image large = {std::vector<uint8_t>(30 * 20 * 3, 100), 30, 20};
  const Image small = {{200, 200, 200}, 1, 1};
  EXPECT_EQ(SumsOf({large, small}).mean[1], 300u << 16);
}

TEST(PixelSumsTest, MeansAreRoundedToTheNearest) {
  const Image image = {{1, 0, 2, 0, 0, 0, 0, 1, 0}, 3, 1};
  const PixelSums sums = SumsOf({image});
  EXPECT_THAT(sums.mean, ElementsAre(21845u, 21845u, 43691u));  // 65536 / 3 and 131072 / 3.
  EXPECT_THAT(sums.square, ElementsAre(85u, 85u, 341u));        // 256 / 3 and 1024 / 3.
}

// Sides around those at which bytes are added up in rounds, and sides whose sums exceed 32 bits.
TEST(PixelSumsTest, EachByteIsCountedOnce) {
  for (const uint32_t width : {1u, 15u, 16u, 17u, 33u, 513u}) {
    for (const uint32_t height : {1u, 3u, 50u}) {
      const Image image = MadeImage(width, height, width + height);
      double mean[3] = {}, square[3] = {};
      for (size_t i = 0; i < image.bytes.size(); ++i) {
        mean[i % 3] += image.bytes[i];
        square[i % 3] += image.bytes[i] * image.bytes[i];
      }
      const PixelSums sums = SumsOf({image});
      for (size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(sums.mean[c], std::round(mean[c] * 65536 / (width * height)));
        EXPECT_EQ(sums.square[c], std::round(square[c] * 256 / (width * height)));
      }
    }
  }
  const Image white = {std::vector<uint8_t>(1100 * 1000 * 3, 255), 1100, 1000};
  EXPECT_THAT(SumsOf({white}).square, ElementsAre(65025u << 8, 65025u << 8, 65025u << 8));
}

TEST(PixelSumsTest, NoOrderOrGroupingChangesThem) {
  const Image a = MadeImage(7, 5, 1), b = MadeImage(31, 1, 2), c = MadeImage(2, 90, 3);
  const PixelSums all = SumsOf({a, b, c});
  EXPECT_EQ(SumsOf({c, a, b}), all);
  PixelSums grouped = SumsOf({b});
  grouped.Add(SumsOf({c, a}));
  EXPECT_EQ(grouped, all);
}

}  // namespace
}  // namespace penstock
