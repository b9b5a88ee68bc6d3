#include "client/fetch/fetch_shape.h"

namespace penstock {
namespace {

// Ranges that follow one another in the window.
struct MergedRun {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t num_ranges = 0;
  uint32_t next = kNoRange;
};

MergedRun MergeFrom(const RangePool& pool, uint32_t at, uint32_t max_rows) {
  MergedRun run{pool[at].first_row, pool[at].rows, 1, pool[at].next};
  while (run.next != kNoRange && pool[run.next].first_row == run.first_row + run.rows &&
         run.rows < max_rows) {
    run.rows += pool[run.next].rows;
    ++run.num_ranges;
    run.next = pool[run.next].next;
  }
  return run;
}

}  // namespace

FetchShape TakeShape(RangePool& pool, RangeList& wanted, uint32_t target_rows) {
  if (pool[wanted.head].rows > 2 * target_rows) pool.Split(wanted, wanted.head, target_rows);
  const MergedRun first = MergeFrom(pool, wanted.head, target_rows);
  FetchShape shape{first.first_row, first.rows, first.rows, 1, first.num_ranges};
  for (uint32_t at = first.next; at != kNoRange && shape.total_rows() < target_rows;) {
    const MergedRun run = MergeFrom(pool, at, target_rows);
    if (run.rows != shape.rows || run.first_row <= shape.first_row) break;
    if (shape.count == 1) {
      if (run.first_row < shape.first_row + shape.rows) break;
      shape.stride = run.first_row - shape.first_row;
    }
    if (run.first_row != shape.first_row + shape.stride * shape.count) break;
    ++shape.count;
    shape.num_ranges += run.num_ranges;
    at = run.next;
  }
  return shape;
}

}  // namespace penstock
