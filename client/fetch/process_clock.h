// A clock that stops while this process is stopped.
#ifndef PENSTOCK_CLIENT_FETCH_PROCESS_CLOCK_H_
#define PENSTOCK_CLIENT_FETCH_PROCESS_CLOCK_H_

#include <algorithm>

#include "absl/time/time.h"

namespace penstock {

// The time of the last event, minus the time for which this process was stopped. If the process is
// woken much later than it asked for, it was stopped itself and its servers were not, so no
// time-out may run meanwhile. The clock never goes back. Not thread-safe.
class ProcessClock {
 public:
  absl::Time now() const { return now_; }
  // When the process last continued after it was stopped, on this clock.
  absl::Time resumed_at() const { return resumed_at_; }

  // An event comes at `now`, on the outer clock. `next_wake` returns when the owner wants to be
  // woken, on this clock, in its present state. It is called only if the last wake-up is overdue.
  template <typename NextWake>
  void Set(absl::Time now, const NextWake& next_wake) {
    if (now > expected_by_ + kStoodStill) GoOn(now, ToOuter(next_wake()));
    now_ = now - stood_still_;
  }
  // The owner has asked to be woken at `wake`, on this clock. Returns that time on the outer clock.
  absl::Time ExpectWake(absl::Time wake) { return expected_by_ = ToOuter(wake); }
  absl::Time ToOuter(absl::Time time) const { return time + stood_still_; }

 private:
  // A wake-up that is late by this much means that the process was stopped.
  static constexpr absl::Duration kStoodStill = absl::Milliseconds(100);

  void GoOn(absl::Time now, absl::Time wanted) {
    if (now <= wanted + kStoodStill) return;
    stood_still_ += now - std::max({expected_by_, wanted, ToOuter(now_)});
    expected_by_ = now;
    resumed_at_ = now - stood_still_;
  }

  absl::Time now_ = absl::InfinitePast();
  absl::Time expected_by_ = absl::InfiniteFuture();  // On the outer clock.
  absl::Duration stood_still_;  // Total time for which the process was stopped.
  absl::Time resumed_at_ = absl::InfinitePast();
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_PROCESS_CLOCK_H_
