#include "cli/stream/wait_times.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double kGrowth = 1.01;

// Class i holds waits above 1.01^(i-1) us and at most 1.01^i us. Class 0 holds all shorter waits.
double ClassOf(absl::Duration wait) {
  const double us = std::max(1.0, absl::ToDoubleMicroseconds(wait));
  return std::ceil(std::log(us) / std::log(kGrowth));
}

}  // namespace

void WaitTimes::Add(absl::Duration wait) {
  ++counts_[static_cast<size_t>(std::min<double>(ClassOf(wait), kClasses - 1))];
  ++count_;
  max_ = std::max(max_, wait);
}

absl::Duration WaitTimes::Quantile(double q) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(q * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (int i = 0; i < kClasses; ++i) {
    seen += counts_[i];
    if (seen >= wanted && seen > 0) {
      return std::min(max_, absl::Microseconds(std::pow(kGrowth, i)));
    }
  }
  return absl::ZeroDuration();
}

}  // namespace penstock
