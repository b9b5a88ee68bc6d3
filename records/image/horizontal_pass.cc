#include "records/image/horizontal_pass.h"

namespace penstock {

void HorizontalPass::Prepare(const PixelView& source, const ResizeAxis& axis, bool flip) {
  const Geometry geometry{axis, static_cast<size_t>(source.channels), source.row_bytes(), flip};
  if (geometry == geometry_) return;
  geometry_ = geometry;
  weights_.Compute(axis);
  if (!by_lanes()) return;
  program_.Build(weights_, axis.out_count, geometry.channels, flip, geometry.row_bytes);
}

void HorizontalPass::Filter(const resample_internal::RowsAtOnce& rows) const {
  if (by_lanes()) {
    resample_internal::FilterRowsAvx2(program_, rows);
  } else {
    resample_internal::FilterRowsScalar(weights_, geometry_.axis.out_count, geometry_.channels,
                                        geometry_.flip, rows);
  }
}

}  // namespace penstock
