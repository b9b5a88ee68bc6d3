// Plays games that give scored positions: a random opening, then mostly best moves.
#ifndef PENSTOCK_CLI_CHESS_SELF_PLAY_H_
#define PENSTOCK_CLI_CHESS_SELF_PLAY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/chess/uci_engine.h"
#include "records/chess/position.h"

namespace penstock {

struct SelfPlayOptions {
  int min_opening_plies = 8;  // Random legal moves begin a game. None is recorded.
  int max_opening_plies = 12;
  int max_plies = 160;        // Maximum number of plies, including the opening.
  double random_moves = 0.1;  // Share of later moves that are random legal moves instead.
};

struct ScoredPosition {
  chess::Position position;
  std::string score;  // The score from White's view, in the form that ParseScore() reads.
};

using Evaluator = std::function<absl::StatusOr<Evaluation>(const chess::Position&)>;

// Returns the positions of one game after its opening, in order, each evaluated. The last may be a
// checkmate. The game ends by mate, stalemate, 50 moves, lack of material or max_plies. The result
// depends only on the arguments and on the results of `evaluate`. The errors are those of
// `evaluate`, and kInternal for an illegal best move.
absl::StatusOr<std::vector<ScoredPosition>> PlayGame(const SelfPlayOptions& options, uint64_t key,
                                                     const Evaluator& evaluate);

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_SELF_PLAY_H_
