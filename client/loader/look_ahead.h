// How many batches a loader fetches ahead.
#ifndef PENSTOCK_CLIENT_LOADER_LOOK_AHEAD_H_
#define PENSTOCK_CLIENT_LOADER_LOOK_AHEAD_H_

#include <cstdint>

namespace penstock {

// The least --look-ahead of programs: not even a batch. Less is a number without its unit.
inline constexpr uint64_t kMinLookAheadBytes = uint64_t{64} << 10;

// The memory that LoaderOptions::look_ahead_bytes allows. 0 stands for 64 MiB, or for four slots
// if they take more.
uint64_t LookAheadBytes(uint64_t look_ahead_bytes, uint64_t slot_bytes);

// max(2, LookAheadBytes() / slot_bytes), at most 2^16 and, beyond 2, no more than steps.
uint32_t NumSlots(uint64_t look_ahead_bytes, uint64_t slot_bytes, uint64_t steps);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOOK_AHEAD_H_
