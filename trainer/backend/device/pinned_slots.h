// Page-locked memory for the loader's slots, so that a batch is sent from where it was assembled.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_PINNED_SLOTS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_PINNED_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "client/loader/slot_allocator.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// Where memory cannot be locked, plain memory, which is copied once more on its way. `device` must
// outlive it. Not thread-safe.
class PinnedSlots final : public SlotAllocator {
 public:
  explicit PinnedSlots(Device& device) : device_(device) {}

  // kResourceExhausted: there is no plain memory either.
  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override;
  // Waits until the device has read what was sent from there.
  void Free(uint8_t* memory, size_t bytes) override;

  // Whether all of it is page-locked memory of Allocate().
  bool Contains(const uint8_t* memory, size_t bytes) const;
  // "full batches are sent from the loader's slots", and why some are not.
  std::string Describe() const;

 private:
  Device& device_;
  std::map<const uint8_t*, size_t> locked_;  // Bytes by address.
  absl::Status refused_;                     // The last one.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PINNED_SLOTS_H_
