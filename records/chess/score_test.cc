#include "records/chess/score.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock::chess {
namespace {

using ::testing::HasSubstr;

TEST(ScoreTest, ReadsCentipawns) {
  EXPECT_THAT(ParseScore("+36"), IsOkAndHolds(Score{false, 36}));
  EXPECT_THAT(ParseScore("-68"), IsOkAndHolds(Score{false, -68}));
  EXPECT_THAT(ParseScore("0"), IsOkAndHolds(Score{false, 0}));
}

TEST(ScoreTest, StoresAMateAsMovesPlusOne) {
  EXPECT_THAT(ParseScore("#+5"), IsOkAndHolds(Score{true, 6}));
  EXPECT_THAT(ParseScore("#-3"), IsOkAndHolds(Score{true, -4}));
}

TEST(ScoreTest, NeverStoresAMateAsZero) {
  EXPECT_THAT(ParseScore("#+0"), IsOkAndHolds(Score{true, 1}));
  EXPECT_THAT(ParseScore("#-0"), IsOkAndHolds(Score{true, -1}));
}

TEST(ScoreTest, RefusesTheRest) {
  for (const char* text : {"", "+", "#", "#+", "#5", "#0", "3.5", "+-3", "--3", " 3", "3 ", "#+x",
                           "1000001", "#-9999999", "00000000000000001"}) {
    EXPECT_THAT(ParseScore(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected centipawns")))
        << text;
  }
}

TEST(ScoreTest, WritesWhatItReads) {
  for (const char* text : {"+36", "-68", "0", "#+5", "#-3", "#+0", "#-0"}) {
    ASSERT_OK_AND_ASSIGN(const Score score, ParseScore(text));
    EXPECT_EQ(FormatScore(score), text);
  }
}

TEST(ScoreTest, WritesWhateverIsStored) {
  EXPECT_EQ(FormatScore({true, 0}), "#?");
  EXPECT_EQ(FormatScore({false, std::numeric_limits<int64_t>::min()}), "-9223372036854775808");
}

}  // namespace
}  // namespace penstock::chess
