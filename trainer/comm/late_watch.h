// Reports ranks that keep the others waiting, while they do.
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

// The progress of a rank, as it tells the others.
struct RankProgress {
  uint64_t step = 0;  // See Communicator::Mark().
  uint32_t bucket = 0;
  // How long the rank has been waiting for other ranks; absent if it does something else.
  std::optional<std::chrono::milliseconds> waiting = {};

  std::string ToText() const;
  static std::optional<RankProgress> FromText(absl::string_view text);
};

// Returns a sentence that names the ranks that have kept others waiting for `late_after` or longer.
// These are the ranks that do not wait or are unknown (absent), else those furthest behind. The
// result is empty if no rank has waited that long.
std::string DescribeLate(std::span<const std::optional<RankProgress>> ranks,
                         std::chrono::milliseconds late_after);

struct LateWatchOptions {
  std::string name = {};  // Name of the communicator; each has its own entries in the store.
  std::chrono::milliseconds late_after{60'000};
  // Called on a separate thread on every rank, once for each set of late ranks. If it is empty,
  // this rank reports nothing.
  std::function<void(absl::string_view)> report = {};
};

// Every few seconds, tells rank 0 through the store how far this rank is, and reads the progress of
// the others, which rank 0 sends to every rank in one message. A waiting rank repeats that it
// waits; if it stops repeating it, it counts as late. Thread-safe; one wait at a time.
class LateWatch {
 public:
  // `store` must outlive this object. kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<LateWatch>> Start(const RankInfo& info, StoreClient& store,
                                                          LateWatchOptions options);
  ~LateWatch();

  void Mark(uint64_t step, uint32_t bucket);
  // The calling rank waits for others from Begin() to End().
  void Begin();
  void End();

  // Describes the ranks that are late now, as far as known; empty if no rank keeps others waiting.
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
  std::string published_, shared_, told_;  // Used by the thread only.
  mutable Mutex mutex_;
  CondVar changed_;
  mutable std::vector<Word> words_ ABSL_GUARDED_BY(mutex_);  // The last word of each rank.
  RankProgress own_ ABSL_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> since_ ABSL_GUARDED_BY(mutex_);  // Absent if not waiting.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_LATE_WATCH_H_
