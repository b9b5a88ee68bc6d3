// Allocates the memory that batches are assembled in.
#ifndef PENSTOCK_CLIENT_LOADER_SLOT_ALLOCATOR_H_
#define PENSTOCK_CLIENT_LOADER_SLOT_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace penstock {

// Called while a loader opens and while it is destroyed, by one thread at a time. A trainer passes
// an allocator of pinned memory, so that the loader needs no CUDA (docs/guides/pinned_memory.md).
class SlotAllocator {
 public:
  virtual ~SlotAllocator() = default;
  // Returns memory that is at least 64-byte aligned, or an error, which Loader::Open() returns.
  // Open() refuses null and memory of a smaller alignment. A loader allocates once, for all its
  // slots.
  virtual absl::StatusOr<uint8_t*> Allocate(size_t bytes) = 0;
  virtual void Free(uint8_t* memory, size_t bytes) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SLOT_ALLOCATOR_H_
