#include "trainer/app/likeliest.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using testing::ElementsAre;

TEST(SoftmaxRowsTest, EachRowAddsUpToOne) {
  std::vector<float> logits = {0, std::log(3.0f), 1000, 1000};
  SoftmaxRows(2, logits);
  EXPECT_NEAR(logits[0], 0.25, 1e-7);
  EXPECT_NEAR(logits[1], 0.75, 1e-7);
  EXPECT_EQ(logits[2], 0.5f);
  EXPECT_EQ(logits[3], 0.5f);
}

TEST(LikeliestTest, TheLikeliestComeFirstAndOfEqualsTheLower) {
  const std::vector<float> probabilities = {0.1f, 0.3f, 0.2f, 0.3f, 0.1f};
  EXPECT_THAT(Likeliest(probabilities, 3), ElementsAre(1, 3, 2));
  EXPECT_THAT(Likeliest(probabilities, 9), ElementsAre(1, 3, 2, 0, 4));
}

}  // namespace
}  // namespace penstock
