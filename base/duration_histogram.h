// Counts durations by their length.
#ifndef PENSTOCK_BASE_DURATION_HISTOGRAM_H_
#define PENSTOCK_BASE_DURATION_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace penstock {

// The bounds are the same for all histograms, so that Prometheus can add them up. Not thread-safe.
class DurationHistogram {
 public:
  // Upper bounds in seconds. A duration that equals a bound counts below it.
  static constexpr std::array<double, 12> kBounds = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                                     0.1,    0.3,    1,     3,     10,   30};

  void Add(absl::Duration duration) {
    const double seconds = absl::ToDoubleSeconds(duration);
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    ++counts_[static_cast<size_t>(bound - kBounds.begin())];
    sum_ += duration;
  }

  // The number of durations in each bucket; the last has those above all bounds.
  const std::array<uint64_t, kBounds.size() + 1>& counts() const { return counts_; }
  absl::Duration sum() const { return sum_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_ = {};
  absl::Duration sum_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_DURATION_HISTOGRAM_H_
