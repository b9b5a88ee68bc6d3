#include "base/timeout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST(TimeoutTest, ReadsTheUsualSpellings) {
  EXPECT_THAT(ParseTimeout("500ms"), IsOkAndHolds(absl::Milliseconds(500)));
  EXPECT_THAT(ParseTimeout("1h30m"), IsOkAndHolds(absl::Minutes(90)));
}

TEST(TimeoutTest, RefusesTheRest) {
  for (const char* text : {"", "30", "-1s", "0s", "soon"}) {
    EXPECT_THAT(ParseTimeout(text),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("30s")))
        << text;
  }
}

}  // namespace
}  // namespace penstock
