// The rows of one request, as first_row + i * stride + [0, rows), i < count.
#ifndef PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_
#define PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_

#include <cstdint>

#include "client/fetch/range_pool.h"

namespace penstock {

struct FetchShape {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 0;
  uint32_t num_ranges = 0;  // Of the list's front, that it covers exactly.

  uint32_t total_rows() const { return rows * count; }
};

// The longest shape that covers ranges from the front of `wanted`, in order, and has about
// `target_rows` rows: neighbours are merged, equal runs at equal distances are counted. A first
// range longer than twice the target is split. REQUIRES: !wanted.empty(), target_rows > 0.
FetchShape TakeShape(RangePool& pool, RangeList& wanted, uint32_t target_rows);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_
