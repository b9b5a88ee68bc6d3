// penstock chess generate: evaluates positions from games that an engine plays.
#include <unistd.h>

#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/number_flags.h"
#include "base/flags/path_flags.h"
#include "base/io/atomic_file.h"
#include "base/status.h"
#include "cli/chess/position_generator.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"

namespace penstock {
namespace {

struct GenerateOptions {
  std::string output;
  std::string engine = "stockfish";
  double engine_timeout_s = 60;
  bool force = false;
  GeneratorOptions generator;
};

absl::Status WriteText(const std::string& path, const std::string& text) {
  return WriteFileAtomically(path,
                             std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

absl::Status CheckOutput(const GenerateOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckReplaces(options.output, options.force));
  // Fail before hours of games, not after them, if the folder cannot be written.
  return CheckWritable("-o", options.output);
}

// Returns `path`, with a number appended if earlier runs left a file of that name.
std::string FreeName(const std::string& path) {
  std::string name = path;
  for (int i = 2; access(name.c_str(), F_OK) == 0; ++i) name = absl::StrCat(path, "-", i);
  return name;
}

// Keeps the positions of whole games, but not under the name of a finished file.
absl::Status SavePartial(const GenerateOptions& options, const GeneratedPositions& positions) {
  if (positions.num_positions == 0) {
    return Annotate(positions.status, "nothing is saved, because no game was complete");
  }
  const std::string path = FreeName(absl::StrCat(options.output, ".partial"));
  PENSTOCK_RETURN_IF_ERROR(WriteText(path, positions.lines));
  return Annotate(positions.status,
                  absl::StrCat("after ", positions.num_positions, " of ",
                               options.generator.num_positions, " positions, saved as ", path));
}

absl::Status Generate(const GenerateOptions& options) {
  GeneratorOptions generator = options.generator;
  if (generator.limit.depth > 0) generator.limit.nodes = 0;
  if (generator.play.max_opening_plies < generator.play.min_opening_plies) {
    return UsageError(absl::StrCat("--opening-plies ", generator.play.min_opening_plies,
                                   " is above --max-opening-plies ",
                                   generator.play.max_opening_plies));
  }
  if (generator.play.max_plies <= generator.play.max_opening_plies) {
    return UsageError(absl::StrCat("--max-plies ", generator.play.max_plies,
                                   " must be more than --max-opening-plies ",
                                   generator.play.max_opening_plies));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckOutput(options));
  PENSTOCK_ASSIGN_OR_RETURN(generator.engine.path, FindEngine(options.engine));
  generator.engine.timeout = absl::Seconds(options.engine_timeout_s);

  InterruptGuard interrupts;
  Progress progress({.label = "generating", .unit = "positions", .total = generator.num_positions});
  const GeneratedPositions positions =
      GeneratePositions(generator, [&](uint64_t added) { progress.Add(added); });
  if (!positions.status.ok()) {
    progress.Finish("");
    return SavePartial(options, positions);
  }
  PENSTOCK_RETURN_IF_ERROR(WriteText(options.output, positions.lines));
  progress.Finish(absl::StrCat(positions.num_games, " games of ", positions.engine_name, ", ",
                               positions.num_repeated, " repeated positions left out, in ",
                               options.output));
  return absl::OkStatus();
}

void AddSearchOptions(CLI::App& command, GenerateOptions& options) {
  GeneratorOptions& generator = options.generator;
  command.option_defaults()->group("Options");
  command.add_option("--engine", options.engine, "UCI engine: a path, or a name to look up")
      ->type_name("PROGRAM");
  CLI::Option* nodes =
      command.add_option("--nodes", generator.limit.nodes, "Nodes to search for each position")
          ->check(WholeNumber(1));
  command
      .add_option("--depth", generator.limit.depth,
                  "Plies to search instead of nodes; 0: as --nodes says")
      ->check(WholeNumber(0, 100))
      ->excludes(nodes);
  command.option_defaults()->group("Tuning");
  command.add_option("--threads", generator.num_engines, "Engine processes, one thread each")
      ->check(WholeNumber(1, 1024));
  command.add_option("--hash-mib", generator.engine.hash_mib, "Hash table of each engine, in MiB")
      ->check(WholeNumber(1, 65536));
  command
      .add_option("--engine-timeout", options.engine_timeout_s,
                  "Time to wait for an answer of the engine, in seconds")
      ->check(Number(0.001, 1e6))
      ->type_name("SECONDS");
}

void AddGameOptions(CLI::App& command, GenerateOptions& options) {
  SelfPlayOptions& play = options.generator.play;
  command.option_defaults()->group("Data");
  command
      .add_option("--opening-plies", play.min_opening_plies,
                  "Minimum number of random moves before a game's first position")
      ->check(WholeNumber(0, 200));
  command
      .add_option("--max-opening-plies", play.max_opening_plies,
                  "Maximum number of random moves before a game's first position")
      ->check(WholeNumber(0, 200));
  command.add_option("--max-plies", play.max_plies, "Longest game in plies, opening included")
      ->check(WholeNumber(1, 10000));
  command
      .add_option("--random-moves", play.random_moves,
                  "Share of later moves that are random, for positions that are not balanced")
      ->check(Number(0.0, 1.0))
      ->type_name("RATIO");
}

}  // namespace

void AddChessCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& chess =
      AddCommand(app, "chess", "Make chess data", "penstock chess generate -n 20000 -o p.tsv");
  chess.group("Make data");
  chess.require_subcommand(1);
  CLI::App& command = AddCommand(
      chess, "generate",
      "Generate scored chess positions with a UCI engine. The engine plays games and evaluates "
      "their positions; penstock pack reads the lines of FEN<TAB>score. The score is the engine's, "
      "from White's view. No position occurs twice. The lines are held in memory and written at "
      "the end.",
      "penstock chess generate -n 20000 -o p.tsv --nodes 5000 --seed 7");
  command.group("Commands");
  auto options = std::make_shared<GenerateOptions>();
  command.add_option("-n,--positions", options->generator.num_positions, "Positions to make")
      ->required()
      ->check(WholeNumber(1));
  command.add_option("-o,--output", options->output, "File to write")
      ->type_name("FILE")
      ->required();
  command.add_option("--seed", options->generator.seed,
                     "Seed of the games, which do not depend on --threads");
  command.add_flag("--force", options->force, "Replace existing files");
  AddSearchOptions(command, *options);
  AddGameOptions(command, *options);
  OnRun(command, outcome, [options] { return Generate(*options); });
}

}  // namespace penstock
