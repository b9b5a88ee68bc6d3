#include <algorithm>

#include "records/image/resample_kernels.h"

namespace penstock::resample_internal {
namespace {

constexpr int32_t kHalf = 1 << (AxisWeights::kFractionBits - 1);

uint8_t Round(int32_t sum) {
  return static_cast<uint8_t>(std::min(sum >> AxisWeights::kFractionBits, 255));
}

template <size_t kChannels>
void FilterRow(const AxisWeights& columns, size_t count, bool flip, const uint8_t* in,
               uint8_t* out) {
  for (size_t i = 0; i < count; ++i, out += kChannels) {
    const size_t x = flip ? count - 1 - i : i;
    const uint8_t* pixel = in + columns.first(x) * kChannels;
    int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    for (const int32_t weight : columns.weights(x)) {
      for (size_t c = 0; c < kChannels; ++c) sums[c] += pixel[c] * weight;
      pixel += kChannels;
    }
    for (size_t c = 0; c < kChannels; ++c) out[c] = Round(sums[c]);
  }
}

// Adds to sums[i] the products of the pair for byte `first + i`.
void AddPair(const RowPair& pair, size_t first, std::span<int32_t> sums) {
  for (const RowTap& tap : pair.taps) {
    const uint8_t* in = tap.row + first;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += in[i] * tap.weight;
  }
}

}  // namespace

void FilterRowsScalar(const AxisWeights& columns, size_t count, size_t channels, bool flip,
                      const RowsAtOnce& rows) {
  const auto filter = channels == 1 ? FilterRow<1> : FilterRow<3>;
  for (size_t i = 0; i < kRowsAtOnce; ++i) filter(columns, count, flip, rows.in[i], rows.out[i]);
}

void BlendRowsScalar(std::span<const RowPair> pairs, size_t size, uint8_t* out) {
  int32_t sums[kBlock];
  for (size_t first = 0; first < size; first += kBlock) {
    std::fill_n(sums, kBlock, kHalf);
    for (const RowPair& pair : pairs) AddPair(pair, first, sums);
    const size_t count = std::min(kBlock, size - first);
    std::transform(sums, sums + count, out + first, Round);
  }
}

}  // namespace penstock::resample_internal
