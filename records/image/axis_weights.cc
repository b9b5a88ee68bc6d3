#include "records/image/axis_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace penstock {
namespace {

double Triangle(double x) { return std::max(1.0 - std::abs(x), 0.0); }

double Scale(const ResizeAxis& axis) {
  return static_cast<double>(axis.end - axis.begin) / axis.out_size;
}

// How far the triangle reaches on each side.
double Support(double scale) { return std::max(scale, 1.0); }

size_t TapsWithin(double support) { return static_cast<size_t>(std::ceil(support)) * 2 + 1; }

// Of wanted sample i, in input samples.
double Center(const ResizeAxis& axis, double scale, size_t i) {
  const double out = static_cast<double>(axis.out_first + i);
  return axis.begin + (out + 0.5) * scale;
}

SampleRange Numbered(const ResizeAxis& axis, const SampleRange& samples) {
  return {static_cast<uint32_t>(axis.in_first + samples.first), samples.count};
}

// The input samples under a triangle, counted from 0.
SampleRange TapsAround(double center, double support, uint32_t in_size) {
  const double last_sample = in_size - 1;
  const double low = std::floor(std::clamp(center - support + 0.5, 0.0, last_sample));
  const double high = std::floor(std::clamp(center + support + 0.5, low + 1, last_sample + 1));
  return {static_cast<uint32_t>(low), static_cast<uint32_t>(high - low)};
}

// Calls `visit` with the input sample of each wanted one.
template <typename Visit>
void ForEachNearest(const ResizeAxis& axis, const Visit& visit) {
  const double scale = Scale(axis), last_sample = axis.in_size - 1;
  double position =
      axis.begin + scale * 0.5;  // Summed up, as Pillow does: the rounding is its own.
  for (uint32_t i = 0; i < axis.out_first; ++i) position += scale;
  for (uint32_t i = 0; i < axis.out_count; ++i, position += scale) {
    const auto sample = static_cast<int64_t>(std::clamp(position, 0.0, last_sample));
    visit(static_cast<uint32_t>(axis.in_first + sample));
  }
}

}  // namespace

size_t MaxTaps(double in, double out) { return TapsWithin(Support(in / out)); }

void AxisWeights::Compute(const ResizeAxis& axis) {
  if (axis == axis_) return;
  axis_ = axis;
  const double scale = Scale(axis), support = Support(scale);
  max_taps_ = TapsWithin(support);
  taps_.resize(axis.out_count);
  weights_.resize(axis.out_count * max_taps_);
  sample_.resize(max_taps_);
  for (size_t i = 0; i < axis.out_count; ++i) {
    ComputeSample(i, Center(axis, scale, i), support);
  }
}

void AxisWeights::ComputeSample(size_t i, double center, double support) {
  const SampleRange taps = TapsAround(center, support, axis_.in_size);
  const double inverse = 1.0 / support;
  double sum = 0;
  for (size_t k = 0; k < taps.count; ++k) {
    sample_[k] = Triangle((static_cast<double>(k) + taps.first - center + 0.5) * inverse);
    sum += sample_[k];
  }
  int32_t* weights = weights_.data() + i * max_taps_;
  for (size_t k = 0; k < taps.count; ++k) {
    const double weight = sum != 0 ? sample_[k] / sum : sample_[k];
    weights[k] = static_cast<int32_t>(0.5 + weight * (1 << kFractionBits));
  }
  taps_[i] = Numbered(axis_, taps);
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
