// Compares arrays element by element. An error that is NaN is wrong.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_COMPARE_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_COMPARE_H_

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/check_bench/outcome.h"
#include "kernels/numeric/bf16.h"

namespace penstock::check_bench {

template <typename T>
std::vector<double> ToDoubles(const std::vector<T>& values) {
  std::vector<double> doubles(values.size());
  std::transform(values.begin(), values.end(), doubles.begin(), [](T x) {
    if constexpr (std::is_same_v<T, double>) {
      return x;
    } else {
      return static_cast<double>(ToFloat(x));
    }
  });
  return doubles;
}

double RootMeanSquare(const std::vector<double>& values);

// The difference of each element beyond its `allowed` one. Each is divided by the expected value or
// by the root mean square of all expected values, whichever is larger: small values next to large
// ones are sums that nearly cancel. A single NaN if the arrays differ in size.
std::vector<double> RelativeErrors(const std::vector<double>& actual,
                                   const std::vector<double>& expected,
                                   const std::vector<double>& allowed);
// The difference of each element, divided by its own of `errors`. A single NaN if the arrays differ
// in size.
std::vector<double> Multiples(const std::vector<double>& actual,
                              const std::vector<double>& expected,
                              const std::vector<double>& errors);

// Returns the largest of `errors`, which are not negative; 0 without any, NaN if one is NaN.
double Largest(const std::vector<double>& errors);

// Returns the elements whose error is not at most `bound`; nullopt if there are none and the arrays
// have the same size.
std::optional<WrongElements> FindWrong(const std::vector<double>& actual,
                                       const std::vector<double>& expected,
                                       const std::vector<double>& errors, double bound);

// For each element, 0 if `same`, else 1. A single 1 if the arrays differ in size.
template <typename T, typename Same>
std::vector<double> Differences(const std::vector<T>& actual, const std::vector<T>& expected,
                                Same same) {
  if (actual.size() != expected.size()) return {1};
  std::vector<double> differences(actual.size());
  std::transform(actual.begin(), actual.end(), expected.begin(), differences.begin(),
                 [&](const T& a, const T& b) { return same(a, b) ? 0.0 : 1.0; });
  return differences;
}

template <typename T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Returns the elements that differ in a bit; nullopt if none does and the arrays have the same
// size.
template <typename T>
std::optional<WrongElements> DifferentBits(const std::vector<T>& actual,
                                           const std::vector<T>& expected) {
  if (SameBytes(actual, expected)) return std::nullopt;
  auto same = [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; };
  return FindWrong(ToDoubles(actual), ToDoubles(expected), Differences(actual, expected, same), 0);
}

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_COMPARE_H_
