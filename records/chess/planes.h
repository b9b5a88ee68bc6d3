// Encodes a position as the feature `d` of a chess record: planes, flags and the mate bit in 194
// bytes.
//
// Bits are counted from the most significant bit of byte 0. Bit 24 * square + 4 * t + k is a plane
// bit, with square = 8 * rank + file (a1 = 0) and t = 0 to 5 for pawn, knight, bishop, rook, queen,
// king. The bit is set if
//   k = 0: a white piece of type t stands on the square
//   k = 1: a black piece of type t stands on the square
//   k = 2: a white piece of type t attacks the square (AttacksFrom())
//   k = 3: a black piece of type t attacks the square
// Bits 1536 to 1545 are flags, bit 1546 is the mate bit, and bits 1547 to 1551 are padding of 0.
#ifndef PENSTOCK_RECORDS_CHESS_PLANES_H_
#define PENSTOCK_RECORDS_CHESS_PLANES_H_

#include <array>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "records/chess/position.h"

namespace penstock::chess {

constexpr size_t kPlaneBits = 64 * kNumPieceTypes * 4;
constexpr size_t kNumFlags = 10;
constexpr size_t kMateBit = kPlaneBits + kNumFlags;
constexpr size_t kPlaneBytes = 194;

using PlaneBytes = std::array<uint8_t, kPlaneBytes>;

// Flag i is bit 1536 + i. "en passant" is EnPassantPossible(). "in check" refers to the side to
// move.
inline constexpr std::array<absl::string_view, kNumFlags> kFlagNames = {
    "white to move", "castling K", "castling Q",  "castling k",  "castling q",
    "en passant",    "in check",   "clock >= 20", "clock >= 40", "clock >= 80"};

// The index of a plane bit.
constexpr size_t PlaneBit(Square square, PieceType type, int k) {
  return 24 * static_cast<size_t>(square) + 4 * static_cast<size_t>(type) + k;
}

// REQUIRES: bit < 8 * bytes.size().
constexpr bool TestBit(std::span<const uint8_t> bytes, size_t bit) {
  return (bytes[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

// `mate` is Score::mate. REQUIRES: ParseFen() would accept the position.
PlaneBytes EncodePlanes(const Position& position, bool mate);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_PLANES_H_
