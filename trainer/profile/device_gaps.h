// When a device had nothing to do in the steps that were recorded.
#ifndef PENSTOCK_TRAINER_PROFILE_DEVICE_GAPS_H_
#define PENSTOCK_TRAINER_PROFILE_DEVICE_GAPS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/profile/device_profile.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// Of one step, or of those that were launched together.
struct DeviceStep {
  uint64_t step = 0, steps = 1;
  std::chrono::nanoseconds before{};   // Idle since the step before it; 0 of the first.
  std::chrono::nanoseconds busy{};     // Something of it ran.
  std::chrono::nanoseconds alone{};    // Of that: only what communicates with other ranks.
  std::chrono::nanoseconds inside{};   // Idle between what was launched together: in a graph.
  std::chrono::nanoseconds between{};  // Idle between its launches: exchanges of several ranks.
  uint64_t works = 0;                  // Kernels, copies; or launches.
};

struct DeviceTimes {
  std::string source;
  bool every_kernel = false;            // Else `inside` is not known, and 0.
  std::chrono::nanoseconds overhead{};  // That recording itself took of the host.
  std::vector<DeviceStep> steps;
  DeviceStep sum;  // Of all; `step` is the first, `steps` their number.
  // The longest idle time inside, and after and before what it was.
  std::chrono::nanoseconds longest{};
  std::string longest_after, longest_before;
};

// Of launches that compute; each one's time is from the begin of its first work to the end of its
// last, and is busy where any work of it runs, on any stream. Launches come in the order in which
// they were queued; where two overlap there is no idle time between them, and what both share
// counts as the earlier one's.
DeviceTimes MeasureGaps(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches);

// "device, by CUPTI API 130001: steps 500 to 519, 1.84 ms each: 97.9 % busy, ..."; what it does not
// know it says.
std::string DeviceTimesLine(const DeviceTimes& times);

// What a person should know of the records besides: a line each.
std::vector<std::string> DeviceNotes(const DeviceRecords& records);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_GAPS_H_
