#include "client/plan/cursor.h"

#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(CursorTest, HasTheDocumentedText) {
  const Cursor cursor = {0x0123456789abcdef, 3, 81920};
  EXPECT_EQ(cursor.ToString(), "ps1-0123456789abcdef-3-81920");
  EXPECT_THAT(Cursor::Parse(cursor.ToString()), IsOkAndHolds(cursor));
}

TEST(CursorTest, SurvivesARoundTripWithTheLargestNumbers) {
  const Cursor cursor = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  EXPECT_THAT(Cursor::Parse(cursor.ToString()), IsOkAndHolds(cursor));
  EXPECT_LE(cursor.ToString().size(), 256u);
}

TEST(CursorTest, RefusesACursorCutAnywhereInFrontOfItsLastNumber) {
  const std::string text = "ps1-0123456789abcdef-3-8";
  ASSERT_OK(Cursor::Parse(text));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(Cursor::Parse(text.substr(0, size)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ps1-0123456789abcdef-3")));
  }
}

TEST(CursorTest, RefusesEverySpellingButItsOwn) {
  for (const char* text :
       {"ps2-0123456789abcdef-3-8", "ps1-0123456789ABCDEF-3-8", "ps1-0123456789abcdef-03-8",
        "ps1-0123456789abcdef-3-+8", "ps1-0123456789abcdef-3--8", "ps1-0123456789abcdef-3-8 ",
        " ps1-0123456789abcdef-3-8", "ps1-0123456789abcde-3-8", "ps1-0123456789abcdef0-3-8",
        "ps1-0x23456789abcdef-3-8", "ps1-0123456789abcdef-3-18446744073709551616",
        "ps1-0123456789abcdef-3-8-9", "ps1--1-3-8"}) {
    EXPECT_THAT(Cursor::Parse(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ps1")))
        << text;
  }
}

TEST(CursorTest, QuotesOnlyTheBeginningOfALongText) {
  const absl::Status status = Cursor::Parse(std::string(1 << 20, '\n')).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\\n...'")));
  EXPECT_LT(status.message().size(), 512u);
}

}  // namespace
}  // namespace penstock
