// Converts times of one clock to another.
#ifndef PENSTOCK_TRAINER_PROFILE_CLOCK_MAP_H_
#define PENSTOCK_TRAINER_PROFILE_CLOCK_MAP_H_

#include <cstdint>
#include <functional>

#include "trainer/profile/tracer.h"

namespace penstock {

// The readings of two clocks at one moment.
struct ClockPair {
  Tracer::Clock::time_point host = {};
  uint64_t other_ns = 0;
  std::chrono::nanoseconds window{};  // The moment is known to half of this.
};

// Reads `other` between two readings of the host's clock, `tries` times. The try with the shortest
// interval counts; its midpoint is the moment.
ClockPair PairClocks(const std::function<uint64_t()>& other, int tries = 9,
                     const std::function<Tracer::Clock::time_point()>& host = Tracer::Clock::now);

// A straight line through two pairs, taken before and after the times to convert. If the clocks
// diverged by more than 1 in 1,000, one of them was set meanwhile, and only the first pair counts.
// The same holds if the pairs are too close together to tell.
class ClockMap {
 public:
  ClockMap() = default;
  ClockMap(const ClockPair& begin, const ClockPair& end);

  Tracer::Clock::time_point ToHost(uint64_t other_ns) const;
  bool was_set() const { return was_set_; }

 private:
  ClockPair begin_;
  double rate_ = 1;  // Host nanoseconds per nanosecond of the other clock.
  bool was_set_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_CLOCK_MAP_H_
