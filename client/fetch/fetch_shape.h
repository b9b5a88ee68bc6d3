// The rows of one request, as first_row + i * stride + [0, rows), i < count.
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
  uint32_t num_ranges = 0;  // Of the queue's front, that it covers exactly.

  uint32_t total_rows() const { return rows * count; }
};

// The longest shape that covers ranges from the front of `wanted`, in order, and has at most
// `max_rows` rows: neighbours are merged, the last one split if need be; or equal runs at equal
// distances are counted. REQUIRES: !wanted.empty(), max_rows > 0.
FetchShape TakeShape(RangeQueue& wanted, uint32_t max_rows);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_FETCH_SHAPE_H_
