#include "records/chess/planes.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/fen.h"
#include "records/chess/tsv_line.h"
#include "tests/status_matchers.h"

namespace penstock::chess {
namespace {

using ::testing::HasSubstr;

PlaneBytes Planes(absl::string_view fen) { return EncodePlanes(ParseFen(fen).value(), false); }

bool Flag(const PlaneBytes& d, int flag) { return TestBit(d, kPlaneBits + flag); }

// A second implementation that shares no code with the first. It reads a board of letters from the
// text of the FEN, and checks for each square which pieces reach it.
class SlowBoard {
 public:
  explicit SlowBoard(const std::string& fen) {
    int square = 56;
    for (char c : fen.substr(0, fen.find(' '))) {
      if (c == '/') {
        square -= 16;
      } else if (std::isdigit(c)) {
        square += c - '0';
      } else {
        letters_[square++] = c;
      }
    }
  }

  // For k = 0 and 1, returns whether the piece stands on the plane's square; for k = 2 and 3,
  // whether any such piece reaches the square.
  bool Bit(int square, int t, int k) const {
    const char white = "PNBRQK"[t];
    const char piece = k % 2 == 0 ? white : static_cast<char>(std::tolower(white));
    if (k < 2) return letters_[square] == piece;
    for (int from = 0; from < 64; ++from) {
      if (letters_[from] == piece && Reaches(from, square)) return true;
    }
    return false;
  }

 private:
  bool Reaches(int from, int to) const {
    const int dx = to % 8 - from % 8;
    const int dy = to / 8 - from / 8;
    const int ax = std::abs(dx);
    const int ay = std::abs(dy);
    const bool straight = (dx == 0) != (dy == 0);
    const bool diagonal = ax == ay && ax > 0;
    switch (letters_[from]) {
      case 'P':
        return dy == 1 && ax == 1;
      case 'p':
        return dy == -1 && ax == 1;
      case 'N':
      case 'n':
        return ax * ay == 2;
      case 'K':
      case 'k':
        return std::max(ax, ay) == 1;
      case 'B':
      case 'b':
        return diagonal && Clear(from, to);
      case 'R':
      case 'r':
        return straight && Clear(from, to);
      default:
        return (straight || diagonal) && Clear(from, to);
    }
  }
  // Whether all squares strictly between the two are empty.
  bool Clear(int from, int to) const {
    const int dx = (to % 8 > from % 8) - (to % 8 < from % 8);
    const int dy = (to / 8 > from / 8) - (to / 8 < from / 8);
    for (int at = from + dx + 8 * dy; at != to; at += dx + 8 * dy) {
      if (letters_[at] != '.') return false;
    }
    return true;
  }

