// Which samples of a row or column make each sample of a resized one, and with what weights.
#ifndef PENSTOCK_RECORDS_IMAGE_AXIS_WEIGHTS_H_
#define PENSTOCK_RECORDS_IMAGE_AXIS_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/simd_level.h"

namespace penstock {

// One axis of a resize: [begin, end) of `in_size` samples becomes `out_size` samples, of which
// [out_first, out_first + out_count) are wanted.
struct ResizeAxis {
  int64_t in_first = 0;  // The number of the first input sample; may be negative.
  uint32_t in_size = 0;
  float begin = 0;  // In single precision, as Pillow has its box.
  float end = 0;
  uint32_t out_size = 0;
  uint32_t out_first = 0;
  uint32_t out_count = 0;

  bool operator==(const ResizeAxis&) const = default;
};

// [first, first + count) of an axis.
struct SampleRange {
  uint32_t first = 0;
  uint32_t count = 0;

  uint32_t end() const { return first + count; }
};

// Fixed-point weights of antialiased bilinear resampling: a triangle as wide as the scale, cut at
// the ends of the input; the same numbers as Pillow's Resample.c. Not thread-safe.
class AxisWeights {
 public:
  static constexpr int kFractionBits = 32 - 8 - 2;
  static constexpr size_t kPadding = 4;

  // Every level gives the same weights.
  explicit AxisWeights(SimdLevel level) : level_(level) {}

  // The weights stay until another axis is asked for. Allocates only to grow.
  void Compute(const ResizeAxis& axis);

  // Of wanted sample i: the weights, at least one, and the first input sample that they apply to,
  // which never lies before that of sample i - 1. At least kPadding zeros follow the weights.
  std::span<const int32_t> weights(size_t i) const {
    return {weights_.data() + i * stride_, taps_[i].count};
  }
  uint32_t first(size_t i) const { return taps_[i].first; }
  // The most weights that a sample may have.
  size_t max_taps() const { return max_taps_; }

 private:
  SimdLevel level_;
  ResizeAxis axis_;
  size_t max_taps_ = 0;
  size_t stride_ = 0;  // Of weights_.
  std::vector<SampleRange> taps_;
  std::vector<int32_t> weights_;
  std::vector<double> heights_;
};

// AxisWeights::max_taps() of a resize from `in` samples to `out`.
size_t MaxTaps(double in, double out);

// The most memory of such weights.
uint64_t AxisWeightsMemory(uint64_t out, uint64_t max_taps);

// The input samples that the wanted ones are made of. REQUIRES: some are wanted.
SampleRange BilinearReads(const ResizeAxis& axis);
SampleRange NearestReads(const ResizeAxis& axis);

// The input sample that each wanted sample is a copy of, as Pillow's NEAREST chooses it.
void NearestSamples(const ResizeAxis& axis, std::vector<uint32_t>& samples);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_AXIS_WEIGHTS_H_
