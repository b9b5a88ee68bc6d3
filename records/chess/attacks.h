// Computes the squares that pieces attack.
#ifndef PENSTOCK_RECORDS_CHESS_ATTACKS_H_
#define PENSTOCK_RECORDS_CHESS_ATTACKS_H_

#include "records/chess/position.h"

namespace penstock::chess {

// The squares that a `piece` on `square` attacks. The ray of a sliding piece ends with the first
// square in `occupied`, whatever its colour: the square of a defended piece counts as attacked, and
// nothing is attacked through another piece. Pins and the king's safety are ignored. Pawns attack
// only their two forward diagonals, empty or not.
Bitboard AttacksFrom(Piece piece, Square square, Bitboard occupied);

// The union of AttacksFrom() over all pieces of this colour and type.
Bitboard AttacksOfType(const Position& position, Piece piece);

// Whether any piece of colour `by` attacks `square`.
bool IsAttacked(const Position& position, Square square, Color by);

// Whether the king of `color` is attacked. REQUIRES: `color` has a king.
bool InCheck(const Position& position, Color color);

// Whether a pawn of the side to move attacks the en-passant square, so that the capture is
// pseudo-legal. The capture may still be illegal because it would expose the own king. The
// en-passant square of a FEN alone is not enough: many programs write it after every double step.
bool EnPassantPossible(const Position& position);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_ATTACKS_H_
