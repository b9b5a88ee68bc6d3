// How far a step is that exchanges gradients while it computes, as the device itself tells: the
// host queued all of it before.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_EXCHANGE_PROGRESS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_EXCHANGE_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/memory_plan.h"

namespace penstock {

// Words of page-locked memory that operations among the others write. Not thread-safe.
class ExchangeProgress {
 public:
  // Of steps of so many buckets, in `slots` slots.
  void AddMemory(MemoryPlan& plan, size_t buckets, size_t slots);
  // Once the memory is taken; waits for the stream of computations.
  absl::Status Bind(Device& device, const MemoryPlan& plan);

  // The slot's step has come to the exchange of this bucket; has computed all its gradients.
  DeviceOp AtBucket(size_t slot, size_t bucket) const;
  DeviceOp Computed(size_t slot) const;

  // Step `step` will be in the slot. REQUIRES: nothing that is queued uses it.
  void Begin(size_t slot, uint64_t step);
  // What was begun in the slot last.
  uint64_t step(size_t slot) const { return steps_[slot]; }
  // Whether it exchanges already; the bucket whose exchange is under way or was last, 0 before.
  bool exchanges(size_t slot) const;
  uint32_t bucket(size_t slot) const;
  bool computed(size_t slot) const;

 private:
  DeviceOp Tell(size_t number, uint32_t* word) const;
  uint32_t* WordsOf(size_t slot) const { return words_ + 2 * slot; }

  size_t buckets_ = 0;
  MemoryPlan::Region region_ = 0;
  uint32_t* numbers_ = nullptr;  // Of the device: 1, 2, ...
  uint32_t* words_ = nullptr;    // Of the host, two a slot: bucket + 1, and whether it computed.
  std::vector<uint64_t> steps_;  // Of each slot.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_EXCHANGE_PROGRESS_H_
