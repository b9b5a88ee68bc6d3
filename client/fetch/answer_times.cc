#include "client/fetch/answer_times.h"

#include <algorithm>

namespace penstock {

void AnswerTimes::Add(absl::Duration time) {
  ring_[count_++ % ring_.size()] = time;
  if (count_ <= 8 || count_ % 8 == 0) Refresh();
}

void AnswerTimes::Refresh() {
  const size_t known = std::min(count_, ring_.size());
  std::copy_n(ring_.begin(), known, sorted_.begin());
  const auto at = sorted_.begin() + static_cast<ptrdiff_t>((known * 95 - 1) / 100);
  std::nth_element(sorted_.begin(), at, sorted_.begin() + static_cast<ptrdiff_t>(known));
  p95_ = *at;
}

}  // namespace penstock
