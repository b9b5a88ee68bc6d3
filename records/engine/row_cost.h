// Computes the cost of rows, which decides whose turn is next.
#ifndef PENSTOCK_RECORDS_ENGINE_ROW_COST_H_
#define PENSTOCK_RECORDS_ENGINE_ROW_COST_H_

#include <cstdint>

#include "records/engine/session_state.h"

namespace penstock {

struct RowsCost {
  uint32_t rows = 0;
  // Bytes of the rows as they are sent. For images, the number of int8 bytes that could be expanded
  // in the same time, if that is more.
  uint64_t bytes = 0;
};

// Rows of this cost take a thread about 10 ms.
inline constexpr uint64_t kLongCost = uint64_t{125} << 20;

// Converts time of a processor to int8 bytes. Processors expand 9 to 21 of them in a nanosecond.
constexpr uint64_t CostOfTime(uint64_t nanoseconds) { return nanoseconds * 25 / 2; }

// Takes the next rows of `request`: `most` rows, or fewer if decoding them would take a thread more
// than about 10 ms, but at least one. The time for an image is estimated from its header and the
// number of its bytes, and corrected by how long the session's last images took.
// REQUIRES: the request's window is ready; 0 < most <= rows that are left.
RowsCost CostOfNextRows(const RequestState& request, uint32_t most);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ROW_COST_H_
