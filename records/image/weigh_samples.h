// The arithmetic of AxisWeights, compiled once for each SIMD level.
#ifndef PENSTOCK_RECORDS_IMAGE_WEIGH_SAMPLES_H_
#define PENSTOCK_RECORDS_IMAGE_WEIGH_SAMPLES_H_

#include <cstddef>
#include <cstdint>

#include "records/image/axis_weights.h"

namespace penstock::resample_internal {

// Four samples are computed at a time, one in each element of a vector.
inline constexpr size_t kSamplesAtOnce = 4;

struct Weighing {
  const ResizeAxis& axis;
  double scale;
  double support;     // How far the triangle extends on each side, in samples.
  size_t stride;      // Distance between the weights of two neighbouring samples, in weights.
  double* heights;    // Scratch space: kSamplesAtOnce for each tap.
  SampleRange* taps;  // Output. Counted from the axis's first sample.
  int32_t* weights;   // Output, with zeros after the taps up to the stride.
};

// Both give the same bits: they perform the same double-precision operations and fuse none.
void WeighSamplesBaseline(const Weighing& weighing);
void WeighSamplesAvx2(const Weighing& weighing);

}  // namespace penstock::resample_internal

#endif  // PENSTOCK_RECORDS_IMAGE_WEIGH_SAMPLES_H_
