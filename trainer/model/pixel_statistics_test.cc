#include "trainer/model/pixel_statistics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(PixelStatisticsTest, AByteIsNormalisedAsTorchvisionDoes) {
  const PixelStatistics pixels{.mean = {0.5, 0, 1}, .deviation = {0.25, 1, 0.5}};
  const reference::PixelScale scale = pixels.scale();
  auto of = [&](float byte, size_t c) { return byte * scale.scale[c] + scale.offset[c]; };
  EXPECT_FLOAT_EQ(of(255, 0), 2);
  EXPECT_FLOAT_EQ(of(0, 0), -2);
  EXPECT_FLOAT_EQ(of(51, 1), 0.2f);
  EXPECT_FLOAT_EQ(of(0, 2), -2);
}

TEST(PixelStatisticsTest, ThreeNumbersReadBackTheSame) {
  for (const char* text : {"0.485,0.456,0.406", "0,1,0.25", "0.3333333333333333,1e-05,0.1"}) {
    ASSERT_OK_AND_ASSIGN(const Channels channels, ParseChannels(text));
    EXPECT_EQ(ChannelsText(channels), text);
  }
}

TEST(PixelStatisticsTest, RefusesWhatIsNotThreeNumbers) {
  for (const char* text : {"", "0.5", "1,2", "1,2,3,4", "a,b,c", "0,0,nan", "0,0,inf", "0,,0"}) {
    EXPECT_THAT(ParseChannels(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("red, green and blue")))
        << text;
  }
}

TEST(PixelStatisticsTest, RefusesNumbersOfBytes) {
  EXPECT_OK(PixelStatistics().Validate());
  EXPECT_THAT(
      (PixelStatistics{.mean = {123.7, 116.3, 103.5}}).Validate(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the pixel mean 123.7,116.3,103.5 is out of range: give numbers from 0")));
  for (const double deviation : {0.0, -0.5, 58.4}) {
    EXPECT_THAT((PixelStatistics{.deviation = {0.5, deviation, 0.5}}).Validate(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("above 0 and at most 1")));
  }
}

}  // namespace
}  // namespace penstock
