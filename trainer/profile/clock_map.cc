#include "trainer/profile/clock_map.h"

#include <cmath>

namespace penstock {
namespace {

constexpr double kMostDrift = 1e-3;

}  // namespace

ClockPair PairClocks(const std::function<uint64_t()>& other, int tries,
                     const std::function<Tracer::Clock::time_point()>& host) {
  ClockPair best;
  for (int i = 0; i < tries; ++i) {
    const Tracer::Clock::time_point before = host();
    const uint64_t time = other();
    const std::chrono::nanoseconds window = host() - before;
    if (i == 0 || window < best.window) best = {before + window / 2, time, window};
  }
  return best;
}

ClockMap::ClockMap(const ClockPair& begin, const ClockPair& end) : begin_(begin) {
  const double host = static_cast<double>((end.host - begin.host).count());
  const double other = static_cast<double>(static_cast<int64_t>(end.other_ns - begin.other_ns));
  const double slack = static_cast<double>((begin.window + end.window).count());
  if (host <= 0) return;
  was_set_ = std::abs(host - other) > kMostDrift * host + slack;
  if (!was_set_ && slack < kMostDrift * host) rate_ = host / other;
}

Tracer::Clock::time_point ClockMap::ToHost(uint64_t other_ns) const {
  const auto since = static_cast<int64_t>(other_ns - begin_.other_ns);
  return begin_.host + std::chrono::nanoseconds(std::llround(rate_ * static_cast<double>(since)));
}

}  // namespace penstock
