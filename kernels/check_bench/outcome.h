// The result of a check, and the text that describes a failure.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_OUTCOME_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_OUTCOME_H_

#include <cstddef>
#include <optional>
#include <string>

namespace penstock::check_bench {

// The wrong elements of an array. If the array has the wrong number of elements, none is compared.
struct WrongElements {
  std::string array;  // Which output of a launch it is, as in "output 2 of 4", or empty.
  size_t elements = 0, expected_elements = 0;
  size_t wrong = 0;
  // The first wrong element: its index in the array, its value and the expected one.
  size_t index = 0;
  double value = 0, expected = 0;
};

// One comparison: the largest error, which must be at most `bound`.
struct Outcome {
  std::string check;  // Its name, or empty if no check has begun.
  std::string shape;  // What the name of the check does not say, as in "samples=2 tokens=33".
  std::string what;
  double error = 0;
  double bound = 0;
  std::optional<WrongElements> wrong;             // Absent if it passed or compared no arrays.
  bool passed() const { return error <= bound; }  // False for NaN.
};

// Returns one line with all that is known. For a failure, it has the first wrong element, both
// values, and how many elements are wrong.
std::string Description(const Outcome& outcome);

// Returns `x` with as many digits as it takes to read the same double again.
std::string AllDigits(double x);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_OUTCOME_H_
