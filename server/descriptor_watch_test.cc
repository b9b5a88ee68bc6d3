#include "server/descriptor_watch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

const DescriptorAlarm::Clock::time_point kStart{};

TEST(DescriptorAlarmTest, SaysOnceThatFewAreLeftAndThatTheyAreFreeAgain) {
  DescriptorAlarm alarm;
  EXPECT_EQ(alarm.Look(899, 1000, kStart), std::nullopt);
  EXPECT_THAT(alarm.Look(900, 1000, kStart), Optional(HasSubstr("open=900 limit=1000")));
  EXPECT_EQ(alarm.Look(1000, 1000, kStart + std::chrono::seconds(59)), std::nullopt);
  EXPECT_TRUE(alarm.Look(1000, 1000, kStart + std::chrono::seconds(60)).has_value());
  EXPECT_EQ(alarm.Look(850, 1000, kStart + std::chrono::seconds(61)), std::nullopt);
  EXPECT_THAT(alarm.Look(799, 1000, kStart + std::chrono::seconds(62)),
              Optional(HasSubstr("free again")));
  EXPECT_FALSE(alarm.raised());
}

TEST(DescriptorAlarmTest, WithoutAKnownLimitIsSilent) {
  DescriptorAlarm alarm;
  EXPECT_EQ(alarm.Look(5000, 0, kStart), std::nullopt);
}

TEST(DescriptorWatchTest, EndsAtOnce) { DescriptorWatch watch; }

}  // namespace
}  // namespace penstock
