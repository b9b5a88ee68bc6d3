#include "records/chess/position.h"

#include <bit>
#include <cstring>

namespace penstock::chess {
namespace {

constexpr char kLetters[] = "PNBRQKpnbrqk";

}  // namespace

std::string SquareName(Square square) {
  return {static_cast<char>('a' + FileOf(square)), static_cast<char>('1' + RankOf(square))};
}

char PieceLetter(Piece piece) { return kLetters[kNumPieceTypes * piece.color + piece.type]; }

std::optional<Piece> PieceOfLetter(char letter) {
  const char* found = letter == '\0' ? nullptr : std::strchr(kLetters, letter);
  if (found == nullptr) return std::nullopt;
  const int index = static_cast<int>(found - kLetters);
  return Piece{static_cast<Color>(index / kNumPieceTypes),
               static_cast<PieceType>(index % kNumPieceTypes)};
}

Bitboard Position::PiecesOf(Color color) const {
  Bitboard all = 0;
  for (Bitboard board : pieces[color]) all |= board;
  return all;
}

std::optional<Piece> Position::PieceAt(Square square) const {
  for (Color color : {kWhite, kBlack}) {
    for (int type = 0; type < kNumPieceTypes; ++type) {
      if (pieces[color][type] & Bit(square)) return Piece{color, static_cast<PieceType>(type)};
    }
  }
  return std::nullopt;
}

Square Position::KingSquare(Color color) const { return std::countr_zero(pieces[color][kKing]); }

}  // namespace penstock::chess
