// Legal moves: enough to play random openings and to follow the games of an engine.
#ifndef PENSTOCK_RECORDS_CHESS_MOVES_H_
#define PENSTOCK_RECORDS_CHESS_MOVES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "records/chess/position.h"

namespace penstock::chess {

// Castling is written as the king's move of two squares, as in UCI.
struct Move {
  Square from;
  Square to;
  std::optional<PieceType> promotion;
  friend bool operator==(const Move&, const Move&) = default;
};

// All legal moves, in a fixed order. If there are none, it is checkmate if the side to move is in
// check, else stalemate. REQUIRES: ParseFen() would accept the position.
std::vector<Move> LegalMoves(const Position& position);

// The position after `move`. The new en-passant square is set only if EnPassantPossible(), so that
// positions compare equal if they differ in nothing that matters. REQUIRES: `move` is one of
// LegalMoves(position).
Position Play(const Position& position, const Move& move);

// Whether neither side can ever mate: only kings, or one knight or bishop beside them.
bool IsDeadByMaterial(const Position& position);

// Returns the move in UCI notation: "e2e4", "e7e8q".
std::string FormatMove(const Move& move);

// Returns the legal move with the UCI notation `text`, or nullopt.
std::optional<Move> FindMove(const Position& position, absl::string_view text);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_MOVES_H_
