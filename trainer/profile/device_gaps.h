// Measures when a device was idle during the recorded steps.
#ifndef PENSTOCK_TRAINER_PROFILE_DEVICE_GAPS_H_
#define PENSTOCK_TRAINER_PROFILE_DEVICE_GAPS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/profile/device_profile.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// Times of one step, or of several that were launched together.
struct DeviceStep {
  uint64_t step = 0, steps = 1;
  std::chrono::nanoseconds before{};  // Idle since the previous step; 0 for the first.
  std::chrono::nanoseconds busy{};    // Time in which any of its work ran.
  // Part of `busy` in which only communication with other ranks ran.
  std::chrono::nanoseconds alone{};
  std::chrono::nanoseconds inside{};   // Idle within a launch, that is, within a graph.
  std::chrono::nanoseconds between{};  // Idle between its launches, in exchanges with other ranks.
  uint64_t works = 0;                  // Number of kernels and copies, or of launches.
};

struct DeviceTimes {
  std::string source;
  bool every_kernel = false;            // If false, `inside` is unknown and 0.
  std::chrono::nanoseconds overhead{};  // Host time that recording itself took.
  std::vector<DeviceStep> steps;
  DeviceStep sum;  // Totals; `step` is the first step, `steps` the number of steps.
  // The longest idle time inside a launch. It comes after the work `longest_after` and before the
  // work `longest_before`.
  std::chrono::nanoseconds longest{};
  std::string longest_after, longest_before;
};

// Measures launches that compute. A launch lasts from the begin of its first work to the end of its
// last, and is busy while any of its work runs on any stream. Launches are in the order in which
// they were queued. If two overlap, there is no idle time between them, and the common time counts
// for the earlier one.
DeviceTimes MeasureGaps(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches);

// "device, by CUPTI API 130001: steps 500 to 519, 1.84 ms each: 97.9 % busy, ..."; says so if
// something is unknown.
std::string DeviceTimesLine(const DeviceTimes& times);

// Notes about the records for the user, one per line.
std::vector<std::string> DeviceNotes(const DeviceRecords& records);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_GAPS_H_
