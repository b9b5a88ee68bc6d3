#include "records/image/weigh_samples.h"

#include <algorithm>
#include <cstring>

// Inlined functions are compiled for the instruction set of their caller.
#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::resample_internal {
namespace {

// Vector types of the compiler, which are available for every instruction set.
using Doubles = double __attribute__((vector_size(kSamplesAtOnce * sizeof(double))));
using Ints = int32_t __attribute__((vector_size(kSamplesAtOnce * sizeof(int32_t))));

// Four adjacent samples. They are passed only by reference, because without AVX no register can
// hold a vector.
struct Samples {
  Doubles center;
  Doubles first;  // First tap of each sample.
  Doubles end;
  size_t max_taps;
};

PENSTOCK_INLINE void Clamp(Doubles& v, const Doubles& low, const Doubles& high) {
  v = v < low ? low : v;
  v = high < v ? high : v;
}

// Rounds down. The numbers must not be negative.
PENSTOCK_INLINE void Truncate(Doubles& v) {
  v = __builtin_convertvector(__builtin_convertvector(v, Ints), Doubles);
}

// Places the samples from `i` on. Beyond the last wanted sample, places copies of it.
PENSTOCK_INLINE void Place(const Weighing& weighing, size_t i, Samples& samples) {
  const ResizeAxis& axis = weighing.axis;
  Doubles out;
  for (size_t j = 0; j < kSamplesAtOnce; ++j) {
    out[j] = static_cast<double>(axis.out_first + std::min<size_t>(i + j, axis.out_count - 1));
  }
  const double last = axis.in_size - 1;
  samples.center = double{axis.begin} + (out + 0.5) * weighing.scale;
  samples.first = samples.center - weighing.support + 0.5;
  Clamp(samples.first, Doubles{}, Doubles{} + last);
  Truncate(samples.first);
  samples.end = samples.center + weighing.support + 0.5;
  Clamp(samples.end, samples.first + 1.0, Doubles{} + (last + 1));
  Truncate(samples.end);
}

// Computes the height of the triangle over each sample at its tap k; 0 if the sample has no such
// tap.
PENSTOCK_INLINE void Height(const Samples& samples, double inverse, size_t k, Doubles& height) {
  const Doubles tap = samples.first + static_cast<double>(k);
  const Doubles from_center = (tap - samples.center + 0.5) * inverse;
  const Doubles distance = from_center < 0.0 ? -from_center : from_center;
  height = 1.0 - distance;
  height = height < 0.0 ? Doubles{} : height;
  height = tap < samples.end ? height : Doubles{};
}

PENSTOCK_INLINE void WeighFour(const Weighing& weighing, size_t i) {
  Samples samples;
  Place(weighing, i, samples);
  const size_t count = std::min(kSamplesAtOnce, weighing.axis.out_count - i);
  size_t most = 0;
  for (size_t j = 0; j < count; ++j) {
    const SampleRange taps{static_cast<uint32_t>(samples.first[j]),
                           static_cast<uint32_t>(samples.end[j] - samples.first[j])};
    weighing.taps[i + j] = taps;
    most = std::max<size_t>(most, taps.count);
  }
  const double inverse = 1.0 / weighing.support;
  Doubles sum = {};
  for (size_t k = 0; k < most; ++k) {
    Doubles height;
    Height(samples, inverse, k, height);
    std::memcpy(weighing.heights + k * kSamplesAtOnce, &height, sizeof(height));
    sum += height;
  }
  int32_t* const weights = weighing.weights + i * weighing.stride;
  for (size_t k = 0; k < most; ++k) {
    Doubles height;
    std::memcpy(&height, weighing.heights + k * kSamplesAtOnce, sizeof(height));
    const Doubles fixed = height / sum * (1 << AxisWeights::kFractionBits) + 0.5;
    const Ints rounded = __builtin_convertvector(fixed, Ints);
    for (size_t j = 0; j < count; ++j) weights[j * weighing.stride + k] = rounded[j];
  }
  for (size_t j = 0; j < count; ++j) {
    std::fill(weights + j * weighing.stride + most, weights + (j + 1) * weighing.stride, 0);
  }
}

PENSTOCK_INLINE void WeighAll(const Weighing& weighing) {
  for (size_t i = 0; i < weighing.axis.out_count; i += kSamplesAtOnce) WeighFour(weighing, i);
}

}  // namespace

void WeighSamplesBaseline(const Weighing& weighing) { WeighAll(weighing); }

__attribute__((target("avx2"))) void WeighSamplesAvx2(const Weighing& weighing) {
  WeighAll(weighing);
}

}  // namespace penstock::resample_internal
