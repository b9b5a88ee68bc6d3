// The two passes of a resize as kernels, one set per SIMD level. Every level gives the same bits.
//
// Each byte becomes a sum of bytes times weights of 22 bits of fraction, rounded:
// min((sum + half) >> 22, 255). AVX2 multiplies numbers of 8 and of 16 bits, so it takes
// SplitWeights, and adds the products of their parts apart. No bit is lost, because
// (high * 2^15 + low + half) >> 22 == (high + (low >> 15) + 64) >> 7.
#ifndef PENSTOCK_RECORDS_IMAGE_RESAMPLE_KERNELS_H_
#define PENSTOCK_RECORDS_IMAGE_RESAMPLE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/rounding.h"
#include "records/image/axis_weights.h"
#include "records/image/lane_program.h"
#include "records/image/split_weight.h"

namespace penstock::resample_internal {

// The number of rows that the horizontal pass filters at once.
inline constexpr size_t kRowsAtOnce = 4;
struct RowsAtOnce {
  const uint8_t* in[kRowsAtOnce];
  uint8_t* out[kRowsAtOnce];
};

// Rows that the horizontal pass makes have room for whole blocks.
inline constexpr size_t kBlock = 32;
inline constexpr size_t PaddedToBlocks(size_t bytes) { return RoundUp(bytes, kBlock); }

void FilterRowsScalar(const AxisWeights& columns, size_t count, size_t channels, bool flip,
                      const RowsAtOnce& rows);
// Stores whole groups of the program.
void FilterRowsAvx2(const LaneProgram& columns, const RowsAtOnce& rows);

// A row and its weight in the vertical pass, and two of them.
struct RowTap {
  const uint8_t* row;
  int32_t weight;
};
struct RowPair {
  RowTap taps[2];
  // The weights' parts for AVX2: 8 bits each, twice, because it broadcasts 32 bits at no cost;
  // and 16 bits each.
  uint32_t high;
  uint32_t low;
};

inline RowPair PairOf(const RowTap& a, const RowTap& b) {
  const SplitWeight first = SplitOf(a.weight), second = SplitOf(b.weight);
  const auto high = static_cast<uint32_t>(first.high | second.high << 8);
  const auto low = static_cast<uint32_t>(first.low | second.low << 16);
  return {{a, b}, high | high << 16, low};
}

// Fills `out`, of `size` bytes. REQUIRES: the rows are padded to whole blocks.
void BlendRowsScalar(std::span<const RowPair> pairs, size_t size, uint8_t* out);
void BlendRowsAvx2(std::span<const RowPair> pairs, size_t size, uint8_t* out);

}  // namespace penstock::resample_internal

#endif  // PENSTOCK_RECORDS_IMAGE_RESAMPLE_KERNELS_H_