  std::string letters_ = std::string(64, '.');
};

void ExpectPlanesOfSlowBoard(const std::string& fen) {
  const SlowBoard slow(fen);
  const PlaneBytes d = Planes(fen);
  for (int bit = 0; bit < 1536; ++bit) {
    ASSERT_EQ(TestBit(d, bit), slow.Bit(bit / 24, bit / 4 % 6, bit % 4)) << fen << " bit " << bit;
  }
}

TEST(PlanesTest, AgreeWithASlowComputation) {
  for (const char* fen :
       {kStartFen, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "Q5k1/8/3Q4/3Q4/1p5q/q7/P7/K7 b - - 0 1"}) {
    ASSERT_OK(ParseFen(fen));
    ExpectPlanesOfSlowBoard(fen);
  }
}

// Written by hand: a1 is square 0, the plane bit of a rook is 4 * 3, and a knight stands on b1.
TEST(PlanesTest, LieWhereTheFormatSays) {
  const PlaneBytes d = Planes(kStartFen);
  EXPECT_EQ(d[0], 0x00);  // a1: no pawn or knight stands on it, and none attacks it.
  EXPECT_EQ(d[1], 0x08);  // a1: the white rook.
  EXPECT_EQ(d[2], 0x00);
  EXPECT_EQ(d[3], 0x08);    // b1: the white knight.
  EXPECT_EQ(d[4], 0x02);    // b1: attacked by the white rook of a1.
  EXPECT_EQ(d[192], 0xf8);  // White to move, KQkq.
  EXPECT_EQ(d[193], 0x00);
  EXPECT_EQ(d[3 * 63 + 1], 0x04);  // h8: the black rook.
}

TEST(PlanesTest, CountADefendedPieceAsAttackedButNothingBehindIt) {
  const PlaneBytes d = Planes("4k3/8/8/8/4P3/8/4P3/R3R1K1 w - - 0 1");
  EXPECT_TRUE(TestBit(d, PlaneBit(MakeSquare(4, 1), kRook, 2)));
  EXPECT_FALSE(TestBit(d, PlaneBit(MakeSquare(4, 2), kRook, 2)));
}

TEST(PlanesTest, FlagEnPassantOnlyIfAPawnCanCapture) {
  EXPECT_FALSE(Flag(Planes("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"), 5));
  EXPECT_TRUE(Flag(Planes("rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3"), 5));
  // The h-file and the a-file are not neighbours.
  EXPECT_FALSE(Flag(Planes("4k3/8/8/8/P6p/8/8/4K3 b - a3 0 1"), 5));
}

TEST(PlanesTest, FlagCheckOfTheSideToMove) {
  EXPECT_FALSE(Flag(Planes(kStartFen), 6));
  EXPECT_TRUE(Flag(Planes("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1"), 6));
}

TEST(PlanesTest, FlagTheClockAtItsSteps) {
  const auto clock_flags = [](int clock) {
    const PlaneBytes d = Planes("4k3/8/8/8/8/8/8/4K3 b - - " + std::to_string(clock) + " 60");
    return 4 * Flag(d, 7) + 2 * Flag(d, 8) + Flag(d, 9);
  };
  EXPECT_EQ(clock_flags(19), 0);
  EXPECT_EQ(clock_flags(20), 4);
  EXPECT_EQ(clock_flags(39), 4);
  EXPECT_EQ(clock_flags(40), 6);
  EXPECT_EQ(clock_flags(79), 6);
  EXPECT_EQ(clock_flags(80), 7);
}

TEST(PlanesTest, FlagEachCastlingRight) {
  const char* rights[] = {"K", "Q", "k", "q"};
  for (int i = 0; i < 4; ++i) {
    const PlaneBytes d = Planes(std::string("r3k2r/8/8/8/8/8/8/R3K2R b ") + rights[i] + " - 0 1");
    EXPECT_EQ(d[192], 0x40 >> i);
  }
}

TEST(TsvLineTest, SetsTheMateBit) {
  ASSERT_OK_AND_ASSIGN(const PackedPosition mate,
                       ParseTsvLine("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1\t#+0\r"));
  EXPECT_EQ(mate.s, 1);
  EXPECT_TRUE(TestBit(mate.d, kMateBit));
  EXPECT_EQ(mate.d[193], 0x20);
  ASSERT_OK_AND_ASSIGN(const PackedPosition quiet, ParseTsvLine(std::string(kStartFen) + "\t-12"));
  EXPECT_EQ(quiet.s, -12);
  EXPECT_FALSE(TestBit(quiet.d, kMateBit));
}

TEST(TsvLineTest, SaysWhatIsWrong) {
  const std::string fen = kStartFen;
  const auto message = [](const std::string& line) {
    return std::string(ParseTsvLine(line).status().message());
  };
  EXPECT_EQ(message(""), "empty line");
  EXPECT_EQ(message(fen + " +3"), "no tab between FEN and score");
  EXPECT_THAT(message(fen + "\t"), HasSubstr("has no digits"));
  EXPECT_THAT(message(fen + "\t+3\tx"), HasSubstr("is not a number"));
  EXPECT_THAT(message("x\t+3"), HasSubstr("6 fields"));
}

TEST(RealPositionsTest, AllPackAndSampledOnesAgreeWithASlowComputation) {
  const char* root = std::getenv("PENSTOCK_TEST_DATA");
  if (root == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  int lines = 0;
  for (const char* name : {"/data/chess/Anderssen.tsv", "/data/chess/Boleslavsky.tsv"}) {
    std::ifstream file(std::string(root) + name);
    for (std::string line; std::getline(file, line); ++lines) {
      ASSERT_OK(ParseTsvLine(line)) << name << ": " << line;
      if (lines % 101 == 0) ExpectPlanesOfSlowBoard(line.substr(0, line.find('\t')));
    }
  }
  EXPECT_EQ(lines, 77348);
}

}  // namespace
}  // namespace penstock::chess
