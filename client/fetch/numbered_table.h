// Entries that a peer refers to by number, in recycled memory.
#ifndef PENSTOCK_CLIENT_FETCH_NUMBERED_TABLE_H_
#define PENSTOCK_CLIENT_FETCH_NUMBERED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace penstock {

// Hands out numbers that are never used twice, and finds their entries in O(1). An entry keeps its
// memory when it is recycled: T must have `uint64_t number` (0: free) and `void Reset()`. Allocates
// only while the number of live entries grows. References stay valid. Not thread-safe.
template <typename T>
class NumberedTable {
 public:
  T& New() {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    entries_[index].number = ++sequence_ << kIndexBits | index;
    ++live_;
    return entries_[index];
  }

  // Gives the entry a new number. It cannot be found by the old one any more.
  void Renumber(T& entry) {
    entry.number = ++sequence_ << kIndexBits | (entry.number & ((uint64_t{1} << kIndexBits) - 1));
  }

  size_t live() const { return live_; }

  // Returns null if the number was never handed out, or its entry was freed since.
  T* Find(uint64_t number) {
    const uint64_t index = number & ((uint64_t{1} << kIndexBits) - 1);
    if (number == 0 || index >= entries_.size() || entries_[index].number != number) return nullptr;
    return &entries_[index];
  }

  void Free(T& entry) {
    const uint64_t index = entry.number & ((uint64_t{1} << kIndexBits) - 1);
    entry.number = 0;
    entry.Reset();
    --live_;
    free_.push_back(static_cast<uint32_t>(index));
  }

  // Visits live entries, in the order of their memory.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (T& entry : entries_) {
      if (entry.number != 0) visit(entry);
    }
  }

 private:
  static constexpr int kIndexBits = 24;
  std::deque<T> entries_;
  std::vector<uint32_t> free_;
  uint64_t sequence_ = 0;
  size_t live_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_NUMBERED_TABLE_H_
