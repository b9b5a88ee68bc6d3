// Computes which rows of a request the next part answers.
#ifndef PENSTOCK_RECORDS_ENGINE_REQUEST_ROWS_H_
#define PENSTOCK_RECORDS_ENGINE_REQUEST_ROWS_H_

#include <cstdint>

#include "records/engine/piece.h"

namespace penstock {

// Rows that are decoded together: [first_row, first_row + rows) of a window.
struct RowBlock {
  uint32_t first_row = 0;
  uint32_t rows = 0;
};

// Returns the block of `block_rows` rows that contains row `begin` of `pattern`, in a window of
// `window_rows` rows.
RowBlock BlockOf(const RowPattern& pattern, uint64_t begin, uint32_t block_rows,
                 uint64_t window_rows);

// Returns how many rows of `pattern`, from `begin` on, lie in `block`.
uint32_t RowsInBlock(const RowPattern& pattern, uint64_t begin, const RowBlock& block);

// Whether the strips of the pattern are adjacent in the window.
inline bool IsOneRun(const RowPattern& pattern) {
  return pattern.count == 1 || pattern.stride == pattern.rows;
}

// Returns the largest number of runs that ForEachRun() visits.
inline size_t MostRuns(const RowPattern& pattern, uint64_t rows) {
  return IsOneRun(pattern) ? 1 : rows / pattern.rows + 2;
}

// Calls visit(window_row, n) for each contiguous run among rows [begin, begin + rows) of `pattern`.
template <typename Visit>
void ForEachRun(const RowPattern& pattern, uint64_t begin, uint64_t rows, const Visit& visit) {
  if (IsOneRun(pattern)) {
    visit(pattern.first_row + begin, rows);
    return;
  }
  uint64_t strip = begin / pattern.rows;
  uint64_t offset = begin % pattern.rows;
  for (uint64_t left = rows; left > 0; ++strip, offset = 0) {
    const uint64_t n = left < pattern.rows - offset ? left : pattern.rows - offset;
    visit(pattern.first_row + strip * pattern.stride + offset, n);
    left -= n;
  }
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_REQUEST_ROWS_H_
