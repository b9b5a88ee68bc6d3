// The streams' tracks of a trace.
#ifndef PENSTOCK_TRAINER_PROFILE_DEVICE_SPANS_H_
#define PENSTOCK_TRAINER_PROFILE_DEVICE_SPANS_H_

#include <cstdint>
#include <vector>

#include "trainer/profile/device_profile.h"
#include "trainer/profile/device_recorder.h"
#include "trainer/profile/tracer.h"

namespace penstock {

inline constexpr uint32_t kFirstCallTrack = 1000, kFirstStreamTrack = 2000;

// Adds a track for each stream that did something, with the step as a number of each span that a
// launch queued, and one for each host thread whose calls queued it, with an arrow from the call to
// the first it queued. Work of a stream that overlaps goes to a second track of the stream, and so
// on. What no launch queued is left out where it lies before or after all that one did.
void AddDeviceSpans(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches,
                    Tracer& tracer);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_SPANS_H_
