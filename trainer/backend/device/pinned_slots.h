// Page-locked memory for the loader's slots, so that a batch is sent directly from its slot.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_PINNED_SLOTS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_PINNED_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "client/loader/slot_allocator.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// If memory cannot be locked, allocates plain memory, which needs another copy on the way. `device`
// must outlive this object. Not thread-safe.
class PinnedSlots final : public SlotAllocator {
 public:
  explicit PinnedSlots(Device& device) : device_(device) {}

  // kResourceExhausted: plain memory is not available either.
  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override;
  // Waits until the device has read the batches that were sent from this memory.
  void Free(uint8_t* memory, size_t bytes) override;

  // Whether the whole range is page-locked memory from Allocate().
  bool Contains(const uint8_t* memory, size_t bytes) const;
  // Returns "full batches are sent from the loader's slots", and the reason if some are not.
  std::string Describe() const;

 private:
  Device& device_;
  std::map<const uint8_t*, size_t> locked_;  // Size in bytes by address.
  absl::Status refused_;                     // The last refusal to lock memory.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PINNED_SLOTS_H_
