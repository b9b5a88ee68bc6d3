#include "records/chess/fen.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock::chess {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(FenTest, ReadsTheStartPosition) {
  ASSERT_OK_AND_ASSIGN(const Position position, ParseFen(kStartFen));
  EXPECT_EQ(position.PieceAt(MakeSquare(0, 0)), (Piece{kWhite, kRook}));
  EXPECT_EQ(position.PieceAt(MakeSquare(4, 7)), (Piece{kBlack, kKing}));
  EXPECT_EQ(position.PieceAt(MakeSquare(4, 3)), std::nullopt);
  EXPECT_EQ(position.castling, kWhiteShort | kWhiteLong | kBlackShort | kBlackLong);
  EXPECT_EQ(position.fullmove_number, 1);
}

TEST(FenTest, WritesWhatItReads) {
  for (const char* fen :
       {kStartFen, "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 99 120", "4k2r/8/8/8/8/8/8/R3K3 b Qk - 7 31"}) {
    ASSERT_OK_AND_ASSIGN(const Position position, ParseFen(fen));
    EXPECT_EQ(FormatFen(position), fen);
  }
}

// Each text with a part of its error message.
TEST(FenTest, NamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "this has 1: ''"},
      {"4k3/8/8/8/8/8/8/4K3 w - -", "this has 4"},
      {"4k3/8/8/8/8/8/8/4K3 w - - 0 1 1", "this has 7"},
      {"4k3/8/8/8/8/8/8/4K3  w - - 0 1", "this has 7"},
      {std::string(1000, '8'), "a FEN of 1000 characters"},
      {"4k3/8/8/8/8/8/4K3 w - - 0 1", "board: 7 ranks instead of 8"},
      {"4k3/8/8/8/8/8/8/8/4K3 w - - 0 1", "board: 9 ranks"},
      {"4k3/8/8/8/8/8/8/4K2 w - - 0 1", "board: rank 1: 7 squares in '4K2'"},
      {"4k3/8/8/8/8/8/8/4K4 w - - 0 1", "board: rank 1: more than 8 squares"},
      {"4k3/8/8/8/8/8/8/4K3P w - - 0 1", "board: rank 1: more than 8 squares"},
      {"4k3/8/8/8/9/8/8/4K3 w - - 0 1", "board: rank 4: '9' is neither"},
      {"4k3/8/8/8/7x/8/8/4K3 w - - 0 1", "board: rank 4: 'x' is neither"},
      {"4k3/8/8/8/8//8/4K3 w - - 0 1", "board: rank 3: 0 squares in ''"},
      {"8/8/8/8/8/8/8/4K3 w - - 0 1", "board: 0 black kings"},
      {"4k3/8/8/8/8/8/8/4K2K w - - 0 1", "board: 2 white kings"},
      {"4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "board: a white pawn on h8"},
      {"4k3/8/8/8/8/8/8/p3K3 w - - 0 1", "board: a black pawn on a1"},
      {"4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "the side to move, w, could capture the king"},
      {"4k3/8/8/8/8/8/8/4K3 W - - 0 1", "side to move: 'W'"},
      {"4k3/8/8/8/8/8/8/4K3 w x - 0 1", "castling: 'x' in 'x'"},
      {"r3k2r/8/8/8/8/8/8/R3K2R w QK - 0 1", "castling: 'K' in 'QK'"},
      {"r3k2r/8/8/8/8/8/8/R3K2R w KK - 0 1", "castling: 'K' in 'KK'"},
      {"r3k2r/8/8/8/8/8/8/R3K3 w K - 0 1", "castling: 'K' needs the king on e1 and a rook on h1"},
      {"4k2r/8/8/8/8/8/8/4K3 w q - 0 1", "castling: 'q' needs the king on e8 and a rook on a8"},
      {"4k3/8/8/8/8/8/8/4K3 w - e3 0 1", "en passant: 'e3' is neither '-' nor a square of rank 6"},
      {"4k3/8/8/8/8/8/8/4K3 b - i3 0 1", "en passant: 'i3'"},
      {"4k3/8/8/8/8/8/8/4K3 b - e3 0 1", "en passant: no pawn has just jumped over e3"},
      {"4k3/8/8/8/4P3/8/4P3/4K3 b - e3 0 1", "en passant: no pawn"},
      {"4k3/8/8/8/8/8/8/4K3 w - - x 1", "half-move clock: 'x' is not a number"},
      {"4k3/8/8/8/8/8/8/4K3 w - - -1 1", "half-move clock: '-1' is not a number"},
      {"4k3/8/8/8/8/8/8/4K3 w - - 99999999999999999999 1", "half-move clock: '99999"},
      {"4k3/8/8/8/8/8/8/4K3 w - - 0 0", "move number: 0 is below 1"},
      {"4k3/8/8/8/8/8/8/4K3 w - - 0 ", "move number: empty"},
      {"4k3/8/8/8/8/8/8/4K3 w  - 0 1", "castling: the field is empty"},
      {std::string("4k3/8/8/8/8/8/8/4K3 w - - 0 1\0", 30), "move number: '1\\x00'"},
  };
  for (const auto& [fen, message] : cases) {
    EXPECT_THAT(ParseFen(fen), StatusIs(kInvalid, HasSubstr(message))) << fen;
  }
}

TEST(FenTest, RefusesEveryTruncation) {
  const std::string fen = "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3";
  for (size_t length = 0; length < fen.size(); ++length) {
    EXPECT_THAT(ParseFen(fen.substr(0, length)), StatusIs(kInvalid, ::testing::_)) << length;
  }
}

TEST(FenTest, SurvivesEveryChangedByte) {
  const std::string fen = "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3";
  for (size_t at = 0; at < fen.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = fen;
      changed[at] = static_cast<char>(value);
      const absl::StatusOr<Position> position = ParseFen(changed);
      if (position.ok()) {
        EXPECT_EQ(ParseFen(FormatFen(*position)).value(), *position) << changed;
      }
    }
  }
}

}  // namespace
}  // namespace penstock::chess
