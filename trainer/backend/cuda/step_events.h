// What the events of a device are to the backend.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_STEP_EVENTS_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_STEP_EVENTS_H_

#include <cstddef>

#include "trainer/backend/cuda/device.h"

namespace penstock {

inline constexpr size_t kBatchGroups = 2;

// A group of batches has arrived; what was queued for it is done.
constexpr DeviceEvent ArrivalOf(size_t group) { return 2 * group; }
constexpr DeviceEvent DoneOf(size_t group) { return 2 * group + 1; }

// Of DeviceList::AddOrder(), each waited for at once.
inline constexpr DeviceEvent kBucketIsComputed = 2 * kBatchGroups;
inline constexpr DeviceEvent kBucketsAreExchanged = kBucketIsComputed + 1;

static_assert(kBucketsAreExchanged + 1 == kDeviceEvents);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_STEP_EVENTS_H_
