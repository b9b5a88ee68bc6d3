// The rate of a trainer, kept by a consumer that has nothing to compute.
#ifndef PENSTOCK_CLI_STREAM_PACE_H_
#define PENSTOCK_CLI_STREAM_PACE_H_

#include <cstddef>

#include "absl/time/time.h"

namespace penstock {

// Spends rows / rate on each batch, as a training step would. What was lost waiting for a batch is
// not made up for by working faster after it. Not thread-safe.
class Pace {
 public:
  // 0: no time for any batch.
  explicit Pace(double rows_per_second) : rows_per_second_(rows_per_second) {}

  // Until when a batch of `rows` rows that arrived at `arrived` keeps the consumer busy.
  absl::Time WorkUntil(absl::Time arrived, size_t rows);
  // The same, slept; a signal that an InterruptGuard remembers ends it. REQUIRES: one lives.
  void Work(absl::Time arrived, size_t rows);

 private:
  const double rows_per_second_;
  absl::Time busy_until_ = absl::InfinitePast();
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_PACE_H_
