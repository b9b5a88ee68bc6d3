// A priority queue from which any entry can be removed.
#ifndef PENSTOCK_CLIENT_FETCH_INDEXED_HEAP_H_
#define PENSTOCK_CLIENT_FETCH_INDEXED_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

template <typename T>
class IndexedHeap;

// An entry's place in the queue that it is in. It can be in one queue at a time. T must have it as
// the member `queued`.
template <typename T>
struct HeapPlace {
  IndexedHeap<T>* heap = nullptr;
  uint32_t index = 0;
};

// The entry with the lowest key is at the front. Push, Pop and Remove are O(log n). Does not own
// its entries: they must not move, and must leave the queue before they are destroyed. Allocates
// nothing once it has grown. Not thread-safe.
template <typename T>
class IndexedHeap {
 public:
  IndexedHeap() = default;
  IndexedHeap(const IndexedHeap&) = delete;
  IndexedHeap& operator=(const IndexedHeap&) = delete;

  bool empty() const { return nodes_.empty(); }
  size_t size() const { return nodes_.size(); }
  // REQUIRES: !empty().
  T& front() const { return *nodes_.front().entry; }
  uint64_t front_key() const { return nodes_.front().key; }
  // REQUIRES: `entry` is in this heap.
  uint64_t key(const T& entry) const { return nodes_[entry.queued.index].key; }

  // REQUIRES: `entry` is in no heap.
  void Push(uint64_t key, T& entry) {
    nodes_.push_back({key, &entry});
    entry.queued = {this, static_cast<uint32_t>(nodes_.size() - 1)};
    Rise(entry.queued.index);
  }

  // Removes `entry` from the heap that it is in, if any.
  static void Leave(T& entry) {
    if (entry.queued.heap != nullptr) entry.queued.heap->Remove(entry);
  }

 private:
  struct Node {
    uint64_t key = 0;
    T* entry = nullptr;
  };

  void Remove(T& entry) {
    const uint32_t hole = entry.queued.index;
    entry.queued = {};
    const Node last = nodes_.back();
    nodes_.pop_back();
    if (hole == nodes_.size()) return;
    Set(hole, last);
    Rise(hole);
    Sink(last.entry->queued.index);
  }
  void Set(uint32_t index, const Node& node) {
    nodes_[index] = node;
    node.entry->queued.index = index;
  }
  void Rise(uint32_t at) {
    while (at > 0 && nodes_[at].key < nodes_[(at - 1) / 2].key) {
      Swap(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
  }
  void Sink(uint32_t at) {
    for (uint32_t child = 2 * at + 1; child < nodes_.size(); child = 2 * at + 1) {
      if (child + 1 < nodes_.size() && nodes_[child + 1].key < nodes_[child].key) ++child;
      if (nodes_[at].key <= nodes_[child].key) return;
      Swap(at, child);
      at = child;
    }
  }
  void Swap(uint32_t a, uint32_t b) {
    const Node node = nodes_[a];
    Set(a, nodes_[b]);
    Set(b, node);
  }

  std::vector<Node> nodes_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_INDEXED_HEAP_H_
