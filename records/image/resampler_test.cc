#include "records/image/resampler.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "records/image/image_decoder.h"
#include "records/image/testing/expectations.h"
#include "records/image/testing/region.h"
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
    resampler.Resize({image.pixels}, request, out.data());
    EXPECT_EQ(HexDigest(out), expected["digest"].get<std::string>()) << expected.dump();
  }
}

// Noise, in which every wrong pixel shows.
Bytes Noise(size_t size, CounterRng& rng) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.Next());
  return bytes;
}

uint32_t Below(uint32_t limit, CounterRng& rng) { return static_cast<uint32_t>(rng.Below(limit)); }

// A request with random box, sizes and window, for a picture of this size.
ResizeRequest RandomRequest(const Size& picture, CounterRng& rng) {
  const auto below = [&](uint32_t limit) { return Below(limit, rng); };
  ResizeRequest request;
  const uint32_t left = below(picture.width), top = below(picture.height);
  request.box = {double(left), double(top), left + 1.0 + below(picture.width - left),
                 top + 1.0 + below(picture.height - top)};
  if (below(2) == 0) request.box.left += 0.25, request.box.bottom -= 0.375;
  request.width = 1 + below(below(2) == 0 ? 100 : 10);
  request.height = 1 + below(below(2) == 0 ? 100 : 10);
  request.window_left = below(request.width);
  request.window_top = below(request.height);
  request.window_width = 1 + below(request.width - request.window_left);
  request.window_height = 1 + below(request.height - request.window_top);
  request.interpolation = below(4) == 0 ? Interpolation::kNearest : Interpolation::kBilinear;
  request.flip = below(2) == 0;
  return request;
}

Bytes Resized(Resampler& resampler, const PicturePart& source, const ResizeRequest& request) {
  Bytes out(size_t{request.window_width} * request.window_height *
            static_cast<size_t>(source.pixels.channels));
  resampler.Resize(source, request, out.data());
  return out;
}

// Small, or long in one direction, so that an output pixel has many taps.
Size RandomSize(CounterRng& rng) {
  Size size{1 + Below(80, rng), 1 + Below(80, rng)};
  if (Below(20, rng) == 0) size.width = 1 + Below(2000, rng);
  if (Below(20, rng) == 0) size.height = 1 + Below(2000, rng);
  return size;
}

// A picture that owns its bytes. The memory ends with the last pixel.
struct RandomPicture {
  explicit RandomPicture(CounterRng& rng) : size(RandomSize(rng)) {
    channels = Below(2, rng) == 0 ? 1 : 3;
    bytes = Noise(size_t{size.width} * size.height * static_cast<size_t>(channels), rng);
    if (Below(4, rng) == 0) {
      for (uint8_t& byte : bytes) byte = byte < 128 ? 0 : 255;
    }
  }
  PixelView view() const { return {bytes.data(), size.width, size.height, channels}; }

  Size size;
  int channels;
  Bytes bytes;
};

TEST(ResamplerTest, ReadsOnlyTheStatedPart) {
  CounterRng rng(1);
  Resampler resampler;
  for (int i = 0; i < 2000; ++i) {
    const RandomPicture picture(rng);
    const ResizeRequest request = RandomRequest(picture.size, rng);
    const Bytes expected = Resized(resampler, {picture.view()}, request);

    const CropRect part = PartRead(request);
    const Bytes part_pixels = PixelsIn(picture.view(), part);
    const PicturePart source{{part_pixels.data(), part.width, part.height, picture.channels},
                             static_cast<uint32_t>(part.left),
                             static_cast<uint32_t>(part.top)};
    ASSERT_EQ(Resized(resampler, source, request), expected) << i;
  }
}

class ResamplerAtLevel : public ::testing::TestWithParam<SimdLevel> {
 protected:
  CounterRng rng_{2};
  Resampler resampler_{GetParam()};
};

TEST_P(ResamplerAtLevel, GivesTheBitsOfTheScalarOne) {
  Resampler scalar(SimdLevel::kScalar);
  for (int i = 0; i < 5000; ++i) {
    const RandomPicture picture(rng_);
    const ResizeRequest request = RandomRequest(picture.size, rng_);
    ASSERT_EQ(Resized(resampler_, {picture.view()}, request),
              Resized(scalar, {picture.view()}, request))
        << i;
  }
}

// White pixels give the largest sums.
TEST_P(ResamplerAtLevel, KeepsWhiteWhite) {
  for (int i = 0; i < 1000; ++i) {
    RandomPicture picture(rng_);
    std::fill(picture.bytes.begin(), picture.bytes.end(), uint8_t{255});
    const ResizeRequest request = RandomRequest(picture.size, rng_);
    const Bytes out = Resized(resampler_, {picture.view()}, request);
    ASSERT_EQ(std::count(out.begin(), out.end(), 255), out.size()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ResamplerAtLevel, ::testing::ValuesIn(AvailableSimdLevels()),
                         [](const auto& of) { return std::string(SimdLevelName(of.param)); });

class SmallPicture : public ::testing::Test {
 protected:
  // Resizes a row of grey pixels, [0, 6), to `width` pixels, of which some are wanted.
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
    resampler_.Resize({{kPixels, 6, 1, 1}}, request, out.data());
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
