// Checks for options that are numbers. CLI11's own checks accept -1 as 2^64 - 1, replace a number
// that is too large by the largest one, accept NaN for any range, and print the limit of a range
// without an end with its 300 digits.
#ifndef PENSTOCK_BASE_FLAGS_NUMBER_FLAGS_H_
#define PENSTOCK_BASE_FLAGS_NUMBER_FLAGS_H_

#include <cfloat>
#include <cstdint>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace penstock {

// Accepts whole numbers from `least` to `most`. If the range has an end, the help shows it:
// "UINT:0..1024".
CLI::Validator WholeNumber(uint64_t least = 0, uint64_t most = UINT64_MAX);
CLI::Validator Number(double least, double most = DBL_MAX);
// Accepts any finite number above 0.
CLI::Validator PositiveNumber();

// Options of `app` and its subcommands that take a number and have no check of their own accept
// numbers from 0 on.
void CheckNumbers(CLI::App& app);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_NUMBER_FLAGS_H_
