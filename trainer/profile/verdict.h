// What limits a training, in one line, and what to do about it.
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

// What a training has been told already: no advice repeats it.
struct VerdictOptions {
  bool packed = true;                   // Records travel packed.
  bool bf16 = false;                    // --precision; or it cannot be.
  bool fast = false;                    // --reduction.
  bool half_exchange = false;           // --compression: bf16 or fp16.
  bool several_steps_a_launch = false;  // --steps-per-launch: more than one.
  bool diagnoses = false;  // It is compared with one without input, or without communication.
};

struct VerdictInput {
  PhaseTimes times = {};  // Of all steps.
  uint64_t steps = 0;
  bool gpu = false;
  VerdictOptions told = {};
};

struct Verdict {
  Limit limit = Limit::kNothingRan;
  bool highly = false;  // Above the upper threshold.
  std::string text;     // "compute-bound: ..."
};

// Shares are of a step without its output: checkpoints and evaluations are asked for. From the
// lower threshold on a phase is named, from the upper one "highly": input 5 and 20 %, launch 3 and
// 15 %, collectives 3 and 15 %, those of TensorFlow's profiler (tensorflow/profiler,
// bottleneck_analysis: kModeratelyInfeedBoundThresholdInPercent and those beside it). Of several
// the one that is furthest above its lower threshold counts. A GPU that computes for less than
// 0.2 ms a step while launches take 15 % has too little to do.
Verdict Judge(const VerdictInput& input);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_VERDICT_H_
