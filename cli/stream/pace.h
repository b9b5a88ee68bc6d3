// Makes a consumer without work keep the pace of a trainer.
#ifndef PENSTOCK_CLI_STREAM_PACE_H_
#define PENSTOCK_CLI_STREAM_PACE_H_

#include <cstddef>

#include "absl/time/time.h"

namespace penstock {

// Spends rows / rate on each batch, like a training step. Time lost waiting for a batch is not made
// up for by working faster later. Not thread-safe.
class Pace {
 public:
  // If `rows_per_second` is 0, batches take no time.
  explicit Pace(double rows_per_second) : rows_per_second_(rows_per_second) {}

  // Returns the time until which a batch of `rows` rows that arrived at `arrived` keeps the
  // consumer busy.
  absl::Time WorkUntil(absl::Time arrived, size_t rows);
  // Sleeps until WorkUntil(). A signal that an InterruptGuard remembers ends the sleep. REQUIRES:
  // an InterruptGuard lives.
  void Work(absl::Time arrived, size_t rows);

 private:
  const double rows_per_second_;
  absl::Time busy_until_ = absl::InfinitePast();
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_PACE_H_
