#include <immintrin.h>

#include <cstring>
#include <iterator>

#include "records/image/resample_kernels.h"
#include "records/image/split_weight.h"

#define PENSTOCK_AVX2 __attribute__((target("avx2")))

namespace penstock::resample_internal {
namespace {

constexpr int kHighFraction = AxisWeights::kFractionBits - SplitWeight::kLowBits;

PENSTOCK_AVX2 inline __m128i Load16(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
PENSTOCK_AVX2 inline __m256i Load32(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
PENSTOCK_AVX2 inline void Store16(__m128i v, uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v);
}
PENSTOCK_AVX2 inline void Store32(__m256i v, uint8_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}
PENSTOCK_AVX2 inline __m256i BothLanes(const void* from) {
  return _mm256_broadcastsi128_si256(Load16(from));
}
// 32-bit values of all rows of the horizontal pass. Each lane holds one row.
struct Lanes {
  __m256i pairs[kRowsAtOnce / 2];
};

// Returns what one step adds to the sums of four bytes, for two rows.
PENSTOCK_AVX2 inline __m256i Products(const LaneStep& step, const uint8_t* row_a,
                                      const uint8_t* row_b) {
  const __m256i window = _mm256_inserti128_si256(
      _mm256_castsi128_si256(Load16(row_a + step.offset)), Load16(row_b + step.offset), 1);
  const __m256i taps = _mm256_shuffle_epi8(window, BothLanes(step.shuffle));
  const __m256i even = _mm256_and_si256(taps, _mm256_set1_epi16(0xff));
  const __m256i odd = _mm256_srli_epi16(taps, 8);
  const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(even, BothLanes(step.low_even)),
                                       _mm256_madd_epi16(odd, BothLanes(step.low_odd)));
  const __m256i high = _mm256_maddubs_epi16(taps, BothLanes(step.high));
  // +2^15 does not fit into an int16, so -2^15 is used and subtracted.
  const __m256i minus_high = _mm256_madd_epi16(high, _mm256_set1_epi16(-(1 << 15)));
  return _mm256_sub_epi32(low, minus_high);
}

// Returns the four bytes of a group, as 32 bits each. Moves `step` to the end of the group.
template <bool kOneStep>
PENSTOCK_AVX2 inline Lanes Filtered(const LaneStep*& step, const LaneStep* end,
                                    const RowsAtOnce& rows) {
  const __m256i half = _mm256_set1_epi32(1 << (AxisWeights::kFractionBits - 1));
  Lanes sums = {{half, half}};
  do {
    for (size_t i = 0; i < std::size(sums.pairs); ++i) {
      sums.pairs[i] =
          _mm256_add_epi32(sums.pairs[i], Products(*step, rows.in[2 * i], rows.in[2 * i + 1]));
    }
    ++step;
  } while (!kOneStep && step != end);
  for (__m256i& sum : sums.pairs) sum = _mm256_srli_epi32(sum, AxisWeights::kFractionBits);
  return sums;
}

// `rows` is a copy, so that storing pixels cannot change it.
template <bool kOneStep>
PENSTOCK_AVX2 void FilterGroups(const LaneProgram& columns, const RowsAtOnce rows) {
  const LaneStep* const steps = columns.steps().data();
  const LaneStep* step = steps;
  const std::span<const uint32_t> ends = columns.ends();
  for (size_t g = 0; g < ends.size(); g += LaneProgram::kGroupsAtOnce) {
    const Lanes a = Filtered<kOneStep>(step, steps + ends[g], rows);
    const Lanes b = Filtered<kOneStep>(step, steps + ends[g + 1], rows);
    const Lanes c = Filtered<kOneStep>(step, steps + ends[g + 2], rows);
    const Lanes d = Filtered<kOneStep>(step, steps + ends[g + 3], rows);
    const size_t first = g * LaneProgram::kGroup;
    for (size_t i = 0; i < std::size(a.pairs); ++i) {
      const __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(a.pairs[i], b.pairs[i]),
                                                _mm256_packus_epi32(c.pairs[i], d.pairs[i]));
      Store16(_mm256_castsi256_si128(bytes), rows.out[2 * i] + first);
      Store16(_mm256_extracti128_si256(bytes, 1), rows.out[2 * i + 1] + first);
    }
  }
}

// The sums of 32 bytes.
struct BlockSums {
  __m256i high[2];  // 16 bits each, in the order of unpacked bytes.
  __m256i low[4];   // 32 bits each.
};

PENSTOCK_AVX2 inline void AddPair(__m256i bytes, __m256i high, __m256i low, __m256i& high_sums,
                                  __m256i* low_sums) {
  const __m256i zero = _mm256_setzero_si256();
  high_sums = _mm256_add_epi16(high_sums, _mm256_maddubs_epi16(bytes, high));
  low_sums[0] =
      _mm256_add_epi32(low_sums[0], _mm256_madd_epi16(_mm256_unpacklo_epi8(bytes, zero), low));
  low_sums[1] =
      _mm256_add_epi32(low_sums[1], _mm256_madd_epi16(_mm256_unpackhi_epi8(bytes, zero), low));
}

PENSTOCK_AVX2 inline BlockSums SumsOf(std::span<const RowPair> pairs, size_t first) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i half = _mm256_set1_epi16(1 << (kHighFraction - 1));
  BlockSums sums = {{half, half}, {zero, zero, zero, zero}};
  for (const RowPair& pair : pairs) {
    const __m256i a = Load32(pair.taps[0].row + first), b = Load32(pair.taps[1].row + first);
    const __m256i high = _mm256_set1_epi32(static_cast<int>(pair.high));
    const __m256i low = _mm256_set1_epi32(static_cast<int>(pair.low));
    AddPair(_mm256_unpacklo_epi8(a, b), high, low, sums.high[0], sums.low);
    AddPair(_mm256_unpackhi_epi8(a, b), high, low, sums.high[1], sums.low + 2);
  }
  return sums;
}

// Returns 16 rounded sums, as 16 bits each.
PENSTOCK_AVX2 inline __m256i Rounded(__m256i high, const __m256i* low) {
  const __m256i carried = _mm256_packus_epi32(_mm256_srli_epi32(low[0], SplitWeight::kLowBits),
                                              _mm256_srli_epi32(low[1], SplitWeight::kLowBits));
  return _mm256_srli_epi16(_mm256_add_epi16(high, carried), kHighFraction);
}

PENSTOCK_AVX2 inline __m256i BlendedBlock(std::span<const RowPair> pairs, size_t first) {
  const BlockSums sums = SumsOf(pairs, first);
  return _mm256_packus_epi16(Rounded(sums.high[0], sums.low), Rounded(sums.high[1], sums.low + 2));
}

}  // namespace

PENSTOCK_AVX2 void FilterRowsAvx2(const LaneProgram& columns, const RowsAtOnce& rows) {
  columns.one_step_each() ? FilterGroups<true>(columns, rows) : FilterGroups<false>(columns, rows);
}

PENSTOCK_AVX2 void BlendRowsAvx2(std::span<const RowPair> pairs, size_t size, uint8_t* out) {
  size_t first = 0;
  for (; first + kBlock <= size; first += kBlock) Store32(BlendedBlock(pairs, first), out + first);
  if (first == size) return;
  uint8_t tail[kBlock];
  Store32(BlendedBlock(pairs, first), tail);
  std::memcpy(out + first, tail, size - first);
}

}  // namespace penstock::resample_internal
