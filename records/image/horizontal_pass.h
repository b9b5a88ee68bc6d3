// The first pass of a resize, which makes rows as wide as the output.
#ifndef PENSTOCK_RECORDS_IMAGE_HORIZONTAL_PASS_H_
#define PENSTOCK_RECORDS_IMAGE_HORIZONTAL_PASS_H_

#include <cstddef>
#include <cstdint>

#include "base/simd_level.h"
#include "records/image/axis_weights.h"
#include "records/image/lane_program.h"
#include "records/image/pixels.h"
#include "records/image/resample_kernels.h"

namespace penstock {

// All levels give the same bits. Not thread-safe.
class HorizontalPass {
 public:
  explicit HorizontalPass(SimdLevel level) : level_(level), weights_(level) {}

  // Prepares for rows of `source` along `axis`, mirrored if `flip`. Preparing again for the same
  // values costs nothing.
  void Prepare(const PixelView& source, const ResizeAxis& axis, bool flip);

  // Filters rows. The output rows must be padded to whole blocks.
  void Filter(const resample_internal::RowsAtOnce& rows) const;

 private:
  struct Geometry {
    ResizeAxis axis;
    size_t channels = 0;
    size_t row_bytes = 0;
    bool flip = false;

    bool operator==(const Geometry&) const = default;
  };

  // Returns whether rows are filtered by the LaneProgram. This is false, among other cases, for
  // rows that are shorter than a window, because they cannot be read by windows.
  bool by_lanes() const {
    return level_ >= SimdLevel::kAvx2 && geometry_.row_bytes >= LaneProgram::kWindow &&
           weights_.max_taps() <= LaneProgram::kMostTaps;
  }

  SimdLevel level_;
  Geometry geometry_;
  AxisWeights weights_;
  LaneProgram program_;  // Used only if by_lanes().
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_HORIZONTAL_PASS_H_
