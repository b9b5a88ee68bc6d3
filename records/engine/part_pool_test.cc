#include "records/engine/part_pool.h"

#include <memory>

#include "gtest/gtest.h"

namespace penstock {
namespace {

class PartPoolTest : public ::testing::Test {
 protected:
  PartBuffer Take(PartPool::Home& home, size_t size) {
    return PartBuffer(&home, pool_->Take(home, size), size);
  }

  size_t returned_ = 0;
  std::shared_ptr<PartPool> pool_ =
      std::make_shared<PartPool>(std::make_shared<PageMemory>(0, 0), size_t{4} << 20,
                                 [this](SessionState*, size_t bytes) { returned_ += bytes; });
};

TEST_F(PartPoolTest, CapacityIsThePowerOfTwoAbove) {
  EXPECT_EQ(PartPool::Capacity(1), 4096u);
  EXPECT_EQ(PartPool::Capacity(4096), 4096u);
  EXPECT_EQ(PartPool::Capacity(4097), 8192u);
  EXPECT_EQ(PartPool::Capacity(PartBuffer::kMaxPartBytes), PartBuffer::kMaxPartBytes);
}

TEST_F(PartPoolTest, ReusesWhatReturnedLast) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer first = Take(*home, 1 << 20), second = Take(*home, 1 << 20);
  const uint8_t* memory = second.bytes().data();
  first = PartBuffer();
  second = PartBuffer();
  EXPECT_EQ(Take(*home, 1 << 20).bytes().data(), memory);
}

TEST_F(PartPoolTest, MemoryBeginsAtACacheLine) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Take(*home, 100).bytes().data()) % 64, 0u);
}

TEST_F(PartPoolTest, TellsHowMuchReturned) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer part = Take(*home, 5000);
  EXPECT_EQ(pool_->outstanding_bytes(), 8192u);
  part = PartBuffer();
  EXPECT_EQ(pool_->outstanding_bytes(), 0u);
  EXPECT_EQ(returned_, 8192u);
}

// Room for one part of 8 KiB.
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
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer before = Take(*home, 5000);
  pool_->Lend(*home, memory);
  PartBuffer first = Take(*home, 5000), second = Take(*home, 5000);
  EXPECT_FALSE(memory->Holds(before.bytes().data()));
  EXPECT_TRUE(memory->Holds(first.bytes().data()));
  EXPECT_FALSE(memory->Holds(second.bytes().data()));
  first = PartBuffer();
  EXPECT_EQ(returned_, 8192u);
  EXPECT_TRUE(memory->Holds(Take(*home, 5000).bytes().data()));
}

TEST_F(PartPoolTest, LentMemoryStaysUntilItsLastPart) {
  bool gone = false;
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  pool_->Lend(*home, std::make_shared<SmallMemory>(gone));
  PartBuffer part = Take(*home, 5000);
  home.reset();
  EXPECT_FALSE(gone);
  part = PartBuffer();
  EXPECT_TRUE(gone);
}

TEST_F(PartPoolTest, PartsOutliveHomeAndPool) {
  PartPool::HomePtr home = pool_->MakeHome(nullptr);
  PartBuffer part = Take(*home, 100);
  PartBuffer other = Take(*home, 100);
  home.reset();
  pool_->Close();
  pool_.reset();
  part.bytes()[0] = 1;
  part = PartBuffer();
  other = PartBuffer();
  EXPECT_EQ(returned_, 0u);
}

}  // namespace
}  // namespace penstock
