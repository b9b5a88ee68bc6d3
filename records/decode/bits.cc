#include "records/decode/bits.h"

#include <cstring>

#include "records/decode/bits_kernels.h"

namespace penstock {
namespace bits_internal {
namespace {

// +1 is 0x3f80, -1 is 0xbf80.
struct Bf16 {
  static constexpr size_t kSize = 2;
  static uint16_t From(int8_t v) {
    return static_cast<uint16_t>((-(v & 1) & 0x3f80) | (v & 0x8000));
  }
};
struct F32 {
  static constexpr size_t kSize = 4;
  static float From(int8_t v) { return v; }
};
struct F64 {
  static constexpr size_t kSize = 8;
  static double From(int8_t v) { return v; }
};
struct I8 {
  static constexpr size_t kSize = 1;
  static int8_t From(int8_t v) { return v; }
};

template <typename Element>
void Store(const int8_t* values, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) {
    const auto element = Element::From(values[i]);
    std::memcpy(out + i * Element::kSize, &element, Element::kSize);
  }
}

template <typename Element>
void ExpandRow(const BitTable& table, const uint8_t* row, uint8_t* out) {
  constexpr size_t kOut = kBitBlock * Element::kSize;
  int8_t values[kBitBlock];
  for (size_t r = 0; r < table.repeats; ++r) {
    for (const BitBlock& block : table.period) {
      ExpandBlockScalar(table, block, row + block.base + r * table.stride, values);
      Store<Element>(values, kBitBlock, out);
      out += kOut;
    }
  }
  if (table.tail_size == 0) return;
  ExpandBlockScalar(table, table.tail, row + table.tail.base, values);
  Store<Element>(values, table.tail_size, out);
}

template <typename Element>
void ExpandRows(const BitTable& table, const uint8_t* const* rows, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) {
    ExpandRow<Element>(table, rows[i], out + i * table.size * Element::kSize);
  }
}

uint64_t ExpandGroup(const BitTable& table, const ByteGroup& group, const uint8_t* bytes) {
  uint64_t eight = 0;
  for (uint32_t i = 0; i < group.num_bytes; ++i) {
    eight |= table.byte_tables[group.table[i]][bytes[group.offset[i]]];
  }
  return eight;
}

}  // namespace

void ExpandBlockScalar(const BitTable& table, const BitBlock& block, const uint8_t* bytes,
                       int8_t* out) {
  for (size_t g = 0; g < block.groups.size(); ++g) {
    if (block.groups[g].num_bytes != 0) {
      const uint64_t eight = ExpandGroup(table, block.groups[g], bytes);
      std::memcpy(out + 8 * g, &eight, 8);
      continue;
    }
    for (size_t i = 8 * g; i < 8 * g + 8; ++i) {
      out[i] = (bytes[block.offset[i]] & block.mask[i]) != 0 ? block.value[i] : int8_t{0};
    }
  }
}

void ExpandRowsScalar(const BitTable& table, Dtype dtype, const uint8_t* const* rows, size_t n,
                      uint8_t* out) {
  switch (dtype) {
    case Dtype::kBf16:
      return ExpandRows<Bf16>(table, rows, n, out);
    case Dtype::kF32:
      return ExpandRows<F32>(table, rows, n, out);
    case Dtype::kF64:
      return ExpandRows<F64>(table, rows, n, out);
    default:
      return ExpandRows<I8>(table, rows, n, out);
  }
}

}  // namespace bits_internal

void ExpandBits(const BitTable& table, Dtype dtype, SimdLevel level, Stores stores,
                const uint8_t* const* rows, size_t n, uint8_t* out) {
  switch (level) {
    case SimdLevel::kAvx512:
      return bits_internal::ExpandRowsAvx512(table, dtype, stores, rows, n, out);
    case SimdLevel::kAvx2:
      return bits_internal::ExpandRowsAvx2(table, dtype, rows, n, out);
    case SimdLevel::kScalar:
      return bits_internal::ExpandRowsScalar(table, dtype, rows, n, out);
  }
}

}  // namespace penstock
