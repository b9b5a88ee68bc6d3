// The second pass of a resize, which makes output rows from rows that are already as wide.
#ifndef PENSTOCK_RECORDS_IMAGE_VERTICAL_PASS_H_
#define PENSTOCK_RECORDS_IMAGE_VERTICAL_PASS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/simd_level.h"
#include "records/image/axis_weights.h"
#include "records/image/resample_kernels.h"
#include "records/image/row_ring.h"

namespace penstock {

// All levels give the same bits. Not thread-safe.
class VerticalPass {
 public:
  explicit VerticalPass(SimdLevel level) : level_(level), weights_(level) {}

  // Preparing again for the same axis costs nothing.
  void Prepare(const ResizeAxis& axis) { weights_.Compute(axis); }

  // Returns the rows that Blend(y) needs.
  SampleRange rows(size_t y) const {
    return {weights_.first(y), static_cast<uint32_t>(weights_.weights(y).size())};
  }
  // The largest number of rows that Blend() needs.
  size_t max_rows() const { return weights_.max_taps(); }

  // Fills `out`, which has `size` bytes, with wanted row y. REQUIRES: `in` holds rows(y).
  void Blend(size_t y, const RowRing& in, size_t size, uint8_t* out);

 private:
  SimdLevel level_;
  AxisWeights weights_;
  std::vector<resample_internal::RowPair> pairs_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_VERTICAL_PASS_H_
