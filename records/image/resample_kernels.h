// Kernels for the two passes of a resize, one set for each SIMD level. All levels give the same
// bits.
//
// Each output byte is a sum of bytes times weights with 22 fraction bits, rounded: min((sum + half)
// >> 22, 255). AVX2 multiplies numbers of 8 and 16 bits, so it uses SplitWeights and sums the
// products of the two parts separately. No bit is lost, because (high * 2^15 + low + half) >> 22 ==
// (high + (low >> 15) + 64) >> 7.
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

// Rows that the horizontal pass writes must have room for whole blocks.
inline constexpr size_t kBlock = 32;
inline constexpr size_t PaddedToBlocks(size_t bytes) { return RoundUp(bytes, kBlock); }

void FilterRowsScalar(const AxisWeights& columns, size_t count, size_t channels, bool flip,
                      const RowsAtOnce& rows);
// Stores whole groups of the program.
void FilterRowsAvx2(const LaneProgram& columns, const RowsAtOnce& rows);

// A row and its weight in the vertical pass.
struct RowTap {
  const uint8_t* row;
  int32_t weight;
};
// Two rows and their weights.
struct RowPair {
  RowTap taps[2];
  // Parts of the weights for AVX2. `high` has 8 bits for each weight, twice, because AVX2
  // broadcasts 32 bits at no cost. `low` has 16 bits for each weight.
  uint32_t high;
  uint32_t low;
};

inline RowPair PairOf(const RowTap& a, const RowTap& b) {
  const SplitWeight first = SplitOf(a.weight), second = SplitOf(b.weight);
  const auto high = static_cast<uint32_t>(first.high | second.high << 8);
  const auto low = static_cast<uint32_t>(first.low | second.low << 16);
  return {{a, b}, high | high << 16, low};
}

// These fill `out`, which has `size` bytes. REQUIRES: the rows are padded to whole blocks.
void BlendRowsScalar(std::span<const RowPair> pairs, size_t size, uint8_t* out);
void BlendRowsAvx2(std::span<const RowPair> pairs, size_t size, uint8_t* out);

}  // namespace penstock::resample_internal

#endif  // PENSTOCK_RECORDS_IMAGE_RESAMPLE_KERNELS_H_
