// Waiting for what wakes nobody: a device.
#ifndef PENSTOCK_TRAINER_COMM_POLL_H_
#define PENSTOCK_TRAINER_COMM_POLL_H_

#include <chrono>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "records/base/status.h"

namespace penstock {

// Asks `done` until it says yes; at first without pause, as most waits are short. False: it did
// not within `timeout`.
inline absl::StatusOr<bool> PollUntil(
    absl::Duration timeout, absl::FunctionRef<absl::StatusOr<bool>()> done,
    std::chrono::microseconds pause = std::chrono::microseconds(200)) {
  constexpr int kEager = 1000;
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout);
  for (int looks = 0;; ++looks) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool is_done, done());
    if (is_done) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (looks < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_POLL_H_
