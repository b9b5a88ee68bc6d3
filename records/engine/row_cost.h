// The cost of rows, which decides whose turn is next.
#ifndef PENSTOCK_RECORDS_ENGINE_ROW_COST_H_
#define PENSTOCK_RECORDS_ENGINE_ROW_COST_H_

#include <cstdint>

#include "records/engine/session_state.h"

namespace penstock {

struct RowsCost {
  uint32_t rows = 0;
  // Their bytes as they are sent, or as many int8 bytes as are expanded while they are decoded.
  uint64_t bytes = 0;
};

// The next rows of `request`: `most`, or so many that a thread decodes them in about 10 ms, but at
// least one. What an image takes is estimated from its encoded bytes. REQUIRES: its window is
// ready; 0 < most <= rows that are left.
RowsCost CostOfNextRows(const RequestState& request, uint32_t most);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ROW_COST_H_
