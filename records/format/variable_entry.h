// Stores a feature of any length in a packed row: a fixed-size entry says where its bytes are.
#ifndef PENSTOCK_RECORDS_FORMAT_VARIABLE_ENTRY_H_
#define PENSTOCK_RECORDS_FORMAT_VARIABLE_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace penstock {

// The values of a feature, as the record encodes them:
//   bytes          the value itself; count is 1
//   list of bytes  for each value, its length as a varint, then its bytes
//   float          4 bytes each, little-endian
//   int64          one valid varint each (wire.h)
struct VariableValue {
  bool present = false;  // True if the record has the feature.
  uint32_t count = 0;    // Number of values; 0 if absent.
  std::span<const uint8_t> bytes = {};
};

// The entry in a row, at any alignment, has
//   u64  distance from the first byte of the entry to the first byte of the value
//   u32  size of the value in bytes
//   u32  count (bits 0 to 30) and presence (bit 31)
// The distance is relative, so that only the address of the row is needed.
inline constexpr size_t kVariableEntryBytes = 16;
inline constexpr uint32_t kMaxVariableCount = (uint32_t{1} << 31) - 1;

// REQUIRES: value.bytes lies after `entry` in the same memory; count <= kMaxVariableCount.
inline void StoreVariable(const VariableValue& value, uint8_t* entry) {
  const auto distance = static_cast<uint64_t>(value.bytes.data() - entry);
  const auto size = static_cast<uint32_t>(value.bytes.size());
  const uint32_t count = value.count | uint32_t{value.present} << 31;
  std::memcpy(entry, &distance, sizeof(distance));
  std::memcpy(entry + 8, &size, sizeof(size));
  std::memcpy(entry + 12, &count, sizeof(count));
}

// Reads the entry at `entry`. The result points into the memory of the row.
inline VariableValue LoadVariable(const uint8_t* entry) {
  uint64_t distance;
  uint32_t size, count;
  std::memcpy(&distance, entry, sizeof(distance));
  std::memcpy(&size, entry + 8, sizeof(size));
  std::memcpy(&count, entry + 12, sizeof(count));
  return {count >> 31 != 0, count & kMaxVariableCount, {entry + distance, size}};
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_VARIABLE_ENTRY_H_
