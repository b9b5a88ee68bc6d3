#include "records/chess/planes.h"

#include <bit>

#include "records/chess/attacks.h"

namespace penstock::chess {
namespace {

void SetBit(PlaneBytes& bytes, size_t bit) { bytes[bit / 8] |= 0x80 >> (bit % 8); }

void SetPlane(PlaneBytes& bytes, Bitboard squares, PieceType type, int k) {
  for (; squares != 0; squares &= squares - 1) {
    SetBit(bytes, PlaneBit(std::countr_zero(squares), type, k));
  }
}

void SetFlags(PlaneBytes& bytes, const Position& position) {
  const bool flags[kNumFlags] = {
      position.side_to_move == kWhite,
      (position.castling & kWhiteShort) != 0,
      (position.castling & kWhiteLong) != 0,
      (position.castling & kBlackShort) != 0,
      (position.castling & kBlackLong) != 0,
      EnPassantPossible(position),
      InCheck(position, position.side_to_move),
      position.halfmove_clock >= 20,
      position.halfmove_clock >= 40,
      position.halfmove_clock >= 80,
  };
  for (size_t i = 0; i < kNumFlags; ++i) {
    if (flags[i]) SetBit(bytes, kPlaneBits + i);
  }
}

}  // namespace

PlaneBytes EncodePlanes(const Position& position, bool mate) {
  PlaneBytes bytes = {};
  for (Color color : {kWhite, kBlack}) {
    for (int t = 0; t < kNumPieceTypes; ++t) {
      const PieceType type = static_cast<PieceType>(t);
      SetPlane(bytes, position.pieces[color][t], type, color);
      SetPlane(bytes, AttacksOfType(position, {color, type}), type, 2 + color);
    }
  }
  SetFlags(bytes, position);
  if (mate) SetBit(bytes, kMateBit);
  return bytes;
}

}  // namespace penstock::chess
