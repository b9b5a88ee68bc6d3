#include "client/fetch/range_pool.h"

#include <utility>

namespace penstock {

uint32_t RangePool::New(const Range& range) {
  if (free_ == kNoRange) {
    ranges_.emplace_back();
    free_ = static_cast<uint32_t>(ranges_.size() - 1);
  }
  const uint32_t index = free_;
  free_ = ranges_[index].next;
  ranges_[index] = range;
  ranges_[index].next = kNoRange;
  return index;
}

void RangePool::Free(uint32_t index) { ranges_[index].next = std::exchange(free_, index); }

void RangePool::FreeAll(RangeList& list) {
  while (!list.empty()) Free(PopFront(list));
}

void RangePool::PushBack(RangeList& list, uint32_t index) {
  ranges_[index].next = kNoRange;
  if (list.empty()) {
    list.head = index;
  } else {
    ranges_[list.tail].next = index;
  }
  list.tail = index;
}

uint32_t RangePool::PopFront(RangeList& list) {
  const uint32_t index = list.head;
  list.head = ranges_[index].next;
  if (list.head == kNoRange) list.tail = kNoRange;
  ranges_[index].next = kNoRange;
  return index;
}

void RangePool::InsertByNeed(RangeList& list, uint32_t index) {
  uint32_t before = kNoRange;
  uint32_t at = list.head;
  while (at != kNoRange && ranges_[at].needed_at < ranges_[index].needed_at) {
    before = std::exchange(at, ranges_[at].next);
  }
  ranges_[index].next = at;
  (before == kNoRange ? list.head : ranges_[before].next) = index;
  if (at == kNoRange) list.tail = index;
}

void RangePool::Split(RangeList& list, uint32_t index, uint32_t rows) {
  Range rest = ranges_[index];
  rest.first_row += rows;
  rest.slot_row += rows;
  rest.needed_at += rows;
  rest.rows -= rows;
  const uint32_t next = rest.next;
  const uint32_t tail = New(rest);  // May move `ranges_`.
  ranges_[index].rows = rows;
  ranges_[index].next = tail;
  ranges_[tail].next = next;
  if (next == kNoRange) list.tail = tail;
}

}  // namespace penstock
