// What a training has been doing, in a line: for when it hangs.
#ifndef PENSTOCK_TRAINER_PROFILE_RECENT_STEPS_H_
#define PENSTOCK_TRAINER_PROFILE_RECENT_STEPS_H_

#include <string>

#include "trainer/profile/step_recorder.h"

namespace penstock {

// "step 411 took 0.152 s (compute 0.149, collective 0.003), ...; since then 61.2 s (compute
// 1.01, collective 60.1), now in collective for 60.1 s": the last four, and phases of a hundredth
// of a step or more. Empty before recorder.Start().
std::string DescribeRecentSteps(const StepRecorder& recorder,
                                StepRecorder::Clock::time_point now = StepRecorder::Clock::now());

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_RECENT_STEPS_H_
