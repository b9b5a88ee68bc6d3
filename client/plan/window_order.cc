#include "client/plan/window_order.h"

#include <numeric>

#include "records/base/permutation.h"

namespace penstock {

std::vector<RowRef> WindowOrder(const Plan& plan, const EpochOrder& order, WindowId id) {
  std::vector<RowRef> in_chunk_order;
  for (uint32_t chunk : order.WindowChunks(id)) {
    for (uint32_t row = 0; row < plan.chunk_rows(chunk); ++row) {
      in_chunk_order.push_back({chunk, row});
    }
  }
  std::vector<uint32_t> permutation(in_chunk_order.size());
  std::iota(permutation.begin(), permutation.end(), 0u);
  if (plan.shuffle()) Shuffle(permutation, order.WindowKey(id));
  std::vector<RowRef> rows;
  rows.reserve(permutation.size());
  for (uint32_t i : permutation) rows.push_back(in_chunk_order[i]);
  return rows;
}

}  // namespace penstock
