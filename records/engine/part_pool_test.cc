#include "records/engine/part_pool.h"

#include <atomic>
#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace penstock {
namespace {

class PartPoolTest : public ::testing::Test {
 protected:
  PartBuffer Take(PartPool::Home& home, size_t size) {
    home.Reserve(size);
    return PartBuffer(&home, pool_->Take(home, size), size);
  }

  int told_ = 0;
  std::shared_ptr<PartPool> pool_ = std::make_shared<PartPool>(
      std::make_shared<PageMemory>(0, 0), size_t{4} << 20, 0, [this] { ++told_; });
};

TEST_F(PartPoolTest, CapacityIsThePowerOfTwoAbove) {
  EXPECT_EQ(PartPool::Capacity(1), 4096u);
  EXPECT_EQ(PartPool::Capacity(4096), 4096u);
  EXPECT_EQ(PartPool::Capacity(4097), 8192u);
  EXPECT_EQ(PartPool::Capacity(PartBuffer::kMaxPartBytes), PartBuffer::kMaxPartBytes);
  EXPECT_EQ(PartPool::Capacity(PartBuffer::kMaxRowBytes), size_t{4} << 20);
}

TEST_F(PartPoolTest, ReusesWhatReturnedLast) {
  PartPool::HomePtr home = pool_->MakeHome();
  PartBuffer first = Take(*home, 1 << 20), second = Take(*home, 1 << 20);
  const uint8_t* memory = second.bytes().data();
  first = PartBuffer();
  second = PartBuffer();
  EXPECT_EQ(Take(*home, 1 << 20).bytes().data(), memory);
}

TEST_F(PartPoolTest, MemoryBeginsAtACacheLine) {
  PartPool::HomePtr home = pool_->MakeHome();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Take(*home, 100).bytes().data()) % 64, 0u);
}

TEST_F(PartPoolTest, KnowsHowMuchIsOutside) {
  PartPool::HomePtr home = pool_->MakeHome(), other = pool_->MakeHome();
  PartBuffer part = Take(*home, 5000), others = Take(*other, 100);
  EXPECT_EQ(home->part_bytes(), 8192u);
  EXPECT_EQ(pool_->ledger().bytes(), 8192u + 4096u);
  part = PartBuffer();
  EXPECT_EQ(home->part_bytes(), 0u);
  EXPECT_EQ(other->part_bytes(), 4096u);
  EXPECT_EQ(pool_->ledger().bytes(), 4096u);
}

TEST_F(PartPoolTest, TellsOfReturnsThatAreAwaited) {
  PartPool::HomePtr home = pool_->MakeHome();
  PartBuffer first = Take(*home, 100), second = Take(*home, 100), third = Take(*home, 100);
  first = PartBuffer();
  EXPECT_EQ(told_, 0);
  pool_->ledger().Await();
  second = PartBuffer();
  third = PartBuffer();
  EXPECT_EQ(told_, 1);
}

TEST_F(PartPoolTest, SharedMemoryCountsOnce) {
  PartPool::HomePtr first = pool_->MakeHome(), second = pool_->MakeHome();
  const std::span<uint8_t> memory = pool_->TakeShared(5000);
  EXPECT_EQ(pool_->ledger().bytes(), 0u);
  const auto share = [&](size_t reserved) {
    reserved > 0 ? first->Reserve(5000) : first->Pin(5000);
    reserved > 1 ? second->Reserve(5000) : second->Pin(5000);
    PartPool::Home* const homes[] = {first.get(), second.get()};
    pool_->Share(homes, reserved, memory);
    EXPECT_EQ(pool_->ledger().bytes(), memory.size());
  };
  share(2);
  share(1);
  EXPECT_EQ(first->part_bytes(), 2 * memory.size());
  for (int i = 0; i < 2; ++i) first->Return(memory);
  pool_->ledger().Await();  // The part's session may wait for this part alone.
  second->Return(memory);
  EXPECT_EQ(pool_->ledger().bytes(), memory.size());
  EXPECT_EQ(told_, 1);
  pool_->ledger().Await();
  second->Return(memory);
  EXPECT_EQ(pool_->ledger().bytes(), 0u);
  EXPECT_EQ(told_, 2);
  pool_->DropShared(memory);
}

