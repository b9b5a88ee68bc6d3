#include "client/fetch/indexed_heap.h"

#include <set>

#include "base/counter_rng.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

struct Item {
  HeapPlace<Item> queued;
};

TEST(IndexedHeapTest, GivesTheLowestKeyWhoeverLeaves) {
  CounterRng rng(3);
  std::vector<Item> items(200);
  IndexedHeap<Item> heap;
  std::multiset<uint64_t> keys;
  for (int i = 0; i < 20'000; ++i) {
    Item& item = items[rng.Below(items.size())];
    if (item.queued.heap != nullptr) {
      keys.erase(keys.find(heap.key(item)));
      IndexedHeap<Item>::Leave(item);
    } else {
      const uint64_t key = rng.Below(100);
      keys.insert(key);
      heap.Push(key, item);
    }
    ASSERT_EQ(heap.size(), keys.size());
    if (!heap.empty()) {
      ASSERT_EQ(heap.front_key(), *keys.begin());
      ASSERT_EQ(heap.key(heap.front()), *keys.begin());
    }
  }
}

TEST(IndexedHeapTest, LeavingTwiceIsAllowed) {
  Item item;
  IndexedHeap<Item> heap;
  heap.Push(1, item);
  IndexedHeap<Item>::Leave(item);
  IndexedHeap<Item>::Leave(item);
  EXPECT_TRUE(heap.empty());
}

}  // namespace
}  // namespace penstock
