// Forsyth-Edwards notation.
#ifndef PENSTOCK_RECORDS_CHESS_FEN_H_
#define PENSTOCK_RECORDS_CHESS_FEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/chess/position.h"

namespace penstock::chess {

inline constexpr char kStartFen[] = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

// All six fields, one space between them, nothing else; letters of castling in the order KQkq.
// Also refused, because planes and flags of such a position would say something false: not
// exactly one king each, a pawn on the first or last rank, the side not to move in check, a
// castling right without king and rook at home, an en-passant square that no pawn has just
// jumped over. kInvalidArgument names the field and, where there is one, the character.
absl::StatusOr<Position> ParseFen(absl::string_view fen);

// ParseFen(FormatFen(p)) == p.
std::string FormatFen(const Position& position);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_FEN_H_
