// The plan for expanding bits to numbers. It has the source bit and the sign of each output
// element, in blocks of 64 elements that every SIMD level can process.
#ifndef PENSTOCK_RECORDS_DECODE_BIT_TABLE_H_
#define PENSTOCK_RECORDS_DECODE_BIT_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// Bit number `bit` of a row, counted from the most significant bit of each byte.
struct BitSource {
  uint32_t bit = 0;
  bool negative = false;
};

inline constexpr size_t kBitBlock = 64;

// Limit for the byte tables of a spec, 2 KiB each. With more, cache misses would cost more than
// taking the elements one by one.
inline constexpr size_t kMaxByteTables = 64;

// Eight adjacent output elements as the OR of table look-ups, one for each source byte.
struct ByteGroup {
  static constexpr uint32_t kMaxBytes = 4;
  uint32_t num_bytes = 0;                  // 0 if the elements are taken one by one.
  std::array<uint32_t, kMaxBytes> offset;  // Bytes from the block's base.
  std::array<uint32_t, kMaxBytes> table;   // Index into BitTable::byte_tables.
};

// Elements beyond the end of a tail block have mask and value 0.
struct BitBlock {
  alignas(64) std::array<uint8_t, kBitBlock> index;       // Bytes from base. Valid if span <= 256.
  alignas(64) std::array<uint8_t, kBitBlock> lane_index;  // Bytes from the lane's own base.
  alignas(64) std::array<uint8_t, kBitBlock> mask;        // The bit within its byte.
  alignas(64) std::array<int8_t, kBitBlock> value;        // +1 or -1.
  std::array<uint32_t, kBitBlock> offset;                 // Bytes from base.
  uint64_t negative = 0;                                  // Bit i is set if value[i] is -1.
  uint32_t base = 0;                                      // Lowest byte, in the first repeat.
  uint32_t span = 0;                                      // Bytes from lowest to highest.
  // There are four lanes of 16 elements. The 16 bytes from base + lane_base lie inside the row in
  // every repeat.
  std::array<int32_t, 4> lane_base;  // Bytes from base.
  bool lanes = false;                // True if lane_base is valid for all four lanes.
  std::array<ByteGroup, 8> groups;
};

// Element (r * period.size() + p) * 64 + i of a row is bit i of period[p], with its bytes moved by
// r * stride. `tail` holds the last tail_size elements, fewer than 64. Immutable once built.
struct BitTable {
  std::vector<BitBlock> period;
  size_t repeats = 0;
  size_t stride = 0;
  BitBlock tail;
  size_t tail_size = 0;
  size_t size = 0;  // Number of elements.
  std::vector<std::array<uint64_t, 256>> byte_tables;

  size_t bytes() const;  // Memory use in bytes.
};

// Builds a table. Takes O(elements) time for each divisor, up to 64, of the number of blocks. If
// nothing repeats, the table takes about 14 bytes for each element, plus its byte tables. REQUIRES:
// every bit < 8 * row_bytes.
BitTable BuildBitTable(std::span<const BitSource> elements, uint32_t row_bytes,
                       size_t max_byte_tables = kMaxByteTables);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_BIT_TABLE_H_
