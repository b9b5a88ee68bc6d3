// Many games by several engines at once, in an order that does not depend on how many.
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
  uint64_t num_repeated = 0;  // left out: same board, side, castling and en passant as before
  std::string engine_name;
  // OK: num_positions are as asked. Otherwise the above is what whole games gave until then.
  absl::Status status;
};

// Game g is played with the key DeriveKey(seed, g); games follow each other in the order of g,
// so equal options and engine give equal lines, whatever num_engines. `on_positions` is called
// with each number of positions added, from one thread at a time. Holds the lines in memory.
// When it returns, no engine runs.
GeneratedPositions GeneratePositions(const GeneratorOptions& options,
                                     const std::function<void(uint64_t)>& on_positions);

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_POSITION_GENERATOR_H_