TEST_F(PartPoolTest, DroppedSharedMemoryStaysUntilItsLastPartReturns) {
  PartPool::HomePtr home = pool_->MakeHome();
  const std::span<uint8_t> memory = pool_->TakeShared(5000);
  for (int i = 0; i < 2; ++i) {
    home->Reserve(5000);
    PartPool::Home* const homes[] = {home.get()};
    pool_->Share(homes, 1, memory);
  }
  pool_->DropShared(memory);
  const auto is_free = [&] {
    const std::span<uint8_t> taken = pool_->TakeShared(5000);
    const bool same = taken.data() == memory.data();
    pool_->DropShared(taken);
    return same;
  };
  EXPECT_FALSE(is_free());
  home->Return(memory);
  EXPECT_FALSE(is_free());
  home->Return(memory);
  EXPECT_TRUE(is_free());
}

TEST_F(PartPoolTest, SharedMemoryReturnsToTheThreadThatFilledIt) {
  const std::span<uint8_t> own = pool_->TakeShared(1 << 20);
  std::span<uint8_t> others;
  std::thread([&] { others = pool_->TakeShared(1 << 20); }).join();
  pool_->DropShared(own);
  pool_->DropShared(others);
  EXPECT_EQ(pool_->TakeShared(1 << 20).data(), own.data());
  EXPECT_EQ(pool_->TakeShared(1 << 20).data(), others.data());
  pool_->DropShared(own);
  pool_->DropShared(others);
}

// No return may be missed, or the waiter would sleep for ever.
TEST_F(PartPoolTest, WhoAwaitsSeesEveryReturn) {
  constexpr int kParts = 20'000;
  Mutex mutex;
  CondVar changed;
  PartLedger ledger;
  std::atomic<int> next = 0;
  for (int i = 0; i < kParts; ++i) ledger.Add(1);
  const auto return_parts = [&] {
    while (next.fetch_add(1) < kParts) {
      if (!ledger.Subtract(1)) continue;
      MutexLock lock(&mutex);
      changed.NotifyOne();
    }
  };
  std::jthread first(return_parts), second(return_parts);
  MutexLock lock(&mutex);
  for (uint64_t bytes = ledger.bytes(); bytes > 0; bytes = ledger.bytes()) {
    ledger.Await();
    if (ledger.bytes() == bytes) changed.Wait(&mutex);
  }
  EXPECT_EQ(ledger.bytes(), 0u);
}

// Memory with room for one part of 8 KiB.
class SmallMemory final : public PartMemory {
 public:
  explicit SmallMemory(bool& gone) : gone_(gone) {}
  ~SmallMemory() override { gone_ = true; }
  size_t size() const override { return sizeof bytes_; }
  std::span<uint8_t> Take(size_t capacity) override {
    if (taken_ || capacity > sizeof bytes_) return {};
    taken_ = true;
    return {bytes_, capacity};
  }
  bool Holds(const uint8_t* memory) const override { return memory == bytes_; }
  void Return(std::span<uint8_t>) override { taken_ = false; }

 private:
  bool& gone_;
  bool taken_ = false;
  uint8_t bytes_[8192];
};

TEST_F(PartPoolTest, PartsLieInLentMemoryWhileItHasRoom) {
  bool gone = false;
  auto memory = std::make_shared<SmallMemory>(gone);
  PartPool::HomePtr home = pool_->MakeHome();
  PartBuffer before = Take(*home, 5000);
  pool_->Lend(*home, memory);
  PartBuffer first = Take(*home, 5000), second = Take(*home, 5000);
  EXPECT_FALSE(memory->Holds(before.bytes().data()));
  EXPECT_TRUE(memory->Holds(first.bytes().data()));
  EXPECT_FALSE(memory->Holds(second.bytes().data()));
  first = PartBuffer();
  EXPECT_TRUE(memory->Holds(Take(*home, 5000).bytes().data()));
}

TEST_F(PartPoolTest, LentMemoryStaysUntilItsLastPart) {
  bool gone = false;
  PartPool::HomePtr home = pool_->MakeHome();
  pool_->Lend(*home, std::make_shared<SmallMemory>(gone));
  PartBuffer part = Take(*home, 5000);
  home.reset();
  EXPECT_FALSE(gone);
  part = PartBuffer();
  EXPECT_TRUE(gone);
}

TEST_F(PartPoolTest, PartsOutliveHomeAndPool) {
  PartPool::HomePtr home = pool_->MakeHome();
  PartBuffer part = Take(*home, 100);
  PartBuffer other = Take(*home, 100);
  pool_->ledger().Await();
  home.reset();
  pool_->Close();
  pool_.reset();
  part.bytes()[0] = 1;
  part = PartBuffer();
  other = PartBuffer();
  EXPECT_EQ(told_, 0);
}

}  // namespace
}  // namespace penstock
