#include "cli/chess/position_generator.h"

#include <map>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/mutex.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"
#include "records/chess/fen.h"

namespace penstock {
namespace {

using Game = std::vector<ScoredPosition>;

// After this many consecutive games without a new position, the generator gives up.
constexpr uint64_t kMaxBarrenGames = 1000;

std::string KeyOf(const chess::Position& position) {
  chess::Position key = position;
  key.halfmove_clock = 0;
  key.fullmove_number = 1;
  return FormatFen(key);
}

// Hands out game numbers and puts finished games in order. Thread-safe.
class Ledger {
 public:
  Ledger(const GeneratorOptions& options, const std::function<void(uint64_t)>& on_positions)
      : options_(options), on_positions_(on_positions) {}

  // Returns the next game to play, or nullopt once there are enough positions or a game failed.
  // Waits if the oldest game is so far behind that finished games would pile up.
  std::optional<uint64_t> Claim() {
    MutexLock lock(&mutex_);
    const uint64_t lead = 16 * static_cast<uint64_t>(options_.num_engines);
    while (!done_ && next_claim_ >= next_game_ + lead) changed_.Wait(&mutex_);
    if (done_) return std::nullopt;
    return next_claim_++;
  }

  void Finish(uint64_t number, Game game) {
    MutexLock lock(&mutex_);
    finished_.emplace(number, std::move(game));
    while (!done_ && !finished_.empty() && finished_.begin()->first == next_game_) {
      Append(finished_.begin()->second);
      finished_.erase(finished_.begin());
      ++next_game_;
    }
    changed_.NotifyAll();
  }

  void Fail(const absl::Status& status) {
    MutexLock lock(&mutex_);
    if (!done_) result_.status = status;
    done_ = true;
    changed_.NotifyAll();
  }

  void SetEngineName(const std::string& name) {
    MutexLock lock(&mutex_);
    result_.engine_name = name;
  }

  // REQUIRES: no other thread uses the ledger any more.
  GeneratedPositions TakeResult() {
    MutexLock lock(&mutex_);
    return std::move(result_);
  }

 private:
  void Append(const Game& game) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint64_t before = result_.num_positions;
    for (const ScoredPosition& scored : game) {
      if (result_.num_positions == options_.num_positions) break;
      if (!seen_.insert(KeyOf(scored.position)).second) {
        ++result_.num_repeated;
        continue;
      }
      absl::StrAppend(&result_.lines, FormatFen(scored.position), "\t", scored.score, "\n");
      ++result_.num_positions;
    }
    ++result_.num_games;
    const uint64_t added = result_.num_positions - before;
    barren_games_ = added == 0 ? barren_games_ + 1 : 0;
    on_positions_(added);
    if (barren_games_ == kMaxBarrenGames) {
      result_.status = absl::OutOfRangeError(absl::StrCat("no new position in ", kMaxBarrenGames,
                                                          " games; raise --max-opening-plies "
                                                          "or --random-moves"));
    }
    done_ = result_.num_positions == options_.num_positions || !result_.status.ok();
  }

  const GeneratorOptions& options_;
  const std::function<void(uint64_t)>& on_positions_;
  Mutex mutex_;
  CondVar changed_;
  uint64_t next_claim_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_game_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Game> finished_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<std::string> seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t barren_games_ ABSL_GUARDED_BY(mutex_) = 0;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  GeneratedPositions result_ ABSL_GUARDED_BY(mutex_);
};

absl::Status PlayGames(const GeneratorOptions& options, Ledger& ledger) {
  PENSTOCK_ASSIGN_OR_RETURN(UciEngine engine, UciEngine::Start(options.engine));
  ledger.SetEngineName(engine.name());
  const Evaluator evaluate = [&](const chess::Position& position) {
    return engine.Search(FormatFen(position), options.limit);
  };
  while (const std::optional<uint64_t> number = ledger.Claim()) {
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    PENSTOCK_RETURN_IF_ERROR(engine.NewGame());
    PENSTOCK_ASSIGN_OR_RETURN(Game game,
                              PlayGame(options.play, DeriveKey(options.seed, *number), evaluate));
    ledger.Finish(*number, std::move(game));
  }
  return absl::OkStatus();
}

}  // namespace

GeneratedPositions GeneratePositions(const GeneratorOptions& options,
                                     const std::function<void(uint64_t)>& on_positions) {
  Ledger ledger(options, on_positions);
  std::vector<std::jthread> players;
  for (int i = 0; i < options.num_engines; ++i) {
    auto player = StartThread("that plays games", [&] {
      const absl::Status status = PlayGames(options, ledger);
      if (!status.ok()) ledger.Fail(status);
    });
    if (player.ok()) {
      players.push_back(*std::move(player));
    } else {
      ledger.Fail(player.status());
    }
  }
  players.clear();  // This joins their threads.
  return ledger.TakeResult();
}

}  // namespace penstock
