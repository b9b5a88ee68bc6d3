#include "cli/data/board_text.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "records/chess/fen.h"
#include "records/chess/planes.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(BoardTextTest, DrawsAPosition) {
  const chess::PlaneBytes start =
      chess::EncodePlanes(chess::ParseFen(chess::kStartFen).value(), /*mate=*/false);
  ASSERT_OK_AND_ASSIGN(const std::string text, DrawBoard(start, 36));
  EXPECT_EQ(text,
            "8  r n b q k b n r\n"
            "7  p p p p p p p p\n"
            "6  . . . . . . . .\n"
            "5  . . . . . . . .\n"
            "4  . . . . . . . .\n"
            "3  . . . . . . . .\n"
            "2  P P P P P P P P\n"
            "1  R N B Q K B N R\n"
            "   a b c d e f g h\n"
            "squares   white  black  attacked by white  by black\n"
            "pawn          8      8                  8         8\n"
            "knight        2      2                  6         6\n"
            "bishop        2      2                  4         4\n"
            "rook          2      2                  4         4\n"
            "queen         1      1                  5         5\n"
            "king          1      1                  5         5\n"
            "flags: white to move, castling K, castling Q, castling k, castling q\n"
            "score: +36 (s = 36)\n");
}

TEST(BoardTextTest, DrawsAnyBitsButNotAnyLength) {
  std::vector<uint8_t> d(194, 0xff);
  EXPECT_THAT(DrawBoard(d, 0), IsOkAndHolds(HasSubstr("8  ? ? ? ? ? ? ? ?\n")));
  EXPECT_THAT(DrawBoard(d, 0), IsOkAndHolds(HasSubstr("score: #? (s = 0)")));
  d.pop_back();
  EXPECT_THAT(DrawBoard(d, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 193 bytes")));
}

}  // namespace
}  // namespace penstock
