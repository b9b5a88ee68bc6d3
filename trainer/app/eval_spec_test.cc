#include "trainer/app/eval_spec.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(MatchingEvalSpecTest, RandomCropsHaveACounterpartWithTheSameArguments) {
  EXPECT_EQ(MatchingEvalSpec("images-train"), "images-eval");
  EXPECT_EQ(MatchingEvalSpec("images-train:72,label-1"), "images-eval:72,label-1");
}

TEST(MatchingEvalSpecTest, OthersAreTheirOwn) {
  for (const char* spec :
       {"", "chess", "images-eval:72", "./images-train", "images-training.textproto"}) {
    EXPECT_EQ(MatchingEvalSpec(spec), spec);
  }
}

}  // namespace
}  // namespace penstock
