// Measures how long a consumer waited for its batches.
#ifndef PENSTOCK_CLI_STREAM_WAIT_TIMES_H_
#define PENSTOCK_CLI_STREAM_WAIT_TIMES_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"

namespace penstock {

// Counts durations in classes from 1 us to 1,000 s, whose bounds grow by 1 % from one to the next.
// Takes a fixed 16 KiB for any number of durations. Not thread-safe.
class WaitTimes {
 public:
  void Add(absl::Duration wait);

  uint64_t count() const { return count_; }
  absl::Duration max() const { return max_; }
  // Returns the least bound that a share `q` of the durations does not exceed, at most 1 % too
  // high; 0 if there are none. REQUIRES: 0 < q <= 1.
  absl::Duration Quantile(double q) const;

 private:
  static constexpr int kClasses = 2084;  // 1.01^2083 > 10^9.

  std::array<uint64_t, kClasses> counts_ = {};
  uint64_t count_ = 0;
  absl::Duration max_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_WAIT_TIMES_H_
