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

// Takes the next rows of `request`: `most` rows, or fewer if decoding them would take a thread more
// than about 10 ms, but at least one. The time for an image is estimated from its encoded bytes.
// REQUIRES: the request's window is ready; 0 < most <= rows that are left.
RowsCost CostOfNextRows(const RequestState& request, uint32_t most);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ROW_COST_H_
