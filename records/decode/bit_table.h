// The plan of a bit expansion: for each output element the bit it comes from and its sign, in
// blocks of 64 elements that every SIMD level can follow.
#ifndef PENSTOCK_RECORDS_DECODE_BIT_TABLE_H_
#define PENSTOCK_RECORDS_DECODE_BIT_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// Bit number `bit` of a row, most significant bit of each byte first.
struct BitSource {
  uint32_t bit = 0;
  bool negative = false;
};

inline constexpr size_t kBitBlock = 64;

// The byte tables of a spec, 2 KiB each; past this the cache would suffer more than the
// element-wise path does.
inline constexpr size_t kMaxByteTables = 64;

// Eight neighbouring output elements as the OR of look-ups: one table a source byte.
struct ByteGroup {
  static constexpr uint32_t kMaxBytes = 4;
  uint32_t num_bytes = 0;                  // 0: take the elements one by one.
  std::array<uint32_t, kMaxBytes> offset;  // from the block's base
  std::array<uint32_t, kMaxBytes> table;   // index into BitTable::byte_tables
};

// Elements past the end of a tail block have mask and value 0.
struct BitBlock {
  alignas(64) std::array<uint8_t, kBitBlock> index;       // offset, valid when span <= 256
  alignas(64) std::array<uint8_t, kBitBlock> lane_index;  // from the lane's own base
  alignas(64) std::array<uint8_t, kBitBlock> mask;        // the bit in its byte
  alignas(64) std::array<int8_t, kBitBlock> value;        // +1 or -1
  std::array<uint32_t, kBitBlock> offset;                 // byte, from the block's base
  uint64_t negative = 0;                                  // bit i: value[i] is -1
  uint32_t base = 0;                                      // lowest byte, in the first repeat
  uint32_t span = 0;                                      // bytes from the lowest to the highest
  // Four lanes of 16 elements; 16 bytes from base + lane_base lie inside the row in every repeat.
  std::array<int32_t, 4> lane_base;  // from the block's base
  bool lanes = false;                // such windows exist for all four
  std::array<ByteGroup, 8> groups;
};

// Element (r * period.size() + p) * 64 + i of a row is bit i of period[p], its bytes moved by
// r * stride; `tail` holds the last tail_size (< 64) elements. Immutable once built.
struct BitTable {
  std::vector<BitBlock> period;
  size_t repeats = 0;
  size_t stride = 0;
  BitBlock tail;
  size_t tail_size = 0;
  size_t size = 0;  // elements
  std::vector<std::array<uint64_t, 256>> byte_tables;

  size_t bytes() const;  // of memory
};

// REQUIRES: every bit < 8 * row_bytes. Takes O(elements) time for each divisor of the number of
// blocks up to 64, and about 14 bytes an element where nothing repeats, beside its byte tables.
BitTable BuildBitTable(std::span<const BitSource> elements, uint32_t row_bytes,
                       size_t max_byte_tables = kMaxByteTables);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_BIT_TABLE_H_
