// Computes how many batches a loader fetches ahead.
#ifndef PENSTOCK_CLIENT_LOADER_LOOK_AHEAD_H_
#define PENSTOCK_CLIENT_LOADER_LOOK_AHEAD_H_

#include <cstdint>

namespace penstock {

// Smallest --look-ahead that programs accept. It is too small for most batches, so a smaller
// number probably lacks its unit.
inline constexpr uint64_t kMinLookAheadBytes = uint64_t{64} << 10;

// Returns the memory that LoaderOptions::look_ahead_bytes allows, in bytes. 0 means 64 MiB, or four
// slots if they take more.
uint64_t LookAheadBytes(uint64_t look_ahead_bytes, uint64_t slot_bytes);

// Returns max(2, LookAheadBytes() / slot_bytes), but at most 2^16, and at most max(2, steps).
uint32_t NumSlots(uint64_t look_ahead_bytes, uint64_t slot_bytes, uint64_t steps);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOOK_AHEAD_H_
