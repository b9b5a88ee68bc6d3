// The phases of a step, as shown to the user.
#ifndef PENSTOCK_TRAINER_PROFILE_PHASE_H_
#define PENSTOCK_TRAINER_PROFILE_PHASE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace penstock {

enum class Phase : uint8_t {
  kInput,         // Waiting for a batch.
  kHostToDevice,  // Copying a batch to the place where it is trained on.
  kLaunch,        // Queuing work on a device.
  kCompute,       // Forward, backward, update.
  kCollective,    // Communication with other ranks.
  kOutput,        // Checkpoints, evaluations, logs.
  kOther,
};
inline constexpr size_t kPhases = 7;

// "input", "host_to_device", "launch", "compute", "collective", "output", "other".
const char* PhaseName(Phase phase);

// Time by phase.
struct PhaseTimes {
  std::array<std::chrono::nanoseconds, kPhases> times = {};

  std::chrono::nanoseconds& operator[](Phase phase) { return times[static_cast<size_t>(phase)]; }
  std::chrono::nanoseconds operator[](Phase phase) const {
    return times[static_cast<size_t>(phase)];
  }
  std::chrono::nanoseconds total() const {
    std::chrono::nanoseconds sum{};
    for (std::chrono::nanoseconds time : times) sum += time;
    return sum;
  }
  // Fraction of total(); 0 if total() is 0.
  double share(Phase phase) const;

  PhaseTimes& operator+=(const PhaseTimes& other) {
    for (size_t i = 0; i < kPhases; ++i) times[i] += other.times[i];
    return *this;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_PHASE_H_
