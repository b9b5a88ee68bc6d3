#include "records/chess/moves.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/fen.h"

namespace penstock::chess {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Position At(const char* fen) { return ParseFen(fen).value(); }

uint64_t Perft(const Position& position, int depth) {
  const std::vector<Move> moves = LegalMoves(position);
  if (depth == 1) return moves.size();
  uint64_t leaves = 0;
  for (const Move& move : moves) leaves += Perft(Play(position, move), depth - 1);
  return leaves;
}

// Published perft counts: https://www.chessprogramming.org/Perft_Results.
TEST(MovesTest, CountsTheLeavesOfTheStartPosition) { EXPECT_EQ(Perft(At(kStartFen), 4), 197281u); }

TEST(MovesTest, CountsTheLeavesOfKiwipete) {
  EXPECT_EQ(Perft(At("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"), 3),
            97862u);
}

TEST(MovesTest, CountsTheLeavesOfPositionThree) {
  EXPECT_EQ(Perft(At("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"), 5), 674624u);
}

TEST(MovesTest, CountsTheLeavesOfPositionFour) {
  EXPECT_EQ(Perft(At("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1"), 3),
            9467u);
}

TEST(MovesTest, KnowsCheckmateAndStalemate) {
  EXPECT_THAT(LegalMoves(At("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1")), IsEmpty());
  EXPECT_THAT(LegalMoves(At("7k/5Q2/8/8/8/8/8/4K3 b - - 0 1")), IsEmpty());
  EXPECT_THAT(LegalMoves(At("7k/8/8/8/8/8/8/4K3 b - - 0 1")), SizeIs(3));
}

TEST(MovesTest, PlaysWhatFenSays) {
  Position position = At(kStartFen);
  for (const char* text :
       {"e2e4", "g8f6", "e4e5", "d7d5", "e5d6", "f6g8", "g1f3", "g8f6", "f1e2", "f6g8", "e1g1"}) {
    const std::optional<Move> move = FindMove(position, text);
    ASSERT_TRUE(move.has_value()) << text;
    position = Play(position, *move);
  }
  EXPECT_EQ(FormatFen(position), "rnbqkbnr/ppp1pppp/3P4/8/8/5N2/PPPPBPPP/RNBQ1RK1 b kq - 6 6");
}

TEST(MovesTest, KeepsAnEnPassantSquareOnlyWhereAPawnCanCapture) {
  const Position quiet = Play(At(kStartFen), {12, 28, std::nullopt});
  EXPECT_EQ(quiet.en_passant, std::nullopt);
  const Position sharp = Play(At("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1"), {12, 28, std::nullopt});
  EXPECT_EQ(sharp.en_passant, 20);
}

TEST(MovesTest, NamesPromotions) {
  const Position position = At("8/4P1k1/8/8/8/8/8/4K3 w - - 0 1");
  EXPECT_TRUE(FindMove(position, "e7e8n").has_value());
  EXPECT_FALSE(FindMove(position, "e7e8").has_value());
  EXPECT_FALSE(FindMove(position, "e7e8k").has_value());
}

TEST(MovesTest, KnowsDeadPositions) {
  EXPECT_TRUE(IsDeadByMaterial(At("4k3/8/8/8/8/8/8/3NK3 w - - 0 1")));
  EXPECT_FALSE(IsDeadByMaterial(At("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")));
  EXPECT_FALSE(IsDeadByMaterial(At("3bk3/8/8/8/8/8/8/3NK3 w - - 0 1")));
}

}  // namespace
}  // namespace penstock::chess
