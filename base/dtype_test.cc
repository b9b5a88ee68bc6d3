#include "base/dtype.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST(DtypeTest, NamesAndSizesAgree) {
  EXPECT_EQ(DtypeSize(Dtype::kBf16), 2u);
  EXPECT_EQ(DtypeName(Dtype::kI64), "i64");
}

TEST(DtypeTest, WireDtypesParseBack) {
  for (auto dtype :
       {WireDtype::kPacked, WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32, WireDtype::kF64}) {
    EXPECT_THAT(ParseWireDtype(WireDtypeName(dtype)), IsOkAndHolds(dtype));
  }
}

TEST(DtypeTest, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(ParseWireDtype("int8"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("packed, i8")));
}

}  // namespace
}  // namespace penstock
