// Plays many games with several engines at once, in an order that does not depend on their number.
#ifndef PENSTOCK_CLI_CHESS_POSITION_GENERATOR_H_
#define PENSTOCK_CLI_CHESS_POSITION_GENERATOR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "cli/chess/self_play.h"
#include "cli/chess/uci_engine.h"

namespace penstock {

struct GeneratorOptions {
  uint64_t num_positions = 0;
  uint64_t seed = 1;
  int num_engines = 2;
  UciEngineOptions engine;
  SearchLimit limit = {5000, 0};
  SelfPlayOptions play;
};

struct GeneratedPositions {
  std::string lines;  // FEN<TAB>score, each with its newline
  uint64_t num_positions = 0;
  uint64_t num_games = 0;
  // Number of positions left out because their board, side, castling rights and en passant equal
  // those of an earlier one.
  uint64_t num_repeated = 0;
  std::string engine_name;
  // OK if there are as many positions as asked for. Otherwise the error, and the fields above hold
  // the positions of whole games before it.
  absl::Status status;
};

// Plays game g with the key DeriveKey(seed, g) and orders the games by g. So equal options and an
// equal engine give equal lines, whatever num_engines is. After positions are added, calls
// `on_positions` with their number, from one thread at a time. Holds the lines in memory. When it
// returns, no engine runs.
GeneratedPositions GeneratePositions(const GeneratorOptions& options,
                                     const std::function<void(uint64_t)>& on_positions);

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_POSITION_GENERATOR_H_
