// The arithmetic of AxisWeights, compiled once per SIMD level.
#ifndef PENSTOCK_RECORDS_IMAGE_WEIGH_SAMPLES_H_
#define PENSTOCK_RECORDS_IMAGE_WEIGH_SAMPLES_H_

#include <cstddef>
#include <cstdint>

#include "records/image/axis_weights.h"

namespace penstock::resample_internal {

// Samples are computed by four, one in each element of a vector.
inline constexpr size_t kSamplesAtOnce = 4;

struct Weighing {
  const ResizeAxis& axis;
  double scale;
  double support;     // How far the triangle reaches on each side.
  size_t stride;      // From the weights of one sample to those of the next, in weights.
  double* heights;    // Scratch: kSamplesAtOnce for each tap.
  SampleRange* taps;  // Filled: counted from the axis's first sample.
  int32_t* weights;   // Filled, with zeros behind the taps up to the stride.
};

// Both give the same bits: they do the same operations of double precision, and fuse none.
void WeighSamplesBaseline(const Weighing& weighing);
void WeighSamplesAvx2(const Weighing& weighing);

}  // namespace penstock::resample_internal

#endif  // PENSTOCK_RECORDS_IMAGE_WEIGH_SAMPLES_H_
