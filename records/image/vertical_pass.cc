#include "records/image/vertical_pass.h"

#include <span>

namespace penstock {

using resample_internal::PairOf;
using resample_internal::RowTap;

void VerticalPass::Blend(size_t y, const RowRing& in, size_t size, uint8_t* out) {
  const std::span<const int32_t> weights = weights_.weights(y);
  const size_t first = weights_.first(y);
  pairs_.clear();
  for (size_t tap = 0; tap < weights.size(); tap += 2) {
    const RowTap a{in.row(first + tap), weights[tap]};
    const bool has_second = tap + 1 < weights.size();
    pairs_.push_back(PairOf(
        a, has_second ? RowTap{in.row(first + tap + 1), weights[tap + 1]} : RowTap{a.row, 0}));
  }
  const auto blend = level_ >= SimdLevel::kAvx2 ? resample_internal::BlendRowsAvx2
                                                : resample_internal::BlendRowsScalar;
  blend(pairs_, size, out);
}

}  // namespace penstock
