// A chess position as bitboards. Bit `square` of a bitboard: square = 8 * rank + file, a1 = 0.
#ifndef PENSTOCK_RECORDS_CHESS_POSITION_H_
#define PENSTOCK_RECORDS_CHESS_POSITION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace penstock::chess {

enum Color { kWhite, kBlack };
constexpr Color Opponent(Color color) { return color == kWhite ? kBlack : kWhite; }

enum PieceType { kPawn, kKnight, kBishop, kRook, kQueen, kKing };
constexpr int kNumPieceTypes = 6;

using Square = int;  // 0..63
using Bitboard = uint64_t;

// Files and ranks are numbered from 0.
constexpr Square MakeSquare(int file, int rank) { return 8 * rank + file; }
constexpr int FileOf(Square square) { return square & 7; }
constexpr int RankOf(Square square) { return square >> 3; }
constexpr Bitboard Bit(Square square) { return Bitboard{1} << square; }

// Returns the name of a square, such as "e4".
std::string SquareName(Square square);

// Castling rights: bits of Position::castling, in the order of FEN and of the flags.
constexpr int kWhiteShort = 1;
constexpr int kWhiteLong = 2;
constexpr int kBlackShort = 4;
constexpr int kBlackLong = 8;

struct Piece {
  Color color;
  PieceType type;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// Returns a letter of "PNBRQK" for White, in lower case for Black.
char PieceLetter(Piece piece);
// Returns nullopt if `letter` is no piece letter.
std::optional<Piece> PieceOfLetter(char letter);

struct Position {
  std::array<std::array<Bitboard, kNumPieceTypes>, 2> pieces = {};  // [color][type]
  Color side_to_move = kWhite;
  int castling = 0;
  // The square that a pawn jumped over in the last move, as in a FEN, whether or not a capture is
  // possible there.
  std::optional<Square> en_passant;
  int halfmove_clock = 0;  // Half-moves since the last capture or pawn move.
  int fullmove_number = 1;

  Bitboard PiecesOf(Color color) const;
  Bitboard Occupied() const { return PiecesOf(kWhite) | PiecesOf(kBlack); }
  std::optional<Piece> PieceAt(Square square) const;
  // REQUIRES: `color` has a king.
  Square KingSquare(Color color) const;

  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_POSITION_H_
