// Legal moves, enough to play random openings and follow an engine's games.
#ifndef PENSTOCK_RECORDS_CHESS_MOVES_H_
#define PENSTOCK_RECORDS_CHESS_MOVES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "records/chess/position.h"

namespace penstock::chess {

// Castling is the king's move of two squares, as in UCI.
struct Move {
  Square from;
  Square to;
  std::optional<PieceType> promotion;
  friend bool operator==(const Move&, const Move&) = default;
};

// In a fixed order. Empty: checkmate if the side to move is in check, else stalemate.
// REQUIRES: a position as ParseFen() accepts.
std::vector<Move> LegalMoves(const Position& position);

// The position after `move`. REQUIRES: `move` is one of LegalMoves(position). The new
// en-passant square is set only where EnPassantPossible(): positions that differ in nothing
// that matters are then equal.
Position Play(const Position& position, const Move& move);

// Neither side can ever mate: bare kings, or a single knight or bishop beside them.
bool IsDeadByMaterial(const Position& position);

// UCI's notation: "e2e4", "e7e8q".
std::string FormatMove(const Move& move);

// The legal move that `text` names, or nullopt.
std::optional<Move> FindMove(const Position& position, absl::string_view text);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_MOVES_H_
