// Shapes the rows of one request as first_row + i * stride + [0, rows), i < count.
#ifndef PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_
#define PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_

#include <cstdint>

#include "client/fetch/range_queue.h"

namespace penstock {

struct FetchShape {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 0;
  // Number of ranges at the queue's front that the shape covers exactly.
  uint32_t num_ranges = 0;

  uint32_t total_rows() const { return rows * count; }
};

// Returns the longest shape that covers ranges from the front of `wanted`, in order, and has at
// most `max_rows` rows. It either merges neighbouring ranges, and splits the last one if necessary,
// or it counts equal runs at equal distances. REQUIRES: !wanted.empty(), max_rows > 0.
FetchShape TakeShape(RangeQueue& wanted, uint32_t max_rows);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_
