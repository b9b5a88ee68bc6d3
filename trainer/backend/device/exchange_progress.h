// Progress of a step that exchanges gradients while it computes, reported by the device, because
// the host has queued everything in advance.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_EXCHANGE_PROGRESS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_EXCHANGE_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/memory_plan.h"

namespace penstock {

// Words of page-locked memory that operations in the queued lists write. Not thread-safe.
class ExchangeProgress {
 public:
  // Adds memory for steps with `buckets` buckets, in `slots` slots.
  void AddMemory(MemoryPlan& plan, size_t buckets, size_t slots);
  // Call this once the memory is taken. Waits for the compute stream.
  absl::Status Bind(Device& device, const MemoryPlan& plan);

  // AtBucket() is an operation that reports that the slot's step has reached the exchange of this
  // bucket. Computed() reports that the step has computed all its gradients.
  DeviceOp AtBucket(size_t slot, size_t bucket) const;
  DeviceOp Computed(size_t slot) const;

  // Announces that step `step` will be in the slot. REQUIRES: no queued work uses the slot.
  void Begin(size_t slot, uint64_t step);
  // The step that was last begun in the slot.
  uint64_t step(size_t slot) const { return steps_[slot]; }
  // exchanges() returns whether the slot's step has started exchanging. bucket() returns the bucket
  // whose exchange is under way or was last; 0 before the first.
  bool exchanges(size_t slot) const;
  uint32_t bucket(size_t slot) const;
  bool computed(size_t slot) const;

 private:
  DeviceOp Tell(size_t number, uint32_t* word) const;
  uint32_t* WordsOf(size_t slot) const { return words_ + 2 * slot; }

  size_t buckets_ = 0;
  MemoryPlan::Region region_ = 0;
  uint32_t* numbers_ = nullptr;  // The numbers 1, 2, ... on the device.
  // Two words per slot on the host: bucket + 1, and whether all gradients are computed.
  uint32_t* words_ = nullptr;
  std::vector<uint64_t> steps_;  // The step that was last begun in each slot.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_EXCHANGE_PROGRESS_H_
