#include "records/engine/page_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr size_t kMib = size_t{1} << 20;

// Returns how many of the `bytes` bytes from `begin` on the kernel has in memory.
size_t Resident(uint8_t* begin, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(begin, bytes, pages.data()), 0);
  size_t resident = 0;
  for (unsigned char page : pages) resident += (page & 1) * size_t{4096};
  return resident;
}

TEST(PageMemoryTest, WhatIsFreeGoesBackToTheKernelButForWhatIsKept) {
  PageMemory memory(64 * kMib, 2 * kMib);
  std::vector<uint8_t*> taken;
  for (int i = 0; i < 16; ++i) {
    taken.push_back(memory.Take(kMib));
    std::memset(taken.back(), 1, kMib);
  }
  EXPECT_EQ(Resident(taken[0], 16 * kMib), 16 * kMib);  // The pieces are adjacent.
  for (uint8_t* t : taken) memory.Return(t, kMib);
  EXPECT_EQ(memory.kept_bytes(), 2 * kMib);
  EXPECT_EQ(Resident(taken[0], 16 * kMib), 2 * kMib);
}

TEST(PageMemoryTest, WhatWasReturnedIsTakenAgain) {
  PageMemory memory(64 * kMib, kMib);
  uint8_t* first = memory.Take(300'000);
  memory.Return(first, 300'000);
  uint8_t* half = memory.Take(150'000);
  EXPECT_EQ(half, first);
  uint8_t* rest = memory.Take(130'000);
  EXPECT_EQ(rest, first + PageMemory::Capacity(150'000));
  memory.Return(half, 150'000);
  memory.Return(rest, 130'000);
}

TEST(PageMemoryTest, FreeNeighboursBecomeOne) {
  PageMemory memory(3 * kMib, /*keep_bytes=*/0);
  uint8_t* parts[] = {memory.Take(kMib), memory.Take(kMib), memory.Take(kMib)};
  for (int i : {0, 2, 1}) memory.Return(parts[i], kMib);
  uint8_t* all = memory.Take(3 * kMib);
  EXPECT_EQ(all, parts[0]);
  memory.Return(all, 3 * kMib);
}

TEST(PageMemoryTest, TakesOrdinaryMemoryWhereItHasNone) {
  for (size_t address_bytes : {size_t{0}, kMib}) {
    PageMemory memory(address_bytes, 0);
    const PageMemory::Taken one = memory.TakeOwned(kMib), two = memory.TakeOwned(kMib);
    const PageMemory::Taken small = memory.TakeOwned(3), none = memory.TakeOwned(0);
    std::memset(one.get(), 1, kMib);
    std::memset(two.get(), 2, kMib);
    EXPECT_EQ(one[kMib - 1], 1);
    EXPECT_EQ(memory.kept_bytes(), 0u);
  }
}

TEST(PageMemoryTest, NothingIsTakenTwice) {
  struct Block {
    PageMemory::Taken memory;
    size_t bytes;
    uint8_t value;
  };
  PageMemory memory(16 * kMib, kMib);
  std::mt19937 random(1);
  std::vector<Block> blocks(64);
  for (int i = 0; i < 20'000; ++i) {
    Block& block = blocks[random() % blocks.size()];
    if (block.memory != nullptr) {
      ASSERT_EQ(block.memory[0], block.value);
      ASSERT_EQ(block.memory[block.bytes - 1], block.value);
    }
    block.memory.reset();
    block.bytes = 1 + random() % 400'000;
    block.value = static_cast<uint8_t>(i);
    block.memory = memory.TakeOwned(block.bytes);
    block.memory[0] = block.memory[block.bytes - 1] = block.value;
    ASSERT_LE(memory.kept_bytes(), kMib);
  }
}

}  // namespace
}  // namespace penstock
