// Checks of options that are numbers. CLI11's own take -1 for 2^64 - 1, what is too large for the
// largest, NaN for a number of any range, and name a range without an end by its 300 digits.
#ifndef PENSTOCK_BASE_FLAGS_NUMBER_FLAGS_H_
#define PENSTOCK_BASE_FLAGS_NUMBER_FLAGS_H_

#include <cfloat>
#include <cstdint>

#include "CLI/CLI.hpp"

namespace penstock {

// The help shows a range that has an end: "UINT:0..1024".
CLI::Validator WholeNumber(uint64_t least = 0, uint64_t most = UINT64_MAX);
CLI::Validator Number(double least, double most = DBL_MAX);
CLI::Validator PositiveNumber();

// Options of `app` and its subcommands that take a number and have no check of their own take it
// from 0 on.
void CheckNumbers(CLI::App& app);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_NUMBER_FLAGS_H_
