// Tells of ranks that keep the others waiting, while they do.
#ifndef PENSTOCK_TRAINER_COMM_LATE_WATCH_H_
#define PENSTOCK_TRAINER_COMM_LATE_WATCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "trainer/comm/rank_info.h"
#include "trainer/comm/store_client.h"

namespace penstock {

// How far a rank is, as it tells the others.
struct RankProgress {
  uint64_t step = 0;  // As Communicator::Mark() says.
  uint32_t bucket = 0;
  // For other ranks, and for how long already; absent: it does something else.
  std::optional<std::chrono::milliseconds> waiting = {};

  std::string ToText() const;
  static std::optional<RankProgress> FromText(absl::string_view text);
};

// Who keeps others waiting for `late_after` or longer: those that do not wait or are not known
// (absent), else those that are the furthest behind; in a sentence. Empty: nobody waits for so
// long.
std::string DescribeLate(std::span<const std::optional<RankProgress>> ranks,
                         std::chrono::milliseconds late_after);

struct LateWatchOptions {
  std::string name = {};  // Of the communicator: each has its own place in the store.
  std::chrono::milliseconds late_after{60'000};
  // Called on a thread of its own, on every rank, once while the same ranks are late. Empty: this
  // rank is told nothing.
  std::function<void(absl::string_view)> report = {};
};

// Tells rank 0 every few seconds through the store how far this rank is, and reads how far the
// others are: rank 0 tells all of all, in a message each. A rank that waits says so again and
// again; one that has stopped doing so is late, whatever it said last. Thread-safe; one wait at a
// time.
class LateWatch {
 public:
  // `store` must outlive it. kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<LateWatch>> Start(const RankInfo& info, StoreClient& store,
                                                          LateWatchOptions options);
  ~LateWatch();

  void Mark(uint64_t step, uint32_t bucket);
  // The calling rank waits for others from now on, until End().
  void Begin();
  void End();

  // Who is late now, as far as it is known; empty: nobody keeps another waiting.
  std::string Late() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Word {
    std::string text;
    Clock::time_point since;
  };

  LateWatch(const RankInfo& info, StoreClient& store, LateWatchOptions options);
  void Watch(const std::stop_token& stop);
  RankProgress Own() const;
  void Publish();
  void ShareAll();
  void Look();
  std::vector<std::optional<RankProgress>> All() const;
  std::vector<std::optional<RankProgress>> ToldToRank0() const;
  std::optional<RankProgress> Read(size_t rank, absl::string_view word) const;
  std::string Key(absl::string_view whose) const;

  const RankInfo info_;
  StoreClient& store_;
  const LateWatchOptions options_;
  const Clock::duration interval_, stale_after_;
  std::string published_, shared_, told_;  // Of the thread.
  mutable Mutex mutex_;
  CondVar changed_;
  mutable std::vector<Word> words_ ABSL_GUARDED_BY(mutex_);  // Of each rank.
  RankProgress own_ ABSL_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> since_ ABSL_GUARDED_BY(mutex_);  // Absent: no wait.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_LATE_WATCH_H_
