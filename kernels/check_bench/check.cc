#include "kernels/check_bench/check.h"

#if defined(PENSTOCK_SIMT_EMULATION)
#include "kernels/simt/simt.h"
#endif

namespace penstock::check_bench {

double RootMeanSquare(const std::vector<double>& values) {
  double squares = 0;
  for (double x : values) squares += x * x;
  return std::sqrt(squares / static_cast<double>(std::max<size_t>(1, values.size())));
}

double LargestError(const std::vector<double>& actual, const std::vector<double>& expected,
                    const std::vector<double>& allowed) {
  if (actual.size() != expected.size()) return std::nan("");
  const double typical = RootMeanSquare(expected);
  double largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double beyond = std::abs(actual[i] - expected[i]) - allowed[i];
    if (std::isnan(beyond)) return beyond;
    if (beyond > 0) largest = std::max(largest, beyond / std::max(std::abs(expected[i]), typical));
  }
  return largest;
}

double LargestMultiple(const std::vector<double>& actual, const std::vector<double>& expected,
                       const std::vector<double>& errors) {
  if (actual.size() != expected.size()) return std::nan("");
  double largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(actual[i] - expected[i]);
    if (std::isnan(difference)) return difference;
    if (difference > 0) largest = std::max(largest, difference / errors[i]);
  }
  return largest;
}

void RunThreadsInReverse([[maybe_unused]] bool reverse) {
#if defined(PENSTOCK_SIMT_EMULATION)
  simt::SetOrder(reverse ? simt::Order::kReverse : simt::Order::kForward);
#endif
}

bool Checker::Begin(const std::string& name) {
  name_ = name;
  if (name.compare(0, prefix_.size(), prefix_) != 0) return false;
  names_.push_back(name);
  return !only_names_;
}

}  // namespace penstock::check_bench
