// One clock's times in another's.
#ifndef PENSTOCK_TRAINER_PROFILE_CLOCK_MAP_H_
#define PENSTOCK_TRAINER_PROFILE_CLOCK_MAP_H_

#include <cstdint>
#include <functional>

#include "trainer/profile/tracer.h"

namespace penstock {

// Two clocks at one moment.
struct ClockPair {
  Tracer::Clock::time_point host = {};
  uint64_t other_ns = 0;
  std::chrono::nanoseconds window{};  // The moment is known to half of it.
};

// Reads `other` between two readings of the host's clock, `tries` times; the one with the least
// between them counts, whose middle is the moment.
ClockPair PairClocks(const std::function<uint64_t()>& other, int tries = 9,
                     const std::function<Tracer::Clock::time_point()>& host = Tracer::Clock::now);

// A straight line through two pairs, before and after what is converted. Where the clocks went
// apart by more than 1 in 1,000 one of them was set meanwhile: then the first pair alone counts, as
// it does where they are too close together to tell.
class ClockMap {
 public:
  ClockMap() = default;
  ClockMap(const ClockPair& begin, const ClockPair& end);

  Tracer::Clock::time_point ToHost(uint64_t other_ns) const;
  bool was_set() const { return was_set_; }

 private:
  ClockPair begin_;
  double rate_ = 1;  // Host nanoseconds in one of the other.
  bool was_set_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_CLOCK_MAP_H_
