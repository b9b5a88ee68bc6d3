#include "trainer/backend/device/gemm_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(GemmPlanTest, ComesBackFromText) {
  const GemmPlan plan = {{"linear and GELU bf16 128x40x32", std::string("\x01\x00\xff", 3)},
                         {"linear bf16 4x32x8", ""},
                         {"linear fp32 onto 1x2x3", "ab"}};
  EXPECT_EQ(FormatGemmPlan(plan),
            "linear and GELU bf16 128x40x32 0100ff; linear bf16 4x32x8 kernel; "
            "linear fp32 onto 1x2x3 6162");
  EXPECT_THAT(ParseGemmPlan(FormatGemmPlan(plan)), IsOkAndHolds(plan));
  EXPECT_THAT(ParseGemmPlan(""), IsOkAndHolds(GemmPlan()));
}

TEST(GemmPlanTest, RefusesOtherText) {
  for (const char* text :
       {"onednn sgemm, isa 0xfef", "linear", "linear 012", "linear ", "linear 01; linear 02"}) {
    EXPECT_THAT(ParseGemmPlan(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a GEMM plan")))
        << text;
  }
}

TEST(GemmPlanTest, AKernelIsNoAlgorithm) {
  const GemmPlan plan = {{"linear", "abcd"}, {"narrow", ""}};
  EXPECT_TRUE(IsKernel(plan, "narrow"));
  EXPECT_FALSE(IsKernel(plan, "linear"));
  EXPECT_FALSE(IsKernel(plan, "another"));
  EXPECT_THAT(AlgorithmOf(plan, "narrow", 4), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                       HasSubstr("no algorithm of 4 bytes")));
}

TEST(GemmPlanTest, NamesTheProductThatItHasNoAlgorithmFor) {
  const GemmPlan plan = {{"linear", "abcd"}};
  EXPECT_THAT(AlgorithmOf(plan, "linear", 4), IsOkAndHolds("abcd"));
  for (const char* product : {"linear", "another"}) {
    EXPECT_THAT(AlgorithmOf(plan, product, 8),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(product)));
  }
}

}  // namespace
}  // namespace penstock
