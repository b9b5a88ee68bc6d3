#include "trainer/app/auto_pixels.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/decode/spec.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSpec[] =
    R"(tensor { name: "mask" image { feature: "m" } } tensor { name: "image" image { feature: "i" } })";

// Half of the images are black, half are white. The feature "m" has no images.
Manifest MeasuredManifest() {
  constexpr uint64_t kMean = PixelSums::kMostMean, kSquare = PixelSums::kMostSquare;
  ManifestBuilder builder;
  builder.SetMeasuredFeatures({"m", "i"});
  builder.AddShard(
      {.path = "a", .pixel_sums = {{}, {2, {kMean, kMean, 0}, {kSquare, kSquare, 0}}}});
  return *builder.Build();
}

v1::DecodeSpec SpecOfText(const std::string& text) { return ParseSpec(text, "test").value(); }

TEST(AutoPixelsTest, AreThoseOfTheFeatureThatTheSpecDecodes) {
  ASSERT_OK_AND_ASSIGN(const PixelStatistics pixels,
                       AutoPixels(MeasuredManifest(), SpecOfText(kSpec)));
  EXPECT_THAT(pixels.mean, ElementsAre(0.5, 0.5, 0));
  EXPECT_THAT(pixels.deviation, ElementsAre(0.5, 0.5, 0));
}

TEST(AutoPixelsTest, AlternativesCountTogether) {
  constexpr uint64_t kMean = PixelSums::kMostMean, kSquare = PixelSums::kMostSquare;
  ManifestBuilder builder;
  builder.SetMeasuredFeatures({"jpg", "png", "mask"});
  builder.AddShard({.path = "a",
                    .pixel_sums = {{1, {kMean, 0, 0}, {kSquare, 0, 0}},
                                   {3, {kMean, 0, 0}, {kSquare, 0, 0}},
                                   {9, {kMean, kMean, kMean}, {kSquare, kSquare, kSquare}}}});
  ASSERT_OK_AND_ASSIGN(
      const PixelStatistics pixels,
      AutoPixels(*builder.Build(),
                 SpecOfText(R"(tensor { name: "image" image { feature: "jpg|jpeg|png" } })")));
  EXPECT_THAT(pixels.mean, ElementsAre(0.5, 0, 0));
  EXPECT_THAT(pixels.deviation, ElementsAre(0.5, 0, 0));
}

TEST(AutoPixelsTest, WithoutStatisticsTheErrorNamesTheCommand) {
  const auto advice = StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("run penstock index DIR --update --statistics"));
  EXPECT_THAT(AutoPixels(*ManifestBuilder().Build(), SpecOfText(kSpec)), advice);
  const v1::DecodeSpec other = SpecOfText(R"(tensor { name: "image" image { feature: "x" } })");
  EXPECT_THAT(AutoPixels(MeasuredManifest(), other), advice);
  const v1::DecodeSpec none = SpecOfText(R"(tensor { name: "image" image { feature: "m" } })");
  EXPECT_THAT(AutoPixels(MeasuredManifest(), none), advice);
}

TEST(AutoPixelsTest, RawPixelsHaveNone) {
  const v1::DecodeSpec raw =
      SpecOfText(R"(tensor { name: "image" bytes { feature: "i" length: 3 } })");
  EXPECT_THAT(
      AutoPixels(MeasuredManifest(), raw),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not decode encoded images")));
}

}  // namespace
}  // namespace penstock
