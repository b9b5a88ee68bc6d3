// Compares a run with a run that leaves something out.
#ifndef PENSTOCK_TRAINER_PROFILE_COMPARISON_H_
#define PENSTOCK_TRAINER_PROFILE_COMPARISON_H_

#include <cstdint>
#include <string>

#include "trainer/profile/phase.h"

namespace penstock {

// The steps of one kind of run.
struct RunRate {
  uint64_t rows = 0;
  PhaseTimes times = {};  // Times by phase, excluding output.

  double rows_per_second() const;
};

// Returns "normal 2,710/s (input 4.1 % of the time), with synthetic data 2,820/s: 1.04 times: ..."
// and says whether the phase that was left out, kInput or kCollective, matters. The threshold, 5 %,
// is the same as in verdict.h. The result is "inconclusive" if the rates disagree with the measured
// waiting time, or if leaving the phase out made the steps slower by more than the threshold.
std::string CompareRuns(const RunRate& normal, const RunRate& other, const std::string& what,
                        Phase left_out = Phase::kInput);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_COMPARISON_H_
