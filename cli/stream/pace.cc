#include "cli/stream/pace.h"

#include <poll.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "cli/terminal/interrupt.h"

namespace penstock {
namespace {

// If a batch is requested no later than this after the end of the previous work, it counts as not
// waited for. So a sleep that ends late does not slow the pace.
constexpr absl::Duration kSleepsLate = absl::Milliseconds(1);

}  // namespace

absl::Time Pace::WorkUntil(absl::Time arrived, size_t rows) {
  if (rows_per_second_ <= 0) return arrived;
  const bool waited = arrived > busy_until_ + kSleepsLate;
  const absl::Time begin = waited ? arrived : busy_until_;
  busy_until_ = begin + absl::Seconds(static_cast<double>(rows) / rows_per_second_);
  return busy_until_;
}

void Pace::Work(absl::Time arrived, size_t rows) {
  const absl::Time until = WorkUntil(arrived, rows);
  pollfd interrupted = {InterruptGuard::descriptor(), POLLIN, 0};
  for (absl::Duration left; (left = until - absl::Now()) > absl::ZeroDuration();) {
    const timespec time = absl::ToTimespec(left);
    if (ppoll(&interrupted, 1, &time, nullptr) > 0) return;
  }
}

}  // namespace penstock
