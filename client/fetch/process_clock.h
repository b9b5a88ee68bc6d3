// A clock that stands while this process does.
#ifndef PENSTOCK_CLIENT_FETCH_PROCESS_CLOCK_H_
#define PENSTOCK_CLIENT_FETCH_PROCESS_CLOCK_H_

#include <algorithm>

#include "absl/time/time.h"

namespace penstock {

// The time of the last event, minus the time for which this process was stopped. A process that is
// woken much later than it asked for was stopped itself, and its servers were not: so no time-out
// runs meanwhile. The clock never goes back. Not thread-safe.
class ProcessClock {
 public:
  absl::Time now() const { return now_; }
  // The last time that the process went on after it was stopped, on this clock.
  absl::Time resumed_at() const { return resumed_at_; }

  // An event comes at `now`, on the outer clock. `next_wake` returns when the owner wants to be
  // woken as things stand, on this clock; it is called only if the last wake-up is overdue.
  template <typename NextWake>
  void Set(absl::Time now, const NextWake& next_wake) {
    if (now > expected_by_ + kStoodStill) GoOn(now, ToOuter(next_wake()));
    now_ = now - stood_still_;
  }
  // The owner has asked to be woken at `wake`, on this clock. The same on the outer clock.
  absl::Time ExpectWake(absl::Time wake) { return expected_by_ = ToOuter(wake); }
  absl::Time ToOuter(absl::Time time) const { return time + stood_still_; }

 private:
  // A wake-up that is this late means that the process was stopped.
  static constexpr absl::Duration kStoodStill = absl::Milliseconds(100);

  void GoOn(absl::Time now, absl::Time wanted) {
    if (now <= wanted + kStoodStill) return;
    stood_still_ += now - std::max({expected_by_, wanted, ToOuter(now_)});
    expected_by_ = now;
    resumed_at_ = now - stood_still_;
  }

  absl::Time now_ = absl::InfinitePast();
  absl::Time expected_by_ = absl::InfiniteFuture();  // On the outer clock.
  absl::Duration stood_still_;                       // In all.
  absl::Time resumed_at_ = absl::InfinitePast();
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_PROCESS_CLOCK_H_
