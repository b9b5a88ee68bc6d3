#include "cli/data/image_features.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

FeatureSummary WithImages() {
  FeatureSummary features;
  features.features = {{"image/encoded", "bytes"}};
  return features;
}

TEST(ImageFeaturesTest, ASpecNamesThemAndTheirLimits) {
  const auto found = ImageFeaturesOfStored(
      R"(tensor { name: "a" image { feature: "photo" resize { height: 8 width: 8 }
                                    truncated: FILL max_pixels: 1000 } }
         tensor { name: "b" image { feature: "mask" resize { height: 8 width: 8 } } }
         tensor { name: "c" label { feature: "label" } })",
      WithImages());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "photo");
  EXPECT_TRUE(found[0].decode.fill_truncated);
  EXPECT_EQ(found[0].decode.limits.max_pixels, 1000u);
  EXPECT_EQ(found[0].decode.limits.max_scans, 64u);
  EXPECT_EQ(found[1].name, "mask");
  EXPECT_FALSE(found[1].decode.fill_truncated);
}

TEST(ImageFeaturesTest, TheStrictestOfTwoOperationsCounts) {
  const auto found = ImageFeaturesOfStored(
      R"(tensor { name: "a" image { feature: "x" truncated: FILL max_scans: 9 } }
         tensor { name: "b" image { feature: "x" max_pixels: 1000 view: 1 } })",
      WithImages());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].decode.fill_truncated);
  EXPECT_EQ(found[0].decode.limits.max_scans, 9u);
  EXPECT_EQ(found[0].decode.limits.max_pixels, 1000u);
}

TEST(ImageFeaturesTest, WithoutOperationsImageEncodedIsTaken) {
  for (const char* spec : {"", "tensor { name: \"a\" label { feature: \"x\" } }", "no textproto"}) {
    const auto found = ImageFeaturesOfStored(spec, WithImages());
    ASSERT_EQ(found.size(), 1u) << spec;
    EXPECT_EQ(found[0].name, "image/encoded");
    EXPECT_TRUE(ImageFeaturesOfStored(spec, {}).empty());
  }
}

}  // namespace
}  // namespace penstock
