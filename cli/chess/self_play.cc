#include "cli/chess/self_play.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/status.h"
#include "records/chess/attacks.h"
#include "records/chess/fen.h"
#include "records/chess/moves.h"
#include "records/chess/score.h"

namespace penstock {
namespace {

using chess::LegalMoves;
using chess::Move;
using chess::Position;

const Move& RandomMove(const std::vector<Move>& moves, CounterRng& rng) {
  return moves[rng.Below(moves.size())];
}

struct Opening {
  Position position;
  int plies;
};

// If a random game is over before its opening is, plays another one.
Opening RandomOpening(const SelfPlayOptions& options, CounterRng& rng) {
  while (true) {
    Position position = chess::ParseFen(chess::kStartFen).value();
    const uint64_t spread = options.max_opening_plies - options.min_opening_plies + 1;
    const int plies = options.min_opening_plies + static_cast<int>(rng.Below(spread));
    std::vector<Move> moves = LegalMoves(position);
    for (int left = plies; left > 0 && !moves.empty(); --left, moves = LegalMoves(position)) {
      position = Play(position, RandomMove(moves, rng));
    }
    if (!moves.empty()) return {position, plies};
  }
}

std::string WhitesScore(const Position& position, const Evaluation& evaluation) {
  const bool white_is_better = (evaluation.value > 0) == (position.side_to_move == chess::kWhite);
  const int magnitude = std::abs(evaluation.value);
  if (!evaluation.mate && magnitude == 0) return "0";
  return absl::StrCat(evaluation.mate ? "#" : "", white_is_better ? "+" : "-", magnitude);
}

bool IsDraw(const Position& position) {
  return position.halfmove_clock >= 100 || chess::IsDeadByMaterial(position);
}

}  // namespace

absl::StatusOr<std::vector<ScoredPosition>> PlayGame(const SelfPlayOptions& options, uint64_t key,
                                                     const Evaluator& evaluate) {
  CounterRng rng(key);
  std::vector<ScoredPosition> game;
  auto [position, opening_plies] = RandomOpening(options, rng);
  int plies_left = options.max_plies - opening_plies;
  for (; plies_left > 0 && !IsDraw(position); --plies_left) {
    const std::vector<Move> moves = LegalMoves(position);
    if (moves.empty()) {
      if (InCheck(position, position.side_to_move)) {
        game.push_back({position, position.side_to_move == chess::kWhite ? "#-0" : "#+0"});
      }
      break;
    }
    PENSTOCK_ASSIGN_OR_RETURN(const Evaluation evaluation, evaluate(position));
    game.push_back({position, WhitesScore(position, evaluation)});
    const std::optional<Move> best = FindMove(position, evaluation.best_move);
    if (!best.has_value()) {
      return absl::InternalError(absl::StrCat("the engine's move '", evaluation.best_move,
                                              "' is not legal in ", FormatFen(position)));
    }
    position =
        Play(position, rng.Uniform() < options.random_moves ? RandomMove(moves, rng) : *best);
  }
  return game;
}

}  // namespace penstock
