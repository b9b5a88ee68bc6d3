// Page-locked host memory as an array.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_HOST_ARRAY_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_HOST_ARRAY_H_

#include <algorithm>
#include <cstddef>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// Allocates `count` elements of T; `count` may be 0. The device owns the memory until its end.
// Errors are those of AllocateHost().
template <typename T>
absl::StatusOr<T*> AllocateHostArray(Device& device, size_t count) {
  PENSTOCK_ASSIGN_OR_RETURN(void* memory,
                            device.AllocateHost(std::max<size_t>(count, 1) * sizeof(T)));
  return static_cast<T*>(memory);
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_HOST_ARRAY_H_
