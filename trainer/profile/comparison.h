// A run with something left out, beside the run with it.
#ifndef PENSTOCK_TRAINER_PROFILE_COMPARISON_H_
#define PENSTOCK_TRAINER_PROFILE_COMPARISON_H_

#include <cstdint>
#include <string>

#include "trainer/profile/phase.h"

namespace penstock {

// The steps of one kind of run.
struct RunRate {
  uint64_t rows = 0;
  PhaseTimes times = {};  // Without output.

  double rows_per_second() const;
};

// "normal 2,710/s (input 4.1 % of the time), with synthetic data 2,820/s: 1.04 times: ..." and
// whether what was left out, kInput or kCollective, is worth looking at: 5 % are the threshold, as
// in verdict.h. That is "not shown" where the rates say one thing and the time that it was waited
// for another, and where leaving it out made the steps that much slower.
std::string CompareRuns(const RunRate& normal, const RunRate& other, const std::string& what,
                        Phase left_out = Phase::kInput);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_COMPARISON_H_
