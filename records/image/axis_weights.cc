#include "records/image/axis_weights.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

double Triangle(double x) { return std::max(1.0 - std::abs(x), 0.0); }

double Scale(const ResizeAxis& axis) {
  return static_cast<double>(axis.end - axis.begin) / axis.out_size;
}

// How far the triangle reaches on each side.
double Support(double scale) { return std::max(scale, 1.0); }

size_t TapsWithin(double support) { return static_cast<size_t>(std::ceil(support)) * 2 + 1; }

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
    const double out = static_cast<double>(axis.out_first + i);
    ComputeSample(i, axis.begin + (out + 0.5) * scale, support);
  }
}

void AxisWeights::ComputeSample(size_t i, double center, double support) {
  const double last_sample = axis_.in_size - 1;
  const double low = std::floor(std::clamp(center - support + 0.5, 0.0, last_sample));
  const double high =
      std::floor(std::clamp(center + support + 0.5, low + 1, double{last_sample + 1}));
  const size_t count = static_cast<size_t>(high - low);
  const double inverse = 1.0 / support;
  double sum = 0;
  for (size_t k = 0; k < count; ++k) {
    sample_[k] = Triangle((static_cast<double>(k) + low - center + 0.5) * inverse);
    sum += sample_[k];
  }
  int32_t* weights = weights_.data() + i * max_taps_;
  for (size_t k = 0; k < count; ++k) {
    const double weight = sum != 0 ? sample_[k] / sum : sample_[k];
    weights[k] = static_cast<int32_t>(0.5 + weight * (1 << kFractionBits));
  }
  taps_[i] = {static_cast<uint32_t>(low), static_cast<uint32_t>(count)};
}

void NearestSamples(const ResizeAxis& axis, std::vector<uint32_t>& samples) {
  samples.resize(axis.out_count);
  const double scale = Scale(axis), last_sample = axis.in_size - 1;
  double position =
      axis.begin + scale * 0.5;  // Summed up, as Pillow does: the rounding is its own.
  for (uint32_t i = 0; i < axis.out_first; ++i) position += scale;
  for (uint32_t i = 0; i < axis.out_count; ++i, position += scale) {
    samples[i] = static_cast<uint32_t>(std::clamp(position, 0.0, last_sample));
  }
}

}  // namespace penstock
