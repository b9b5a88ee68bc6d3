#include "records/image/resampler.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "records/image/image_decoder.h"
#include "records/image/testing/expectations.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Bytes = std::vector<uint8_t>;

ResizeRequest RequestOf(const nlohmann::json& expected) {
  const auto& box = expected["box"];
  ResizeRequest request;
  request.box = {box[0], box[1], box[2], box[3]};
  request.width = request.window_width = expected["size"][0];
  request.height = request.window_height = expected["size"][1];
  request.flip = expected["flip"];
  if (expected["filter"] == "nearest") request.interpolation = Interpolation::kNearest;
  return request;
}

TEST(ResamplerTest, EqualsPillow) {
  ImageDecoder decoder;
  Resampler resampler;
  for (const nlohmann::json& expected : Expectations::Get()["resizes"]) {
    ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                         decoder.Decode(Expectations::Get().file(expected["file"]),
                                        {.channels = expected["channels"].get<int>()}));
    const ResizeRequest request = RequestOf(expected);
    Bytes out(size_t{request.width} * request.height * static_cast<size_t>(image.pixels.channels));
    resampler.Resize(image.pixels, request, out.data());
    EXPECT_EQ(HexDigest(out), expected["digest"].get<std::string>()) << expected.dump();
  }
}

class SmallPicture : public ::testing::Test {
 protected:
  // A row of grey pixels, [0, 6), as `width` pixels of which some are wanted.
  Bytes Resize(uint32_t width, uint32_t left, uint32_t count, Interpolation interpolation,
               bool flip = false) {
    static constexpr uint8_t kPixels[] = {0, 50, 100, 150, 200, 250};
    ResizeRequest request;
    request.box = {0, 0, 6, 1};
    request.width = width;
    request.height = 1;
    request.window_left = left;
    request.window_width = count;
    request.window_height = 1;
    request.interpolation = interpolation;
    request.flip = flip;
    Bytes out(count);
    resampler_.Resize({kPixels, 6, 1, 1}, request, out.data());
    return out;
  }

  Resampler resampler_;
};

TEST_F(SmallPicture, IsCopiedAtItsOwnSize) {
  EXPECT_THAT(Resize(6, 0, 6, Interpolation::kBilinear), ElementsAre(0, 50, 100, 150, 200, 250));
  EXPECT_THAT(Resize(6, 0, 6, Interpolation::kNearest), ElementsAre(0, 50, 100, 150, 200, 250));
}

TEST_F(SmallPicture, IsAveragedOrChosenFrom) {
  EXPECT_THAT(Resize(1, 0, 1, Interpolation::kBilinear), ElementsAre(125));
  EXPECT_THAT(Resize(3, 0, 3, Interpolation::kNearest), ElementsAre(50, 150, 250));
}

TEST_F(SmallPicture, HasWindowsThatEqualPartsOfTheWhole) {
  for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kNearest}) {
    for (const uint32_t width : {4, 6, 23}) {
      const Bytes whole = Resize(width, 0, width, interpolation);
      const Bytes part = Resize(width, 1, width - 2, interpolation);
      EXPECT_THAT(part, ElementsAreArray(whole.begin() + 1, whole.end() - 1));
    }
  }
}

TEST_F(SmallPicture, IsMirrored) {
  for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kNearest}) {
    const Bytes whole = Resize(11, 2, 7, interpolation);
    EXPECT_THAT(Resize(11, 2, 7, interpolation, true),
                ElementsAreArray(whole.rbegin(), whole.rend()));
  }
}

}  // namespace
}  // namespace penstock
