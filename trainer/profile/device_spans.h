// Adds the streams' tracks to a trace.
#ifndef PENSTOCK_TRAINER_PROFILE_DEVICE_SPANS_H_
#define PENSTOCK_TRAINER_PROFILE_DEVICE_SPANS_H_

#include <cstdint>
#include <vector>

#include "trainer/profile/device_profile.h"
#include "trainer/profile/device_recorder.h"
#include "trainer/profile/tracer.h"

namespace penstock {

inline constexpr uint32_t kFirstCallTrack = 1000, kFirstStreamTrack = 2000;

// Adds a track for each stream with work; spans that a launch queued show their step as a number.
// Also adds a track for each host thread whose calls queued the work, with an arrow from each call
// to the first work that it queued. Overlapping work of a stream goes to further tracks of that
// stream. Work that no launch queued is left out if it lies before or after all work of launches.
void AddDeviceSpans(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches,
                    Tracer& tracer);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_SPANS_H_
