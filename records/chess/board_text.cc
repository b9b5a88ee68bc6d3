#include "records/chess/board_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "records/chess/planes.h"
#include "records/chess/position.h"
#include "records/chess/score.h"

namespace penstock::chess {
namespace {

constexpr const char* kTypeNames[kNumPieceTypes] = {"pawn", "knight", "bishop",
                                                    "rook", "queen",  "king"};

char LetterAt(std::span<const uint8_t> d, Square square) {
  char letter = '.';
  for (Color color : {kWhite, kBlack}) {
    for (int t = 0; t < kNumPieceTypes; ++t) {
      const PieceType type = static_cast<PieceType>(t);
      if (!TestBit(d, PlaneBit(square, type, color))) continue;
      letter = letter == '.' ? PieceLetter({color, type}) : '?';
    }
  }
  return letter;
}

std::string BoardLines(std::span<const uint8_t> d) {
  std::string text;
  for (int rank = 7; rank >= 0; --rank) {
    absl::StrAppend(&text, rank + 1, " ");
    for (int file = 0; file < 8; ++file) {
      text += ' ';
      text += LetterAt(d, MakeSquare(file, rank));
    }
    text += '\n';
  }
  return text + "   a b c d e f g h\n";
}

int SquaresMarked(std::span<const uint8_t> d, PieceType type, int k) {
  int count = 0;
  for (Square square = 0; square < 64; ++square) count += TestBit(d, PlaneBit(square, type, k));
  return count;
}

std::string PlaneTable(std::span<const uint8_t> d) {
  std::string text = "squares   white  black  attacked by white  by black\n";
  for (int t = 0; t < kNumPieceTypes; ++t) {
    const PieceType type = static_cast<PieceType>(t);
    absl::StrAppendFormat(&text, "%-8s  %5d  %5d  %17d  %8d\n", kTypeNames[t],
                          SquaresMarked(d, type, 0), SquaresMarked(d, type, 1),
                          SquaresMarked(d, type, 2), SquaresMarked(d, type, 3));
  }
  return text;
}

std::string FlagLine(std::span<const uint8_t> d) {
  std::vector<absl::string_view> set;
  for (size_t i = 0; i < kNumFlags; ++i) {
    if (TestBit(d, kPlaneBits + i)) set.push_back(kFlagNames[i]);
  }
  return absl::StrCat("flags: ", set.empty() ? "none" : absl::StrJoin(set, ", "), "\n");
}

}  // namespace

absl::StatusOr<std::string> DrawBoard(std::span<const uint8_t> d, int64_t s) {
  if (d.size() != kPlaneBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chess record's d has ", kPlaneBytes, " bytes, this has ", d.size()));
  }
  const bool mate = TestBit(d, kMateBit);
  return absl::StrCat(BoardLines(d), PlaneTable(d), FlagLine(d), "score: ", FormatScore({mate, s}),
                      " (s = ", s, ")\n");
}

}  // namespace penstock::chess
