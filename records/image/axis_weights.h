// Computes which samples of a row or column make up each sample of a resized one, and their
// weights.
#ifndef PENSTOCK_RECORDS_IMAGE_AXIS_WEIGHTS_H_
#define PENSTOCK_RECORDS_IMAGE_AXIS_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/simd_level.h"

namespace penstock {

// One axis of a resize. The range [begin, end) of `in_size` samples becomes `out_size` samples.
// Only [out_first, out_first + out_count) of these are wanted.
struct ResizeAxis {
  int64_t in_first = 0;  // Number of the first input sample. May be negative.
  uint32_t in_size = 0;
  float begin = 0;  // Single precision, like Pillow's box.
  float end = 0;
  uint32_t out_size = 0;
  uint32_t out_first = 0;
  uint32_t out_count = 0;

  bool operator==(const ResizeAxis&) const = default;
};

// The samples [first, first + count) of an axis.
struct SampleRange {
  uint32_t first = 0;
  uint32_t count = 0;

  uint32_t end() const { return first + count; }
};

// Fixed-point weights for antialiased bilinear resampling. The filter is a triangle whose width
// follows the scale, cut off at the ends of the input. The numbers are those of Pillow's
// Resample.c. Not thread-safe.
class AxisWeights {
 public:
  static constexpr int kFractionBits = 32 - 8 - 2;
  static constexpr size_t kPadding = 4;

  // All levels give the same weights.
  explicit AxisWeights(SimdLevel level) : level_(level) {}

  // Computes the weights, which are valid until the next call. Allocates only to grow.
  void Compute(const ResizeAxis& axis);

  // weights(i) are the weights of wanted sample i, at least one, followed by at least kPadding
  // zeros. first(i) is the first input sample that they apply to; it is never before first(i - 1).
  std::span<const int32_t> weights(size_t i) const {
    return {weights_.data() + i * stride_, taps_[i].count};
  }
  uint32_t first(size_t i) const { return taps_[i].first; }
  // The largest number of weights of a sample.
  size_t max_taps() const { return max_taps_; }

 private:
  SimdLevel level_;
  ResizeAxis axis_;
  size_t max_taps_ = 0;
  size_t stride_ = 0;  // Number of weights from one sample to the next in weights_.
  std::vector<SampleRange> taps_;
  std::vector<int32_t> weights_;
  std::vector<double> heights_;
};

// Returns AxisWeights::max_taps() for a resize from `in` samples to `out` samples.
size_t MaxTaps(double in, double out);

// Returns the largest memory of AxisWeights for `out` samples, in bytes.
uint64_t AxisWeightsMemory(uint64_t out, uint64_t max_taps);

// Returns the input samples that the wanted samples are computed from. REQUIRES: out_count > 0.
SampleRange BilinearReads(const ResizeAxis& axis);
SampleRange NearestReads(const ResizeAxis& axis);

// Fills `samples` with the input sample that each wanted sample copies, as Pillow's NEAREST chooses
// it.
void NearestSamples(const ResizeAxis& axis, std::vector<uint32_t>& samples);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_AXIS_WEIGHTS_H_
