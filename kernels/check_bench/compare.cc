#include "kernels/check_bench/compare.h"

#include <cmath>

namespace penstock::check_bench {
namespace {

// NaN if either number is NaN, or both are infinite.
double Quotient(double difference, double size) {
  return difference <= 0 ? 0.0 : difference / size;
}

}  // namespace

double RootMeanSquare(const std::vector<double>& values) {
  double squares = 0;
  for (double x : values) squares += x * x;
  return std::sqrt(squares / static_cast<double>(std::max<size_t>(1, values.size())));
}

std::vector<double> RelativeErrors(const std::vector<double>& actual,
                                   const std::vector<double>& expected,
                                   const std::vector<double>& allowed) {
  if (actual.size() != expected.size()) return {std::nan("")};
  const double typical = RootMeanSquare(expected);
  std::vector<double> errors(actual.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    errors[i] = Quotient(std::abs(actual[i] - expected[i]) - allowed[i],
                         std::max(std::abs(expected[i]), typical));
  }
  return errors;
}

std::vector<double> Multiples(const std::vector<double>& actual,
                              const std::vector<double>& expected,
                              const std::vector<double>& errors) {
  if (actual.size() != expected.size()) return {std::nan("")};
  std::vector<double> multiples(actual.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    multiples[i] = Quotient(std::abs(actual[i] - expected[i]), errors[i]);
  }
  return multiples;
}

double Largest(const std::vector<double>& errors) {
  double largest = 0;
  for (double error : errors) {
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

std::optional<WrongElements> FindWrong(const std::vector<double>& actual,
                                       const std::vector<double>& expected,
                                       const std::vector<double>& errors, double bound) {
  WrongElements found;
  found.elements = actual.size();
  found.expected_elements = expected.size();
  if (found.elements != found.expected_elements) return found;
  for (size_t i = actual.size(); i-- > 0;) {
    if (errors[i] <= bound) continue;  // False for NaN.
    ++found.wrong;
    found.index = i;
    found.value = actual[i];
    found.expected = expected[i];
  }
  if (found.wrong == 0) return std::nullopt;
  return found;
}

}  // namespace penstock::check_bench
