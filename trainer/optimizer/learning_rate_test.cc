#include "trainer/optimizer/learning_rate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(LearningRateTest, ConstantStaysAtThePeakAfterWarmUp) {
  const LearningRateSchedule schedule{.peak = 0.4, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(schedule.At(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.At(3), 0.4);
  EXPECT_DOUBLE_EQ(schedule.At(1000000), 0.4);
}

TEST(LearningRateTest, CosineFallsToZeroAtTheEnd) {
  const LearningRateSchedule schedule{
      .peak = 2, .shape = LearningRateShape::kCosine, .warmup_steps = 10, .total_steps = 30};
  EXPECT_DOUBLE_EQ(schedule.At(10), 2);
  EXPECT_DOUBLE_EQ(schedule.At(20), 1);
  EXPECT_NEAR(schedule.At(30), 0, 1e-15);
  EXPECT_NEAR(schedule.At(31), 0, 1e-15);
}

TEST(LearningRateTest, RefusesACosineWithoutAnEnd) {
  const LearningRateSchedule schedule{.shape = LearningRateShape::kCosine, .warmup_steps = 10};
  EXPECT_THAT(schedule.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("0 steps ends within its 10 warm-up")));
}

TEST(LearningRateTest, RefusesARateThatIsNotPositive) {
  EXPECT_THAT((LearningRateSchedule{.peak = 0}).Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("positive")));
}

}  // namespace
}  // namespace penstock
