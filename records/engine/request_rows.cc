#include "records/engine/request_rows.h"

#include <algorithm>

namespace penstock {
namespace {

uint64_t WindowRow(const RowPattern& pattern, uint64_t row) {
  if (IsOneRun(pattern)) return pattern.first_row + row;
  return pattern.first_row + row / pattern.rows * pattern.stride + row % pattern.rows;
}

// Returns the number of rows of strip `strip` and later strips that lie before row `end` of the
// window.
uint64_t RowsOfStrips(const RowPattern& pattern, uint64_t strip, uint64_t end) {
  const uint64_t start = pattern.first_row + strip * pattern.stride;
  if (strip == pattern.count || start >= end) return 0;
  const uint64_t begun = std::min((end - start - 1) / pattern.stride + 1, pattern.count - strip);
  const uint64_t last = start + (begun - 1) * pattern.stride;
  return (begun - 1) * pattern.rows + std::min<uint64_t>(pattern.rows, end - last);
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
  const uint64_t of_strip = pattern.rows - begin % pattern.rows;
  const uint64_t in_strip = std::min(of_strip, end - WindowRow(pattern, begin));
  if (in_strip < of_strip) return static_cast<uint32_t>(in_strip);
  return static_cast<uint32_t>(of_strip + RowsOfStrips(pattern, begin / pattern.rows + 1, end));
}

}  // namespace penstock
