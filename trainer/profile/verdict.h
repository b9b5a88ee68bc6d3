// Names the bottleneck of a training in one line, with advice.
#ifndef PENSTOCK_TRAINER_PROFILE_VERDICT_H_
#define PENSTOCK_TRAINER_PROFILE_VERDICT_H_

#include <cstdint>
#include <string>

#include "trainer/profile/phase.h"

namespace penstock {

enum class Limit : uint8_t { kNothingRan, kInput, kLaunch, kCollective, kTooSmallForGpu, kCompute };

// "nothing-ran", "input-bound", "launch-bound", "communication-bound", "too-small-for-a-gpu",
// "compute-bound".
const char* LimitName(Limit limit);

// Options that are already set; no advice repeats them.
struct VerdictOptions {
  bool packed = true;                   // Records travel packed.
  bool bf16 = false;                    // --precision bf16 is set or unsupported.
  bool fast = false;                    // --reduction fast is set.
  bool half_exchange = false;           // --compression is bf16 or fp16.
  bool several_steps_a_launch = false;  // --steps-per-launch is more than one.
  bool diagnoses = false;  // Compared with a run without input or without communication.
};

struct VerdictInput {
  PhaseTimes times = {};  // Times of all steps.
  uint64_t steps = 0;
  bool gpu = false;
  VerdictOptions told = {};
};

struct Verdict {
  Limit limit = Limit::kNothingRan;
  bool highly = false;  // Whether the phase exceeds the upper threshold.
  std::string text;     // "compute-bound: ..."
};

// Shares are of a step without its output, because checkpoints and evaluations are requested work.
// A phase is named from its lower threshold on, and is "highly" limiting from the upper one: input
// 5 and 20 %, launch 3 and 15 %, collectives 3 and 15 %. These are the thresholds of TensorFlow's
// profiler (tensorflow/profiler, bottleneck_analysis: kModeratelyInfeedBoundThresholdInPercent and
// its neighbours). If several phases exceed theirs, the one furthest above its lower threshold
// counts. A GPU that computes less than 0.2 ms per step while launches take 15 % has too little to
// do.
Verdict Judge(const VerdictInput& input);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_VERDICT_H_
