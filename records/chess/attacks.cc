#include "records/chess/attacks.h"

#include <array>
#include <bit>
#include <span>

namespace penstock::chess {
namespace {

struct Step {
  int file;
  int rank;
};

constexpr Step kKnightSteps[] = {{1, 2},   {2, 1},   {2, -1}, {1, -2},
                                 {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};
constexpr Step kKingSteps[] = {{1, 1}, {1, -1}, {-1, -1}, {-1, 1},
                               {0, 1}, {1, 0},  {0, -1},  {-1, 0}};
constexpr Step kWhitePawnSteps[] = {{-1, 1}, {1, 1}};
constexpr Step kBlackPawnSteps[] = {{-1, -1}, {1, -1}};

// Bishops slide along the first four of kKingSteps, rooks along the last four, queens along all.
constexpr std::span<const Step> kDiagonals(kKingSteps, 4);
constexpr std::span<const Step> kLines(kKingSteps + 4, 4);

constexpr bool OnBoard(int file, int rank) {
  return file >= 0 && file < 8 && rank >= 0 && rank < 8;
}

using StepTable = std::array<Bitboard, 64>;

constexpr StepTable MakeStepTable(std::span<const Step> steps) {
  StepTable table = {};
  for (Square square = 0; square < 64; ++square) {
    for (const Step& step : steps) {
      const int file = FileOf(square) + step.file;
      const int rank = RankOf(square) + step.rank;
      if (OnBoard(file, rank)) table[square] |= Bit(MakeSquare(file, rank));
    }
  }
  return table;
}

constexpr StepTable kKnightAttacks = MakeStepTable(kKnightSteps);
constexpr StepTable kKingAttacks = MakeStepTable(kKingSteps);
constexpr StepTable kPawnAttacks[2] = {MakeStepTable(kWhitePawnSteps),
                                       MakeStepTable(kBlackPawnSteps)};

Bitboard Slide(Square square, std::span<const Step> directions, Bitboard occupied) {
  Bitboard attacked = 0;
  for (const Step& step : directions) {
    int file = FileOf(square) + step.file;
    int rank = RankOf(square) + step.rank;
    for (; OnBoard(file, rank); file += step.file, rank += step.rank) {
      attacked |= Bit(MakeSquare(file, rank));
      if (occupied & Bit(MakeSquare(file, rank))) break;
    }
  }
  return attacked;
}

}  // namespace

Bitboard AttacksFrom(Piece piece, Square square, Bitboard occupied) {
  switch (piece.type) {
    case kPawn:
      return kPawnAttacks[piece.color][square];
    case kKnight:
      return kKnightAttacks[square];
    case kBishop:
      return Slide(square, kDiagonals, occupied);
    case kRook:
      return Slide(square, kLines, occupied);
    case kQueen:
      return Slide(square, kKingSteps, occupied);
    case kKing:
      return kKingAttacks[square];
  }
  return 0;
}

Bitboard AttacksOfType(const Position& position, Piece piece) {
  const Bitboard occupied = position.Occupied();
  Bitboard attacked = 0;
  for (Bitboard left = position.pieces[piece.color][piece.type]; left != 0; left &= left - 1) {
    attacked |= AttacksFrom(piece, std::countr_zero(left), occupied);
  }
  return attacked;
}

// Attacks are symmetric: a knight on `square` would attack exactly the knights that attack
// `square`. For pawns this holds with the colour reversed.
bool IsAttacked(const Position& position, Square square, Color by) {
  const Bitboard occupied = position.Occupied();
  for (int type = 0; type < kNumPieceTypes; ++type) {
    const Piece seen_from_here = {Opponent(by), static_cast<PieceType>(type)};
    if (AttacksFrom(seen_from_here, square, occupied) & position.pieces[by][type]) return true;
  }
  return false;
}

bool InCheck(const Position& position, Color color) {
  return IsAttacked(position, position.KingSquare(color), Opponent(color));
}

bool EnPassantPossible(const Position& position) {
  if (!position.en_passant.has_value()) return false;
  const Piece pawn_seen_back = {Opponent(position.side_to_move), kPawn};
  return (AttacksFrom(pawn_seen_back, *position.en_passant, 0) &
          position.pieces[position.side_to_move][kPawn]) != 0;
}

}  // namespace penstock::chess
