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

bool Follows(const RangePool& pool, const MergedRun& run) {
  return run.next != kNoRange && pool[run.next].first_row == run.first_row + run.rows;
}

void Extend(const RangePool& pool, MergedRun& run) {
  run.rows += pool[run.next].rows;
  ++run.num_ranges;
  run.next = pool[run.next].next;
}

// The front of `wanted`, at most `max_rows`: what does not fit is split off.
MergedRun TakeRun(RangePool& pool, RangeList& wanted, uint32_t max_rows) {
  MergedRun run{pool[wanted.head].first_row, 0, 0, wanted.head};
  while (run.rows < max_rows && Follows(pool, run)) {
    const uint32_t room = max_rows - run.rows;
    if (pool[run.next].rows > room) pool.Split(wanted, run.next, room);
    Extend(pool, run);
  }
  return run;
}

// All that follow one another from `at` on, or more than `rows` of them.
MergedRun MergeFrom(const RangePool& pool, uint32_t at, uint32_t rows) {
  MergedRun run{pool[at].first_row, 0, 0, at};
  while (run.rows <= rows && Follows(pool, run)) Extend(pool, run);
  return run;
}

}  // namespace

FetchShape TakeShape(RangePool& pool, RangeList& wanted, uint32_t max_rows) {
  const MergedRun first = TakeRun(pool, wanted, max_rows);
  FetchShape shape{first.first_row, first.rows, first.rows, 1, first.num_ranges};
  uint32_t at = first.next;
  while (at != kNoRange && shape.total_rows() + shape.rows <= max_rows) {
    const MergedRun run = MergeFrom(pool, at, shape.rows);
    // Rows that were wanted again may come before those that were asked for next.
    if (run.rows != shape.rows || run.first_row < shape.first_row + shape.rows) break;
    if (shape.count == 1) shape.stride = run.first_row - shape.first_row;
    if (run.first_row != shape.first_row + shape.stride * shape.count) break;
    ++shape.count;
    shape.num_ranges += run.num_ranges;
    at = run.next;
  }
  return shape;
}

}  // namespace penstock
