#include "cli/data/board_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "records/chess/planes.h"
#include "records/chess/position.h"
#include "records/chess/score.h"

namespace penstock {
namespace {

constexpr const char* kTypeNames[chess::kNumPieceTypes] = {"pawn", "knight", "bishop",
                                                           "rook", "queen",  "king"};

char LetterAt(std::span<const uint8_t> d, chess::Square square) {
  char letter = '.';
  for (chess::Color color : {chess::kWhite, chess::kBlack}) {
    for (int t = 0; t < chess::kNumPieceTypes; ++t) {
      const chess::PieceType type = static_cast<chess::PieceType>(t);
      if (!chess::TestBit(d, chess::PlaneBit(square, type, color))) continue;
      letter = letter == '.' ? chess::PieceLetter({color, type}) : '?';
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
      text += LetterAt(d, chess::MakeSquare(file, rank));
    }
    text += '\n';
  }
  return text + "   a b c d e f g h\n";
}

int SquaresMarked(std::span<const uint8_t> d, chess::PieceType type, int k) {
  int count = 0;
  for (chess::Square square = 0; square < 64; ++square)
    count += chess::TestBit(d, chess::PlaneBit(square, type, k));
  return count;
}

std::string PlaneTable(std::span<const uint8_t> d) {
  std::string text = "squares   white  black  attacked by white  by black\n";
  for (int t = 0; t < chess::kNumPieceTypes; ++t) {
    const chess::PieceType type = static_cast<chess::PieceType>(t);
    absl::StrAppendFormat(&text, "%-8s  %5d  %5d  %17d  %8d\n", kTypeNames[t],
                          SquaresMarked(d, type, 0), SquaresMarked(d, type, 1),
                          SquaresMarked(d, type, 2), SquaresMarked(d, type, 3));
  }
  return text;
}

std::string FlagLine(std::span<const uint8_t> d) {
  std::vector<absl::string_view> set;
  for (size_t i = 0; i < chess::kNumFlags; ++i) {
    if (chess::TestBit(d, chess::kPlaneBits + i)) set.push_back(chess::kFlagNames[i]);
  }
  return absl::StrCat("flags: ", set.empty() ? "none" : absl::StrJoin(set, ", "), "\n");
}

}  // namespace

absl::StatusOr<std::string> DrawBoard(std::span<const uint8_t> d, int64_t s) {
  if (d.size() != chess::kPlaneBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "feature d has ", d.size(), " bytes; a chess record's has ", chess::kPlaneBytes));
  }
  const bool mate = chess::TestBit(d, chess::kMateBit);
  return absl::StrCat(BoardLines(d), PlaneTable(d), FlagLine(d),
                      "score: ", chess::FormatScore({mate, s}), " (s = ", s, ")\n");
}

}  // namespace penstock
