#include "base/number_range.h"

#include <cfloat>
#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(NumberRangeTest, TakesWholeNumbersOfTheRange) {
  for (const char* text : {"0", "16", "0x10"}) {
    EXPECT_THAT(CheckWholeNumber(text, 0, 16), IsOk()) << text;
  }
  EXPECT_THAT(CheckWholeNumber("18446744073709551615", 0, UINT64_MAX), IsOk());
}

TEST(NumberRangeTest, RefusesOthersWithTheRange) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "17", "1.5", "1e1", "five", "0x", "007",
                           "010", "nan", "18446744073709551616", "99999999999999999999"}) {
    EXPECT_THAT(CheckWholeNumber(text, 0, 16),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("is not a whole number from 0 to 16")))
        << text;
  }
  EXPECT_FALSE(CheckWholeNumber("99999999999999999999", 0, UINT64_MAX).ok());
  EXPECT_FALSE(CheckWholeNumber("0", 1, 16).ok());
}

TEST(NumberRangeTest, KnowsPorts) {
  EXPECT_TRUE(IsPort("0"));
  EXPECT_TRUE(IsPort("65535"));
  for (const char* text : {"", "65536", "0x50", "080", "-1"}) EXPECT_FALSE(IsPort(text)) << text;
}

TEST(NumberRangeTest, TakesNumbersOfTheRange) {
  for (const char* text : {"0.01", "1", "1e3", "+2.5"}) {
    EXPECT_THAT(CheckNumber(text, 0.01, 86400), IsOk()) << text;
  }
}

TEST(NumberRangeTest, TheEndsOfARangeAreInIt) {
  for (const char* text : {"0.5", "2"}) EXPECT_OK(CheckNumber(text, 0.5, 2));
  for (const char* text : {"0.4999", "2.0001"})
    EXPECT_FALSE(CheckNumber(text, 0.5, 2).ok()) << text;
}

TEST(NumberRangeTest, NamesLargeRangesWithoutAnExponent) {
  EXPECT_THAT(CheckNumber("0", 0.001, 1e6),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0.001 to 1000000")));
}

TEST(NumberRangeTest, RefusesWhatIsNoNumberOfTheRange) {
  for (const char* text : {"", "-1", "0", "nan", "inf", "1e9", "1s", "1 2", "0x1"}) {
    EXPECT_THAT(CheckNumber(text, 0.01, 86400),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0.01 to 86400")))
        << text;
  }
  EXPECT_THAT(CheckNumber("-1", 0, DBL_MAX),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of at least 0")));
  for (const char* text : {"0", "-1", "nan", "1e400", "1e-310", "x"}) {
    EXPECT_THAT(CheckPositiveNumber(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a positive number")))
        << text;
  }
  EXPECT_OK(CheckPositiveNumber("1e-300"));
}

}  // namespace
}  // namespace penstock
