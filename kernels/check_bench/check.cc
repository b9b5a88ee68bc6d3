#include "kernels/check_bench/check.h"

#include <cstdio>

#if defined(PENSTOCK_SIMT_EMULATION)
#include "kernels/simt/simt.h"
#endif

namespace penstock::check_bench {

void RunThreadsInReverse([[maybe_unused]] bool reverse) {
#if defined(PENSTOCK_SIMT_EMULATION)
  simt::SetOrder(reverse ? simt::Order::kReverse : simt::Order::kForward);
#endif
}

bool Checker::Begin(const std::string& name) {
  if (name.compare(0, prefix_.size(), prefix_) != 0) return false;
  name_ = name;
  shape_.clear();
  names_.push_back(name);
  return !only_names_;
}

void Checker::Shape(std::initializer_list<Dimension> dimensions) {
  shape_.clear();
  for (const Dimension& d : dimensions) {
    char number[32];
    std::snprintf(number, sizeof number, "%.10g", d.value);
    shape_ += (shape_.empty() ? "" : " ") + std::string(d.name) + "=" + number;
  }
}

void Checker::Add(const std::string& what, double error, double bound,
                  std::optional<WrongElements> wrong) {
  outcomes_.push_back({name_, shape_, what, error, bound, std::move(wrong)});
}

void Checker::AddSameBits(const std::string& what, std::optional<WrongElements> wrong) {
  const double error = wrong ? 1 : 0;
  Add(what, error, 0, std::move(wrong));
}

void Checker::Compare(const std::string& what, const std::vector<double>& actual,
                      const std::vector<double>& expected, const std::vector<double>& errors,
                      double derived) {
  const double bound = margin_ * derived;
  Add(what, Largest(errors), bound, FindWrong(actual, expected, errors, bound));
}

}  // namespace penstock::check_bench
