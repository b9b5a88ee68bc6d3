#include "records/image/geometry.h"

#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "records/image/log_uniform.h"
#include "records/image/testing/expectations.h"

namespace penstock {

void PrintTo(const CropRect& rect, std::ostream* out) {
  *out << rect.width << "x" << rect.height << " at " << rect.left << ", " << rect.top;
}

namespace {

constexpr double kAlmostOne = 1 - 0x1.0p-53;

// Computed in Python from the definition. If these values change, so does every crop and flip.
TEST(UniformsTest, NumbersArePartOfTheFormat) {
  const uint64_t key = ImageKey(/*augmentation_key=*/0x1234, /*record_ordinal=*/5, /*view=*/1);
  EXPECT_EQ(key, 0x207c8cf1c5094b6fu);
  EXPECT_EQ(Uniforms(key)[0], 0.012042115742923576);
  EXPECT_EQ(Uniforms(key)[2], 0.276699008930146);
}

TEST(RandomResizedCropTest, EqualsTorchvision) {
  for (const nlohmann::json& expected : Expectations::Get()["crops"]) {
    const auto& ranges = expected["ranges"];
    const auto& crop = expected["crop"];
    const Uniforms uniforms(expected["key"].get<uint64_t>());
    EXPECT_EQ(RandomResizedCrop({expected["size"][0], expected["size"][1]},
                                {ranges[0], ranges[1], ranges[2], ranges[3]}, uniforms),
              (CropRect{crop[0], crop[1], crop[2], crop[3]}))
        << expected.dump();
  }
}

TEST(RandomResizedCropTest, TakesTheNumbersOfTheTryThatFits) {
  // Try 0 requests the whole area at ratio 4:3, which does not fit into 100x100 pixels.
  const std::vector<double> numbers = {0, kAlmostOne, kAlmostOne, 0, 0, 0.0, 0.5, kAlmostOne, 0};
  const CropRect crop = RandomResizedCrop({100, 100}, {}, Uniforms(numbers));
  EXPECT_EQ(crop, (CropRect{.left = 0, .top = 72, .width = 28, .height = 28}));
}

TEST(RandomResizedCropTest, FallsBackToTheCentre) {
  std::vector<double> numbers(kCropDraws + kTries * kDrawsOfTry, kAlmostOne);
  EXPECT_EQ(RandomResizedCrop({300, 100}, {}, Uniforms(numbers)), (CropRect{83, 0, 133, 100}));
  EXPECT_EQ(RandomResizedCrop({100, 300}, {}, Uniforms(numbers)), (CropRect{0, 83, 100, 133}));
  EXPECT_EQ(RandomResizedCrop({100, 100}, {}, Uniforms(numbers)), (CropRect{0, 0, 100, 100}));
}

// torchvision's crop would have height 0.
TEST(RandomResizedCropTest, IsNeverEmpty) {
  const CropRanges wide{.area_min = 1, .area_max = 1, .ratio_min = 2, .ratio_max = 3};
  EXPECT_EQ(RandomResizedCrop({1, 500}, wide, Uniforms(uint64_t{1})), (CropRect{0, 249, 1, 1}));
}

TEST(ResizeShorterTest, RoundsTheLongerSideDown) {
  EXPECT_EQ(ResizeShorter({640, 480}, 256), (Size{341, 256}));
  EXPECT_EQ(ResizeShorter({480, 640}, 256), (Size{256, 341}));
  EXPECT_EQ(ResizeShorter({7, 7}, 3), (Size{3, 3}));
  EXPECT_EQ(ResizeShorter({65535, 1}, 256), (Size{65535 * 256, 256}));
}

TEST(CenterCropTest, RoundsHalvesToEven) {
  EXPECT_EQ(CenterCrop({341, 256}, {224, 224}), (CropRect{58, 16, 224, 224}));
  EXPECT_EQ(CenterCrop({11, 13}, {10, 10}), (CropRect{0, 2, 10, 10}));
}

TEST(RandomCropTest, ReachesEveryPlaceWithinThePadding) {
  std::set<int64_t> lefts;
  for (double uniform = 0; uniform < 1; uniform += 0.01) {
    const std::vector<double> numbers = {0, kAlmostOne, uniform};
    const CropRect crop = RandomCrop({10, 10}, {10, 9}, 4, Uniforms(numbers));
    EXPECT_EQ(crop.top, 5);
    lefts.insert(crop.left);
  }
  EXPECT_THAT(lefts, ::testing::ElementsAre(-4, -3, -2, -1, 0, 1, 2, 3, 4));
}

TEST(UniformsTest, FollowTheKeyAndTheIndex) {
  const Uniforms uniforms(ImageKey(1, 2, 0));
  EXPECT_EQ(ImageKey(1, 2, 0), 0xd30a275b03289d66u);
  EXPECT_EQ(ImageKey(1, 2, 3), 0xe0d16ba83d483b85u);
  EXPECT_EQ(uniforms[5], 0x1.481e49faba0f8p-4);
  EXPECT_NE(uniforms[5], uniforms[6]);
  EXPECT_NE(uniforms[5], Uniforms(ImageKey(1, 2, 1))[5]);
  EXPECT_NE(uniforms[5], Uniforms(ImageKey(1, 3, 0))[5]);
}

double UnitsInTheLastPlace(double a, double b) {
  return std::abs(a - b) / (std::abs(b) * std::numeric_limits<double>::epsilon());
}

TEST(LogUniformTest, IsAsExactAsDoublesAre) {
  for (double x = 0.001; x < 1000; x *= 1.0137) {
    EXPECT_LE(UnitsInTheLastPlace(PortableExp(std::log(x)), std::exp(std::log(x))), 4) << x;
    EXPECT_LE(std::abs(PortableLog(x) - std::log(x)),
              4 * std::numeric_limits<double>::epsilon() * std::max(1.0, std::abs(std::log(x))));
  }
  EXPECT_EQ(PortableLog(1), 0);
  EXPECT_EQ(PortableExp(0), 1);
}

TEST(LogUniformTest, StaysInItsRange) {
  EXPECT_DOUBLE_EQ(LogUniform(0.75, 4.0 / 3, 0), 0.75);
  EXPECT_NEAR(LogUniform(0.75, 4.0 / 3, 0.5), 1, 1e-15);
  EXPECT_DOUBLE_EQ(LogUniform(0.75, 4.0 / 3, kAlmostOne), 4.0 / 3);
}

}  // namespace
}  // namespace penstock
