#include "client/fetch/fetch_shape.h"

namespace penstock {
namespace {

// Ranges that follow one another in the window.
struct MergedRun {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t num_ranges = 0;
  size_t next = 0;  // Index in the queue.
};

bool Follows(const RangeQueue& wanted, const MergedRun& run) {
  return run.next < wanted.size() && wanted[run.next].first_row == run.first_row + run.rows;
}

void Extend(const RangeQueue& wanted, MergedRun& run) {
  run.rows += wanted[run.next].rows;
  ++run.num_ranges;
  ++run.next;
}

// Takes the front of `wanted`, at most `max_rows`. Splits off what does not fit.
MergedRun TakeRun(RangeQueue& wanted, uint32_t max_rows) {
  MergedRun run{wanted.front().first_row, 0, 0, 0};
  while (run.rows < max_rows && Follows(wanted, run)) {
    const uint32_t room = max_rows - run.rows;
    if (wanted[run.next].rows > room) wanted.Split(run.next, room);
    Extend(wanted, run);
  }
  return run;
}

// Returns all ranges that follow one another from `at` on, but stops beyond `rows` rows.
MergedRun MergeFrom(const RangeQueue& wanted, size_t at, uint32_t rows) {
  MergedRun run{wanted[at].first_row, 0, 0, at};
  while (run.rows <= rows && Follows(wanted, run)) Extend(wanted, run);
  return run;
}

}  // namespace

FetchShape TakeShape(RangeQueue& wanted, uint32_t max_rows) {
  const MergedRun first = TakeRun(wanted, max_rows);
  FetchShape shape{first.first_row, first.rows, first.rows, 1, first.num_ranges};
  size_t at = first.next;
  while (at < wanted.size() && shape.total_rows() + shape.rows <= max_rows) {
    const MergedRun run = MergeFrom(wanted, at, shape.rows);
    // Rows that are wanted again may come before those that were requested next.
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
