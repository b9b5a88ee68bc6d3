#include "records/engine/request_rows.h"

#include <algorithm>

namespace penstock {
namespace {

uint64_t WindowRow(const RowPattern& pattern, uint64_t row) {
  if (IsOneRun(pattern)) return pattern.first_row + row;
  return pattern.first_row + row / pattern.rows * pattern.stride + row % pattern.rows;
}

}  // namespace

RowBlock BlockOf(const RowPattern& pattern, uint64_t begin, uint32_t block_rows,
                 uint64_t window_rows) {
  const uint64_t row = WindowRow(pattern, begin);
  const uint64_t first = row - row % block_rows;
  return {static_cast<uint32_t>(first),
          static_cast<uint32_t>(std::min<uint64_t>(block_rows, window_rows - first))};
}

uint32_t RowsInBlock(const RowPattern& pattern, uint64_t begin, const RowBlock& block) {
  const uint64_t end = uint64_t{block.first_row} + block.rows;
  const uint64_t left = pattern.size() - begin;
  if (IsOneRun(pattern)) {
    return static_cast<uint32_t>(std::min(left, end - WindowRow(pattern, begin)));
  }
  uint64_t rows = 0;
  while (rows < left) {
    const uint64_t row = WindowRow(pattern, begin + rows);
    if (row >= end) break;
    rows += std::min(pattern.rows - (begin + rows) % pattern.rows, end - row);
    if ((begin + rows) % pattern.rows != 0) break;  // The block ends inside a strip.
  }
  return static_cast<uint32_t>(rows);
}

}  // namespace penstock
