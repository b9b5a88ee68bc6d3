#include "client/loader/look_ahead.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr uint64_t kDefaultBytes = uint64_t{64} << 20;
constexpr uint64_t kDefaultSlots = 4;
constexpr uint64_t kMinSlots = 2;
constexpr uint64_t kMaxSlots = 1 << 16;

}  // namespace

uint64_t LookAheadBytes(uint64_t look_ahead_bytes, uint64_t slot_bytes) {
  if (look_ahead_bytes > 0) return look_ahead_bytes;
  return std::max(kDefaultBytes, kDefaultSlots * slot_bytes);
}

uint32_t NumSlots(uint64_t look_ahead_bytes, uint64_t slot_bytes, uint64_t steps) {
  const uint64_t bytes = LookAheadBytes(look_ahead_bytes, slot_bytes);
  const uint64_t fit = std::max(bytes / std::max<uint64_t>(slot_bytes, 1), kMinSlots);
  return static_cast<uint32_t>(std::min(fit, std::clamp(steps, kMinSlots, kMaxSlots)));
}

}  // namespace penstock
