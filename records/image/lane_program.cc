#include "records/image/lane_program.h"

#include <immintrin.h>

#include <algorithm>

#include "base/rounding.h"
#include "records/image/split_weight.h"

#define PENSTOCK_AVX2 __attribute__((target("avx2")))

namespace penstock {
namespace {

constexpr int32_t kZeros[LaneProgram::kTaps] = {};

size_t GroupsOf(size_t bytes) {
  constexpr size_t kStored = LaneProgram::kGroup * LaneProgram::kGroupsAtOnce;
  return DivideUp(bytes, kStored) * LaneProgram::kGroupsAtOnce;
}

// Returns the largest number of steps. A window holds four taps of all channels of a pixel, even if
// some channels are one tap ahead. So each pixel of a group needs at most this many steps that
// begin with it.
uint64_t MostSteps(uint64_t count, uint64_t channels, uint64_t max_taps) {
  const uint64_t pixels_in_group = (LaneProgram::kGroup - 1) / channels + 1;
  return GroupsOf(count * channels) * pixels_in_group * DivideUp(max_taps, LaneProgram::kTaps);
}

// Packs 16 elements of 32 bits to 8 bits each.
PENSTOCK_AVX2 inline __m128i Pack(__m128i a, __m128i b, __m128i c, __m128i d) {
  return _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
}

// Separates the even and odd taps of two outputs, as 16 bits each: e0 o0 e1 o1.
PENSTOCK_AVX2 inline __m128 EvenAndOdd(__m128i a, __m128i b) {
  const __m128i order = _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
  return _mm_castsi128_ps(_mm_shuffle_epi8(_mm_packs_epi32(a, b), order));
}

PENSTOCK_AVX2 inline void Store(__m128i v, void* to) {
  _mm_store_si128(static_cast<__m128i*>(to), v);
}

// Four taps of one output.
struct Taps {
  __m128i bytes;    // Places of the tap bytes in the window.
  __m128i weights;  // As split by SplitOf(); 0 if the byte is not in the window.
};

// Returns the taps of an output whose first tap is at byte `first` of the window.
PENSTOCK_AVX2 inline Taps TapsFrom(int first, __m128i distances, const int32_t* weights) {
  const __m128i bytes = _mm_add_epi32(_mm_set1_epi32(first), distances);
  const __m128i in_window = _mm_cmpgt_epi32(_mm_set1_epi32(LaneProgram::kWindow), bytes);
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights));
  const __m128i most = _mm_set1_epi32(SplitWeight::kMax);
  return {bytes, _mm_min_epi32(_mm_and_si128(all, in_window), most)};
}

PENSTOCK_AVX2 inline __m128i High(const Taps& taps) {
  return _mm_srli_epi32(taps.weights, SplitWeight::kLowBits);
}

PENSTOCK_AVX2 inline __m128i Low(const Taps& taps) {
  return _mm_and_si128(taps.weights, _mm_set1_epi32((1 << SplitWeight::kLowBits) - 1));
}

PENSTOCK_AVX2 inline void SetTaps(const Taps& a, const Taps& b, const Taps& c, const Taps& d,
                                  LaneStep& step) {
  Store(Pack(a.bytes, b.bytes, c.bytes, d.bytes), step.shuffle);
  Store(Pack(High(a), High(b), High(c), High(d)), step.high);
  const __m128 ab = EvenAndOdd(Low(a), Low(b)), cd = EvenAndOdd(Low(c), Low(d));
  Store(_mm_castps_si128(_mm_shuffle_ps(ab, cd, _MM_SHUFFLE(2, 0, 2, 0))), step.low_even);
  Store(_mm_castps_si128(_mm_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 1, 3, 1))), step.low_odd);
}

}  // namespace

void LaneProgram::Build(const AxisWeights& weights, size_t count, size_t channels, bool flip,
                        size_t row_bytes) {
  channels_ = channels;
  last_offset_ = row_bytes - kWindow;
  Reserve(MostSteps(count, channels, weights.max_taps()));
  ends_.clear();
  Group group;
  size_t outputs = 0;
  const auto add = [&](const Output& output) {
    group[outputs++ % kGroup] = output;
    if (outputs % kGroup == 0) AddGroup(group);
  };
  for (size_t i = 0; i < count; ++i) {
    const size_t pixel = flip ? count - 1 - i : i;
    const std::span<const int32_t> taps = weights.weights(pixel);
    const size_t position = weights.first(pixel) * channels;
    for (size_t c = 0; c < channels; ++c) add({taps.data(), taps.size(), position + c});
  }
  while (ends_.size() < GroupsOf(count * channels)) add({kZeros, 0, 0});
}

// Frees the old steps before it allocates, because nothing needs them.
void LaneProgram::Reserve(size_t steps) {
  steps_.clear();
  if (steps <= steps_.capacity()) return;
  steps_ = {};
  steps_.reserve(steps);
}

void LaneProgram::AddGroup(Group& group) {
  do {
    size_t first = last_offset_;
    for (const Output& output : group) {
      if (output.left > 0) first = std::min(first, output.position);
    }
    AddStep(first, group);
  } while (std::any_of(group.begin(), group.end(), [](const Output& o) { return o.left > 0; }));
  ends_.push_back(static_cast<uint32_t>(steps_.size()));
}

// Adds as many taps as the step and the window have room for.
PENSTOCK_AVX2 void LaneProgram::AddStep(size_t offset, Group& group) {
  LaneStep& step = steps_.emplace_back();
  step.offset = static_cast<uint32_t>(offset);
  const int channels = static_cast<int>(channels_);
  const __m128i distances = _mm_setr_epi32(0, channels, 2 * channels, 3 * channels);
  const auto taps = [&](const Output& output) PENSTOCK_AVX2 {
    return TapsFrom(static_cast<int>(output.position - offset), distances, output.weight);
  };
  SetTaps(taps(group[0]), taps(group[1]), taps(group[2]), taps(group[3]), step);
  for (Output& output : group) {
    size_t taken = 0;
    while (taken < std::min(kTaps, output.left) && output.position < offset + kWindow) {
      ++taken;
      output.position += channels_;
    }
    output.weight += taken;
    output.left -= taken;
  }
}

uint64_t LaneProgramMemory(uint64_t count, uint64_t channels, uint64_t max_taps) {
  return GroupsOf(count * channels) * sizeof(uint32_t) +
         MostSteps(count, channels, max_taps) * sizeof(LaneStep);
}

}  // namespace penstock
