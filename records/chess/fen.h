// Forsyth-Edwards notation.
#ifndef PENSTOCK_RECORDS_CHESS_FEN_H_
#define PENSTOCK_RECORDS_CHESS_FEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/chess/position.h"

namespace penstock::chess {

inline constexpr char kStartFen[] = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

// Parses a FEN of all six fields, separated by one space each. Castling letters must be in the
// order KQkq.
// Positions whose planes and flags would state something false are also refused:
//   - not exactly one king of each colour
//   - a pawn on the first or last rank
//   - the side that is not to move is in check
//   - a castling right without king and rook on their home squares
//   - an en-passant square that no pawn has just jumped over
// Returns kInvalidArgument for all of these. The message names the field and, if there is one, the
// offending character.
absl::StatusOr<Position> ParseFen(absl::string_view fen);

// Writes a FEN: ParseFen(FormatFen(p)) == p.
std::string FormatFen(const Position& position);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_FEN_H_
