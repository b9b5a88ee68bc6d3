#include "base/byte_size.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST(ByteSizeTest, ReadsTheUsualSpellings) {
  EXPECT_THAT(ParseByteSize("0"), IsOkAndHolds(0u));
  EXPECT_THAT(ParseByteSize("256KiB"), IsOkAndHolds(262144u));
  EXPECT_THAT(ParseByteSize("1.5 GiB"), IsOkAndHolds(1610612736u));
  EXPECT_THAT(ParseByteSize("64MB"), IsOkAndHolds(64000000u));
  EXPECT_THAT(ParseByteSize("2g"), IsOkAndHolds(uint64_t{2} << 30));
  EXPECT_THAT(ParseByteSize("8388607TiB"), IsOkAndHolds(uint64_t{8388607} << 40));
}

TEST(ByteSizeTest, RefusesTheRest) {
  for (const char* text : {"", "KiB", "-1", "1 parsec", "1e30G", "1.2.3", "8388608TiB"}) {
    EXPECT_THAT(ParseByteSize(text),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("256KiB")))
        << text;
  }
}

TEST(ByteSizeTest, RefusesASizeWithoutItsUnit) {
  EXPECT_THAT(ParseByteSizeFrom("4KiB", 4096), IsOkAndHolds(4096u));
  EXPECT_THAT(ParseByteSizeFrom("64", 4096),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("'64' is 64 bytes, less than 4.0 KiB; give a unit")));
  EXPECT_THAT(ParseByteSizeFrom("much", 4096),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("256KiB")));
}

TEST(ByteSizeTest, ZeroMayMeanSomethingElse) {
  EXPECT_THAT(ParseByteSizeOrZero("0", 4096), IsOkAndHolds(0u));
  EXPECT_THAT(ParseByteSizeOrZero("4KiB", 4096), IsOkAndHolds(4096u));
  EXPECT_THAT(ParseByteSizeOrZero("64", 4096), StatusIs(absl::StatusCode::kInvalidArgument,
                                                        ::testing::HasSubstr("less than 4.0 KiB")));
}

TEST(ByteSizeTest, FormatsWithOneDigit) {
  EXPECT_EQ(FormatByteSize(217), "217 B");
  EXPECT_EQ(FormatByteSize(4096), "4.0 KiB");
  EXPECT_EQ(FormatByteRate(4096.5), "4.0 KiB/s");
  EXPECT_EQ(FormatByteSize((uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatByteSize(1610612736), "1.5 GiB");
}

}  // namespace
}  // namespace penstock
