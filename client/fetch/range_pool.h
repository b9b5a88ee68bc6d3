// Rows on their way from a window to a slot, in recycled singly linked lists.
#ifndef PENSTOCK_CLIENT_FETCH_RANGE_POOL_H_
#define PENSTOCK_CLIENT_FETCH_RANGE_POOL_H_

#include <cstdint>
#include <vector>

namespace penstock {

inline constexpr uint32_t kNoRange = ~uint32_t{0};

// Rows [first_row, first_row + rows) of a window go to `slot` from `slot_row` on. Every range is in
// exactly one list: wanted by its window, or claimed by a request.
struct Range {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t slot = 0;
  uint32_t slot_row = 0;
  uint64_t step = 0;
  uint64_t needed_at = 0;
  uint32_t breaks = 0;  // Streams that broke while it was claimed.
  uint32_t next = kNoRange;
};

struct RangeList {
  uint32_t head = kNoRange;
  uint32_t tail = kNoRange;

  bool empty() const { return head == kNoRange; }
};

// Allocates only while the number of live ranges grows. Not thread-safe.
class RangePool {
 public:
  Range& operator[](uint32_t index) { return ranges_[index]; }
  const Range& operator[](uint32_t index) const { return ranges_[index]; }

  uint32_t New(const Range& range);
  void Free(uint32_t index);
  void FreeAll(RangeList& list);

  void PushBack(RangeList& list, uint32_t index);
  // REQUIRES: !list.empty().
  uint32_t PopFront(RangeList& list);
  // Keeps `list` ordered by needed_at. O(list).
  void InsertByNeed(RangeList& list, uint32_t index);
  // Leaves the first `rows` rows in `index`; the others follow it in `list`.
  // REQUIRES: 0 < rows < the range's rows; `index` is in `list`.
  void Split(RangeList& list, uint32_t index, uint32_t rows);

 private:
  std::vector<Range> ranges_;
  uint32_t free_ = kNoRange;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_RANGE_POOL_H_
