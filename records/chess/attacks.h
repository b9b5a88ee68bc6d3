// Which squares pieces attack.
#ifndef PENSTOCK_RECORDS_CHESS_ATTACKS_H_
#define PENSTOCK_RECORDS_CHESS_ATTACKS_H_

#include "records/chess/position.h"

namespace penstock::chess {

// The squares that a `piece` on `square` attacks. A sliding piece's rays end with the first
// square in `occupied`, whoever stands there: a defended piece is on an attacked square, and
// nothing is attacked through another piece. Pins and the king's safety do not count; pawns
// attack their two forward diagonals only, empty or not.
Bitboard AttacksFrom(Piece piece, Square square, Bitboard occupied);

// The union of AttacksFrom() over all pieces of this colour and type.
Bitboard AttacksOfType(const Position& position, Piece piece);

bool IsAttacked(const Position& position, Square square, Color by);

// REQUIRES: `color` has a king.
bool InCheck(const Position& position, Color color);

// Whether a pawn of the side to move attacks the en-passant square: the capture is
// pseudo-legal. The capture may still be illegal because it would uncover the own king. A FEN's
// en-passant square alone is not enough: many programs write it after every double step.
bool EnPassantPossible(const Position& position);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_ATTACKS_H_
