#include "records/image/axis_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "records/image/weigh_samples.h"

namespace penstock {

using resample_internal::kSamplesAtOnce;
using resample_internal::WeighSamplesAvx2;
using resample_internal::WeighSamplesBaseline;

namespace {

double Scale(const ResizeAxis& axis) {
  return static_cast<double>(axis.end - axis.begin) / axis.out_size;
}

// Returns how far the triangle extends on each side of its centre, in input samples.
double Support(double scale) { return std::max(scale, 1.0); }

size_t TapsWithin(double support) { return static_cast<size_t>(std::ceil(support)) * 2 + 1; }

// Returns the centre of wanted sample i, in input samples.
double Center(const ResizeAxis& axis, double scale, size_t i) {
  const double out = static_cast<double>(axis.out_first + i);
  return axis.begin + (out + 0.5) * scale;
}

SampleRange Numbered(const ResizeAxis& axis, const SampleRange& samples) {
  return {static_cast<uint32_t>(axis.in_first + samples.first), samples.count};
}

// Returns the input samples under a triangle, counted from 0.
SampleRange TapsAround(double center, double support, uint32_t in_size) {
  const double last_sample = in_size - 1;
  const auto low = static_cast<uint32_t>(std::clamp(center - support + 0.5, 0.0, last_sample));
  const auto high =
      static_cast<uint32_t>(std::clamp(center + support + 0.5, low + 1.0, last_sample + 1));
  return {low, high - low};
}

// Calls `visit` with the input sample of each wanted sample.
template <typename Visit>
void ForEachNearest(const ResizeAxis& axis, const Visit& visit) {
  const double scale = Scale(axis), last_sample = axis.in_size - 1;
  double position =
      axis.begin +
      scale * 0.5;  // Adds up positions like Pillow. Multiplying would round differently.
  for (uint32_t i = 0; i < axis.out_first; ++i) position += scale;
  for (uint32_t i = 0; i < axis.out_count; ++i, position += scale) {
    const auto sample = static_cast<int64_t>(std::clamp(position, 0.0, last_sample));
    visit(static_cast<uint32_t>(axis.in_first + sample));
  }
}

}  // namespace

size_t MaxTaps(double in, double out) { return TapsWithin(Support(in / out)); }

uint64_t AxisWeightsMemory(uint64_t out, uint64_t max_taps) {
  const uint64_t heights = max_taps * kSamplesAtOnce;
  return out * ((max_taps + AxisWeights::kPadding) * sizeof(int32_t) + sizeof(SampleRange)) +
         heights * sizeof(double);
}

void AxisWeights::Compute(const ResizeAxis& axis) {
  if (axis == axis_) return;
  axis_ = axis;
  const double scale = Scale(axis), support = Support(scale);
  max_taps_ = TapsWithin(support);
  stride_ = max_taps_ + kPadding;
  taps_.resize(axis.out_count);
  weights_.resize(axis.out_count * stride_);
  heights_.resize(max_taps_ * kSamplesAtOnce);
  const auto weigh = level_ >= SimdLevel::kAvx2 ? WeighSamplesAvx2 : WeighSamplesBaseline;
  weigh({axis, scale, support, stride_, heights_.data(), taps_.data(), weights_.data()});
  for (SampleRange& taps : taps_) taps = Numbered(axis, taps);
}

SampleRange BilinearReads(const ResizeAxis& axis) {
  const double scale = Scale(axis), support = Support(scale);
  const auto taps = [&](size_t i) {
    return TapsAround(Center(axis, scale, i), support, axis.in_size);
  };
  const uint32_t first = taps(0).first;
  return Numbered(axis, {first, taps(axis.out_count - 1).end() - first});
}

SampleRange NearestReads(const ResizeAxis& axis) {
  uint32_t first = UINT32_MAX, last = 0;
  ForEachNearest(axis, [&](uint32_t sample) {
    first = std::min(first, sample);
    last = sample;
  });
  return {first, last + 1 - first};
}

void NearestSamples(const ResizeAxis& axis, std::vector<uint32_t>& samples) {
  samples.clear();
  ForEachNearest(axis, [&](uint32_t sample) { samples.push_back(sample); });
}

}  // namespace penstock
