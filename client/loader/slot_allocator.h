// Memory that batches are assembled in.
#ifndef PENSTOCK_CLIENT_LOADER_SLOT_ALLOCATOR_H_
#define PENSTOCK_CLIENT_LOADER_SLOT_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace penstock {

// A trainer gives one that returns pinned memory, so that the loader needs no CUDA.
// Called while a loader opens and while it is destroyed, by one thread at a time.
class SlotAllocator {
 public:
  virtual ~SlotAllocator() = default;
  // At least 64-byte aligned. A loader asks once, for all its slots.
  virtual absl::StatusOr<uint8_t*> Allocate(size_t bytes) = 0;
  virtual void Free(uint8_t* memory, size_t bytes) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SLOT_ALLOCATOR_H_
