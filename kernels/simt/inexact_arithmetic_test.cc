// Compiled with the flags of the kernels that run on this arithmetic.
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>

#include "gtest/gtest.h"
#include "kernels/simt/simt.h"

namespace penstock::simt {
namespace {

// x in units of the last place of a positive float, beyond `exact` rounded to a float.
int64_t UnitsOff(float x, double exact) {
  return int64_t{std::bit_cast<uint32_t>(x)} -
         int64_t{std::bit_cast<uint32_t>(static_cast<float>(exact))};
}

class InexactArithmeticTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ArithmeticName() == nullptr) GTEST_SKIP() << "this CPU has no FMA";
  }
};

TEST_F(InexactArithmeticTest, FunctionsAreOffByTheirWholeErrorBothWays) {
  std::set<int64_t> exp2, exp, log2, tanh, erfc;
  for (int i = 1; i < 100; ++i) {
    const float x = 0.013f * float(i);
    exp2.insert(UnitsOff(Exp2(-x), std::exp2(-double{x})));
    exp.insert(UnitsOff(Exp(-x), std::exp(-double{x})));
    log2.insert(UnitsOff(Log2(2 + x), std::log2(2 + x)));
    tanh.insert(UnitsOff(Tanh(x), std::tanh(double{x})));
    erfc.insert(UnitsOff(Erfc(x), std::erfc(double{x})));
  }
  EXPECT_EQ(exp2, (std::set<int64_t>{-2, 2}));
  EXPECT_EQ(exp, (std::set<int64_t>{-2, 2}));
  EXPECT_EQ(log2, (std::set<int64_t>{-1, 1}));
  EXPECT_EQ(tanh, (std::set<int64_t>{-2, 2}));
  EXPECT_EQ(erfc, (std::set<int64_t>{-4, 4}));
}

TEST_F(InexactArithmeticTest, DocumentedValuesAreExact) {
  EXPECT_EQ(Exp2(0.0f), 1);
  EXPECT_EQ(Exp2(-INFINITY), 0);
  EXPECT_EQ(Exp2(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(Exp2(NAN)));
  EXPECT_EQ(Log(0.0f), -INFINITY);
  EXPECT_TRUE(std::isnan(Tanh(NAN)));
  for (float x : {5.0f, 7.0f, 8.5f, 20.0f}) {
    EXPECT_LE(Tanh(x), 1);
    EXPECT_EQ(Tanh(-x), -Tanh(x));
  }
}

void FlushKernel(float x, float* out) {
  out[0] = x;
  out[1] = x * 0.5f;
  out[2] = Exp2(-126.5f);
}

TEST_F(InexactArithmeticTest, SubnormalsAreZerosInKernelsOnly) {
  float out[3];
  volatile float smallest = 0x1p-126f;
  ASSERT_EQ(Launch(FlushKernel, {}, nullptr, smallest, out), cudaSuccess);
  EXPECT_EQ(out[0], smallest);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 0);
  EXPECT_GT(smallest * 0.5f, 0);
}

TEST_F(InexactArithmeticTest, TheCompilerContracts) {
  volatile float x = 1 + 0x1p-12f;
  const float square = x * x;
  volatile float rounded = square;
  EXPECT_EQ(x * x - rounded, 0x1p-24f);
}

}  // namespace
}  // namespace penstock::simt
