// The device memory of a training: planned, printed and checked before it is taken.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_MEMORY_PLAN_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_MEMORY_PLAN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/device/device.h"
#include "trainer/profile/memory_table.h"

namespace penstock {

// Not thread-safe.
class MemoryPlan {
 public:
  using Region = size_t;

  // Adds a separate region. Its address is known once Take() has succeeded.
  Region Add(std::string what, size_t bytes, std::string detail = "");

  // Counts memory that others take: libraries and the driver.
  void Reserve(std::string what, size_t bytes, std::string detail);

  const std::vector<MemoryUse>& uses() const { return uses_; }
  uint64_t bytes() const;

  // kResourceExhausted: the plan exceeds `fraction` of the device's memory, or the free memory. The
  // message lists the needed memory by purpose and the other users of the device's memory, and says
  // what to change.
  absl::Status Check(const Device& device, double fraction) const;
  // Allocates all regions, but nothing that is reserved.
  absl::Status Take(Device& device);

  template <typename T = char>
  T* at(Region region) const {
    return static_cast<T*>(addresses_[region]);
  }

 private:
  std::string Needs(const Device& device) const;

  std::vector<MemoryUse> uses_;
  std::vector<bool> is_reserved_;  // For each use.
  std::vector<void*> addresses_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_MEMORY_PLAN_H_
