// Waits with a time-out, including waits for devices, which wake nobody.
#ifndef PENSTOCK_TRAINER_COMM_POLL_H_
#define PENSTOCK_TRAINER_COMM_POLL_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status.h"

namespace penstock {

// A limit on the time without progress.
class Patience {
 public:
  explicit Patience(absl::Duration timeout)
      : timeout_(absl::ToChronoMilliseconds(std::min(timeout, kForEver))) {
    Renew();
  }
  // Records progress: the time-out restarts.
  void Renew() { end_ = Clock::now() + timeout_; }
  absl::Duration timeout() const { return absl::FromChrono(timeout_); }
  bool ended() const { return Clock::now() >= end_; }
  // Time left for poll(2): at least 0 and at most an hour.
  int left_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr absl::Duration kForEver = absl::Hours(24 * 365);  // The clock can add this.

  const std::chrono::milliseconds timeout_;
  Clock::time_point end_;
};

// Polls `done`, which may renew `patience`, until it returns true. Polls without pause at first,
// because most waits are short. Returns false if the patience ends first.
inline absl::StatusOr<bool> PollUntil(
    const Patience& patience, absl::FunctionRef<absl::StatusOr<bool>()> done,
    std::chrono::microseconds pause = std::chrono::microseconds(200)) {
  constexpr int kEager = 1000;
  for (int looks = 0;; ++looks) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool is_done, done());
    if (is_done) return true;
    if (patience.ended()) return false;
    if (looks < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_POLL_H_
