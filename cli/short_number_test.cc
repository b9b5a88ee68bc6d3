#include "cli/short_number.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(ShortNumberTest, CountsHaveThreeDigits) {
  EXPECT_EQ(ShortCount(0), "0");
  EXPECT_EQ(ShortCount(999), "999");
  EXPECT_EQ(ShortCount(999.6), "1.00k");
  EXPECT_EQ(ShortCount(12345), "12.3k");
  EXPECT_EQ(ShortCount(999'900), "1.00M");
  EXPECT_EQ(ShortCount(1.5e9), "1.50G");
  EXPECT_EQ(ShortCount(123e12), "123T");
}

TEST(ShortNumberTest, BytesAreInBinaryUnits) {
  EXPECT_EQ(ShortBytes(0), "0");
  EXPECT_EQ(ShortBytes(999), "999");
  EXPECT_EQ(ShortBytes(1000), "1.0Ki");
  EXPECT_EQ(ShortBytes(1024 * 9.96), "10Ki");
  EXPECT_EQ(ShortBytes(64 << 20), "64Mi");
  EXPECT_EQ(ShortBytes(6.3e9), "5.9Gi");
  EXPECT_EQ(ShortBytes(999.6 * (1 << 20)), "1.0Gi");
}

TEST(ShortNumberTest, WholeNumbersHaveFourColumns) {
  EXPECT_EQ(ShortWhole(9999), "9999");
  EXPECT_EQ(ShortWhole(10'400), "10k");
}

TEST(ShortNumberTest, CoresHaveATenthUpToAHundred) {
  EXPECT_EQ(ShortCores(0.52), "0.5");
  EXPECT_EQ(ShortCores(99.9), "99.9");
  EXPECT_EQ(ShortCores(212), "212");
}

}  // namespace
}  // namespace penstock
