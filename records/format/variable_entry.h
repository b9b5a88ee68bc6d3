// How a packed row holds a feature of any length: a fixed entry that says where its bytes are.
#ifndef PENSTOCK_RECORDS_FORMAT_VARIABLE_ENTRY_H_
#define PENSTOCK_RECORDS_FORMAT_VARIABLE_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace penstock {

// A feature's values as the record encodes them:
//   bytes          the value itself; count is 1
//   list of bytes  of each value its length as a varint, then its bytes
//   float          4 bytes each, little-endian
//   int64          a varint each (wire.h), all of them sound
struct VariableValue {
  bool present = false;  // Whether the record has the feature.
  uint32_t count = 0;    // Of values; 0 where absent.
  std::span<const uint8_t> bytes = {};
};

// In a row, at any alignment: the distance from the entry's first byte to the value's (u64), the
// value's size in bytes (u32), its count (bits 0 to 30) and presence (bit 31; u32). As the distance
// is relative, a row needs no other address than its own.
inline constexpr size_t kVariableEntryBytes = 16;
inline constexpr uint32_t kMaxVariableCount = (uint32_t{1} << 31) - 1;

// REQUIRES: value.bytes lies behind `entry`, in the same memory; count <= kMaxVariableCount.
inline void StoreVariable(const VariableValue& value, uint8_t* entry) {
  const auto distance = static_cast<uint64_t>(value.bytes.data() - entry);
  const auto size = static_cast<uint32_t>(value.bytes.size());
  const uint32_t count = value.count | uint32_t{value.present} << 31;
  std::memcpy(entry, &distance, sizeof(distance));
  std::memcpy(entry + 8, &size, sizeof(size));
  std::memcpy(entry + 12, &count, sizeof(count));
}

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
